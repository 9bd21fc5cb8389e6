#include "mlxn/io/internal/json_document.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mlxn/base/strings.h"

namespace mlxn::io {
namespace {

using nlohmann::json;

// Builds the value from the parser's events; any event may refuse the text.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(int depth) : depth_(static_cast<size_t>(depth)) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back()->contains(name)) return fail(str("'", name, "' is there twice"));
    key_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(str("not valid at byte ", position));
  }

  json take() { return std::move(root_); }
  const std::string& message() const { return message_; }

 private:
  bool fail(std::string message) {
    message_ = std::move(message);
    return false;
  }

  // Where the next value goes.
  json* place(json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *stack_.back();
    if (parent.is_object()) return &(parent[std::move(key_)] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool put(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (stack_.size() == depth_) return fail(str("values are nested deeper than ", depth_));
    stack_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  size_t depth_;
  json root_;
  std::vector<json*> stack_;  // objects and arrays that are open; a parent does not grow meanwhile
  std::string key_;
  std::string message_;
};

}  // namespace

Result<json> parse_json(std::string_view text, int depth) {
  Builder builder(depth);
  if (!json::sax_parse(text.begin(), text.end(), &builder))
    return Error(ErrorCode::kCorruptData, str("JSON: ", builder.message()));
  return builder.take();
}

const json* member(const json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace mlxn::io
