// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Tokens of a thread. The first thread of a channel has at least all that see the state.
MLXN_CONSTANT uint32_t kConvTokens = 8, kConvMostTaps = 32;

struct SsmConvArgs {
  uint32_t channels, tokens, taps;
  uint32_t run;  // tokens of a thread, where there are not four taps
};
