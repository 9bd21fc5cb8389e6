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

std::string prologue() {
  return "#include <metal_stdlib>\nusing namespace metal;\n"
         "struct Parameters { int n[8]; float s[4]; };\n";
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
