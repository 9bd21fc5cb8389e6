// Shared by host and kernel.
#pragma once

// Both as floats; dim is exact up to 2^24.
struct RmsNormArgs {
  float eps;
  float dim;
};
