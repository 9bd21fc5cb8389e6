// Limits, errors and the interface; what templates mean is compared with jinja2 by
// check_templates.py.
#include "mlxn/text/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlxn::text {
namespace {

using ::testing::HasSubstr;

Result<std::string> render(std::string_view source, const TemplateLimits& limits = {},
                           const ValueDict& variables = {}) {
  MLXN_ASSIGN(const ChatTemplate made, ChatTemplate::parse(source, limits));
  return made.render_variables(variables);
}

std::string error_of(std::string_view source, ErrorCode code, const TemplateLimits& limits = {}) {
  const auto text = render(source, limits);
  if (text) return "no error: " + *text;
  EXPECT_EQ(text.error().code(), code) << text.error().to_string();
  return text.error().message();
}

TEST(ChatTemplate, RendersConversations) {
  const auto made = ChatTemplate::parse(
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.name %} by "
      "{{ m.name }}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
      "{{ eos_token }}{{ mood }}");
  ASSERT_TRUE(made);
  ChatInput input = {.messages = {{"user", "hi", {{"name", "Ada"}}}, {"assistant", "yes"}},
                     .bos_token = "[B]",
                     .eos_token = "[E]",
                     .variables = {{"mood", "calm"}}};
  EXPECT_EQ(*made->render(input), "[B]<user>hi by Ada<assistant>yes<assistant>[E]calm");
  input.add_generation_prompt = false;
  EXPECT_EQ(*made->render(input), "[B]<user>hi by Ada<assistant>yes[E]calm");
}

TEST(ChatTemplate, ErrorsNameThePlace) {
  EXPECT_EQ(error_of("a\n  {{ 1 + 'x' }}", ErrorCode::kInvalidArgument),
            "template, line 2, column 6: '+' between an integer and a string");
  EXPECT_EQ(error_of("{{ a.b.c }}", ErrorCode::kInvalidArgument),
            "template, line 1, column 6: 'a' is undefined");
  EXPECT_THAT(error_of("{{ raise_exception('bad role') }}", ErrorCode::kInvalidArgument),
              HasSubstr("raised by the template: bad role"));
  EXPECT_THAT(error_of("{% if x %}", ErrorCode::kInvalidArgument), HasSubstr("no endif"));
  EXPECT_THAT(error_of("\n\n{% import 'os' %}", ErrorCode::kUnsupported),
              HasSubstr("line 3, column 4: block 'import' is not supported"));
  EXPECT_THAT(error_of("{{ x | shout }}", ErrorCode::kUnsupported), HasSubstr("filter 'shout'"));
  EXPECT_THAT(error_of("{{ 1 is purple }}", ErrorCode::kUnsupported), HasSubstr("test 'purple'"));
  EXPECT_THAT(error_of("{{ 'a'.format(1) }}", ErrorCode::kUnsupported), HasSubstr("'format'"));
  EXPECT_THAT(error_of("{{ f(*a) }}", ErrorCode::kUnsupported), HasSubstr("list of arguments"));
  EXPECT_THAT(error_of("{% for x in y recursive %}{% endfor %}", ErrorCode::kUnsupported),
              HasSubstr("recursive"));
}

TEST(ChatTemplate, StopsWhatUsesTooMuch) {
  const ErrorCode limit = ErrorCode::kOutOfRange;
  const TemplateLimits tight = {
      .source_bytes = 4000, .steps = 100000, .depth = 50, .output_bytes = 1000};
  EXPECT_THAT(error_of(std::string(5000, 'x'), limit, tight), HasSubstr("5000 bytes"));
  EXPECT_THAT(error_of(std::string(1001, 'x'), limit, tight), HasSubstr("bytes of output"));
  EXPECT_THAT(error_of("{{ 'x' * 2000 }}", limit, tight), HasSubstr("bytes of output"));
  const std::string_view runaways[] = {
      "{% for i in range(1000000000) %}{% endfor %}",
      "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
      "{{ 'x' * 9999999999999 }}",
      "{{ [0] * 9999999999999 }}",
      "{% set s = 'xxxxxxxx' %}{% set n = namespace(s=s) %}{% for i in range(60) %}{% set n.s = "
      "n.s ~ n.s "
      "%}{% endfor %}",
      "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}",
      "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor "
      "%}{{ n.l }}",
      "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% "
      "set n.m = "
      "[n.m, n.m] %}{% endfor %}{{ n.l == n.m }}",
      "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor "
      "%}{{ n.l | "
      "tojson | length }}",
      "{{ ('x' * 100000) | replace('', 'y' * 100000) }}",
      "{{ (['x' * 1000] * 1000) | join('y' * 100000) }}",
  };
  for (std::string_view source : runaways)
    EXPECT_THAT(error_of(source, limit, tight), HasSubstr("steps")) << source;
  EXPECT_THAT(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", limit, tight),
              HasSubstr("nested deeper than 50"));
  EXPECT_THAT(error_of("{% set n = namespace(l=[]) %}{% for i in range(99) %}{% set n.l = [n.l] %}"
                       "{% endfor %}",
                       limit, tight),
              HasSubstr("nested deeper than 64"));
  const std::pair<std::string, std::string> pairs[] = {
      {"(", ")"}, {"[", "]"}, {"-", ""}, {"not ", ""}, {"{'a':", "}"}, {"a[", "]"}, {"f(", ")"}};
  for (const auto& [open, close] : pairs) {
    std::string source = "1";
    for (int i = 0; i < 500; ++i) source = open + source + close;
    EXPECT_THAT(error_of("{{ " + source + " }}", limit, tight), HasSubstr("nested deeper")) << open;
  }
  std::string sum = "{{ 1";
  std::string blocks;
  for (int i = 0; i < 200; ++i) sum += " + 1", blocks += "{% if 1 %}";
  EXPECT_THAT(error_of(sum + " }}", limit, tight), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(blocks, limit, tight), HasSubstr("nested deeper"));
}

TEST(ChatTemplate, IntegersDoNotWrap) {
  EXPECT_THAT(error_of("{{ 9223372036854775807 + 1 }}", ErrorCode::kOutOfRange),
              HasSubstr("64 bits"));
  EXPECT_THAT(error_of("{{ 10 ** 30 }}", ErrorCode::kOutOfRange), HasSubstr("64 bits"));
  EXPECT_THAT(error_of("{{ 99999999999999999999 }}", ErrorCode::kUnsupported), HasSubstr("range"));
  EXPECT_EQ(
      *render("{{ (-9223372036854775807 - 1) % -1 }} {{ (-1) ** 99999999999 }} {{ 2 ** 62 }}"),
      "0 -1 4611686018427387904");
}

TEST(ChatTemplate, NamespacesMayHoldThemselves) {
  EXPECT_EQ(*render("{% set n = namespace() %}{% set n.n = n %}{{ n.n.n.n is defined }}"), "True");
}

TEST(ChatTemplate, KeepsBytesThatAreNotUtf8) {
  EXPECT_EQ(*render("{{ x }}|{{ x[1] }}|{{ x | length }}", {}, {{"x", "a\xFF\xE4\xB8"}}),
            "a\xFF\xE4\xB8|\xFF|3");
}

TEST(Json, ReadsValues) {
  const auto value =
      parse_json(R"( {"a": [1, -2.5, true, null, "x\u00e9\ud83d\ude00\n"], "a2": {}} )");
  ASSERT_TRUE(value) << value.error().to_string();
  const ValueList& list = *value->find("a")->list();
  EXPECT_EQ(*list[0].integer(), 1);
  EXPECT_EQ(*list[1].floating(), -2.5);
  EXPECT_TRUE(list[3].is_none());
  EXPECT_EQ(*list[4].string(), "x\xC3\xA9\xF0\x9F\x98\x80\n");
  for (std::string_view bad :
       {"", "{", "[1,]", "{\"a\"}", "tru", "\"\\ud800\"", "\"a", "1 2", "+", "'a'"})
    EXPECT_FALSE(parse_json(bad)) << bad;
  EXPECT_FALSE(parse_json(std::string(1000, '[')));
}

}  // namespace
}  // namespace mlxn::text
