// Prints docs/ops.md.
#include <cstdio>

#include "mlxn/testing/ops_doc.h"

int main() {
  std::fputs(mlxn::cases::ops_doc(mlxn::cases::all_op_cases()).c_str(), stdout);
}
