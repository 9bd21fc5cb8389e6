// The examples in the README are the programs in examples.
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

// The first block of C++ behind the link to the program.
void expect_shown(const std::string& path, size_t least_lines) {
  const std::string readme = read_file("README.md"), program = read_file(path);
  const size_t link = readme.find("(" + path + ")");
  ASSERT_NE(link, std::string::npos) << path;
  const size_t begin = readme.find("```cpp\n", link) + 7, end = readme.find("```", begin);
  ASSERT_LT(begin, end);
  std::istringstream block(readme.substr(begin, end - begin));
  size_t shown = 0;
  for (std::string line; std::getline(block, line);) {
    if (line.empty() || line.find("...") != std::string::npos) continue;
    EXPECT_THAT(program, testing::HasSubstr(line + "\n"));
    ++shown;
  }
  EXPECT_GE(shown, least_lines);
}

TEST(Readme, ShowsTheExamples) {
  expect_shown("examples/session.cpp", 20);
  expect_shown("examples/generate.cpp", 8);
}

}  // namespace
}  // namespace mlxn
