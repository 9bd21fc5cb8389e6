#pragma once

// Our own Foundation and Metal headers: source compatible with Apple's metal-cpp for compute. Every
// method is a function exported by libmlxn_metal, so NS_PRIVATE_IMPLEMENTATION and its siblings may
// be defined but change nothing. A call on a null object returns zero, as a message to nil does.
#define MLXN_METAL_API __attribute__((visibility("default")))
#define MLXN_METAL_PACKED __attribute__((packed))
