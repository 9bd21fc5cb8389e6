// The example in the README is the program in examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mlxn {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(MLXN_SOURCE_DIR "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Readme, ShowsTheExample) {
  const std::string readme = read_file("README.md"), program = read_file("examples/session.cpp");
  const size_t begin = readme.find("```cpp\n") + 7, end = readme.find("```", begin);
  ASSERT_LT(begin, end);
  std::istringstream block(readme.substr(begin, end - begin));
  size_t shown = 0;
  for (std::string line; std::getline(block, line);) {
    if (line.empty() || line.find("...") != std::string::npos) continue;
    EXPECT_THAT(program, testing::HasSubstr(line + "\n"));
    ++shown;
  }
  EXPECT_GE(shown, 20u);
}

}  // namespace
}  // namespace mlxn
