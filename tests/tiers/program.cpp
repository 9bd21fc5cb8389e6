#include "tests/tiers/program.h"

namespace mlxn::tiers {
namespace {

void print_nodes(const std::vector<Node>& nodes, int depth, std::string& out) {
  const std::string indent(2 * depth, ' ');
  for (const Node& node : nodes) {
    if (!node.compound) {
      out += indent + node.head + "\n";
      continue;
    }
    out += indent + node.head + (node.head.empty() ? "{\n" : " {\n");
    print_nodes(node.body, depth + 1, out);
    if (!node.otherwise.empty()) {
      out += indent + "} else {\n";
      print_nodes(node.otherwise, depth + 1, out);
    }
    out += indent + "}" + (node.tail.empty() ? "" : " " + node.tail) + "\n";
  }
}

uint32_t count(const std::vector<Node>& nodes) {
  uint32_t total = 0;
  for (const Node& node : nodes) total += 1 + count(node.body) + count(node.otherwise);
  return total;
}

}  // namespace

// A class whose constructors differ in the address space alone and must not run in threadgroup
// memory; functions that differ in it alone, with the same body (pick) and with others (mark, get);
// and function constants: kUnset has no value, so only what is discarded may name it.
std::string prologue() {
  return "#include <metal_stdlib>\nusing namespace metal;\n"
         "struct Parameters { int n[8]; float s[4]; };\n"
         "constant bool kFlag [[function_constant(0)]];\n"
         "constant int kNumber [[function_constant(1)]];\n"
         "constant int kUnset [[function_constant(2)]];\n"
         "template <int N> static int fixed(int a) {\n"
         "  if constexpr (N == 0) return a + kUnset;\n"
         "  else if constexpr (N == 1) return kFlag ? a : -a;\n"
         "  else return a * kNumber + N;\n}\n"
         "struct Cell {\n  int v; float f;\n"
         "  Cell() thread : v(1), f(2) {}\n  Cell() threadgroup : v(1), f(2) {}\n"
         "  int get() const thread { return v + int(f); }\n"
         "  int get() const threadgroup { return v - 3 * int(f); }\n};\n"
         "static int pick(const device int* p, uint k) { return p[k & 3u]; }\n"
         "static int pick(const thread int* p, uint k) { return p[k & 3u]; }\n"
         "static int pick(const threadgroup int* p, uint k) { return p[k & 3u]; }\n"
         "static int mark(const device int* p, uint k) { return p[k & 3u] + 1; }\n"
         "static int mark(const thread int* p, uint k) { return p[k & 3u] * 3; }\n"
         "static int mark(const threadgroup int* p, uint k) { return p[k & 3u] ^ 6; }\n";
}

std::vector<msl::ConstantValue> constants() {
  msl::ConstantValue flag, number;
  flag.name = "kFlag";
  flag.type = 53;  // bool
  flag.bytes[0] = 1;
  number.name = "kNumber";
  number.type = 29;  // int
  number.bytes[0] = 3;
  return {flag, number};
}

std::string print(const Program& program) {
  std::string out;
  for (const Helper& helper : program.helpers) {
    out += helper.signature + " {\n  " + helper.setup + "\n";
    print_nodes(helper.body, 1, out);
    out += "  " + helper.result + "\n}\n";
  }
  out += program.signature + " {\n";
  for (const std::string& line : program.setup) out += "  " + line + "\n";
  print_nodes(program.body, 1, out);
  for (const std::string& line : program.finish) out += "  " + line + "\n";
  return out + "}\n";
}

uint32_t count_nodes(const Program& program) {
  uint32_t total = count(program.body);
  for (const Helper& helper : program.helpers) total += count(helper.body);
  return total;
}

}  // namespace mlxn::tiers
