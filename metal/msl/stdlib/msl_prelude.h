// The MSL standard library as C++17. The front end includes this file before the user's text; names
// the user may see live in namespace metal or are global types, everything else is called __msl*.
//
// Order matters: types first, then functions on them, then what is built from those, macros last.
#pragma once
#pragma clang system_header

// clang-format off
#include "msl_config.h"
#include "msl_scalar.h"
#include "msl_traits.h"
#include "msl_limits.h"
#include "msl_vector.h"
#include "msl_packed.h"
#include "msl_names.h"
#include "msl_runtime.h"
#include "msl_math.h"
#include "msl_common.h"
#include "msl_integer.h"
#include "msl_relational.h"
#include "msl_geometric.h"
#include "msl_matrix.h"
#include "msl_pack.h"
#include "msl_sync.h"
#include "msl_atomic.h"
#include "msl_simdgroup.h"
#include "msl_quadgroup.h"
#include "msl_simdgroup_matrix.h"
#include "msl_array.h"
#include "msl_apple_internal.h"
#include "msl_constants.h"
// clang-format on
