#include "mlxn/testing/ops_doc.h"

#include <algorithm>

#include "mlxn/base/strings.h"

namespace mlxn::cases {
namespace {

constexpr const char* kHead = R"(# Ops

Made by `ops_doc` from the case tables (`mlxn/ops/**/*_cases.cpp`); a test fails when this file differs. Every case runs on
the executors `cpu` and `discrete` with NaN-filled outputs between guard zones, against a scalar reference in double precision; twice, with one
worker and with two in a shuffled order, and both runs must have the same bits. "Exact" means: the reference rounded once to
the output's type. Otherwise NMSE and, for each element, `relative * |expected| + absolute` bound the error; the loosest
case counts. "Refused" is the number of wrong calls whose errors are checked, besides those that are made of the cases
(`mlxn/testing/broken_calls.h`). `mlxn ops` lists the kernels and what of them runs on a machine; [op-index.md](op-index.md) finds
an op by its name in the original.

| op | result | types | tolerance: NMSE, relative, absolute | cases | refused |
|---|---|---|---|---|---|
)";

std::string variants(const OpCases& op) {
  std::vector<std::string> seen;
  for (const OpCase& entry : op.cases) {
    if (std::ranges::find(seen, entry.variant) == seen.end()) seen.push_back(entry.variant);
  }
  std::string out;
  for (const std::string& variant : seen) out += (out.empty() ? "" : ", ") + variant;
  return out;
}

std::string tolerance(const OpCases& op) {
  Tolerance loosest;
  for (const OpCase& entry : op.cases) {
    loosest.nmse = std::max(loosest.nmse, entry.tolerance.nmse);
    loosest.relative = std::max(loosest.relative, entry.tolerance.relative);
    loosest.absolute = std::max(loosest.absolute, entry.tolerance.absolute);
  }
  if (loosest.exact()) return "exact";
  return str(loosest.nmse, ", ", loosest.relative, ", ", loosest.absolute);
}

}  // namespace

std::string ops_doc(std::span<const OpCases> ops) {
  std::string out = kHead;
  for (const OpCases& op : ops) {
    const auto tests = std::ranges::count(op.cases, Use::kTest, &OpCase::use);
    out += str("| [", op.op, "](../", op.header, ") | ", op.formula, " | ", variants(op), " | ",
               tolerance(op), " | ", tests, " | ", op.wrong_calls.size(), " |\n");
  }
  return out;
}

}  // namespace mlxn::cases
