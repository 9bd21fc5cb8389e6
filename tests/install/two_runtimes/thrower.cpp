// A library of any C++ run time that lives on exceptions.
#include <stdexcept>
#include <string>

namespace {
[[gnu::noinline]] void fail(int depth) {
  if (depth == 0) throw std::out_of_range("from " + std::to_string(depth));
  fail(depth - 1);
}
}  // namespace

extern "C" int check() {
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      fail(i);
    } catch (const std::exception& error) {
      caught += error.what() == std::string("from 0");
    }
  }
  return caught == 3 ? 0 : 1;
}
