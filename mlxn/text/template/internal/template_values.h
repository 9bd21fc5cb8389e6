// What values of a template do by themselves: truth, order, text forms. As in Python, where
// templates come from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/text/template/value.h"

namespace mlxn::text::detail {

bool is_true(const Value& value);
bool is_number(const Value& value);              // truth values count
double number_of(const Value& value);            // 0 for what is none
std::string_view kind_name(const Value& value);  // for messages: "a string", "a list"

bool equal(const Value& left, const Value& right);
// Below 0, 0 or above; nothing for kinds that have no order.
std::optional<int> compare(const Value& left, const Value& right);

// What {{ value }} prints, and how it looks inside a list.
std::string text_of(const Value& value);
void append_repr(std::string& out, const Value& value);
std::string float_text(double number);

struct JsonStyle {
  std::optional<int64_t> indent;
  std::string item_separator;  // empty: the usual one
  std::string key_separator;
  bool sort_keys = false;
  bool ascii = false;
};
// False when the value holds something that is no data.
bool append_json(std::string& out, const Value& value, const JsonStyle& style, int64_t level = 0);

std::vector<std::string_view> characters(std::string_view text);

// ASCII letters only; others stay.
std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
std::string capitalized_text(std::string_view text);
std::string title_text(std::string_view text);
std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     int64_t most);

// Nothing when the format has a field that is not known.
std::optional<std::string> format_time(std::string_view format, int64_t unix_seconds);

}  // namespace mlxn::text::detail
