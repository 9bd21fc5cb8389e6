#include "mlxn/text/template/value.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "mlxn/base/strings.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text {

namespace {

// Size of a tree whose branches may be shared: worked out when a node is made, never by walking.
struct Extent {
  static constexpr uint64_t kMost = uint64_t{1} << 62;
  int depth = 1;
  uint64_t weight = 8;
  void add(const Value& child, uint64_t extra = 0) {
    depth = std::max(depth, child.depth() + 1);
    weight = std::min(kMost, weight + child.weight() + extra);
  }
};

}  // namespace

struct Value::List {
  ValueList items;
  Extent extent;
  bool tuple = false;
};
struct Value::Dict {
  ValueDict items;
  Extent extent;
};

namespace {

// Keeps the place of the first of equal names and the value of the last.
ValueDict without_repeats(ValueDict items) {
  std::unordered_map<std::string, size_t> places;
  ValueDict out;
  out.reserve(items.size());
  for (auto& [name, value] : items) {
    const auto [place, fresh] = places.emplace(name, out.size());
    if (fresh) {
      out.emplace_back(std::move(name), std::move(value));
    } else {
      out[place->second].second = std::move(value);
    }
  }
  return out;
}

}  // namespace

Value::Value(ValueList value) {
  auto list = std::make_shared<List>();
  for (const Value& one : value) list->extent.add(one);
  list->items = std::move(value);
  data_ = std::shared_ptr<const List>(std::move(list));
}

Value Value::tuple(ValueList values) {
  auto list = std::make_shared<List>();
  for (const Value& one : values) list->extent.add(one);
  list->items = std::move(values);
  list->tuple = true;
  Value out;
  out.data_ = std::shared_ptr<const List>(std::move(list));
  return out;
}

Value::Value(ValueDict value) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [name, one] : value) dict->extent.add(one, name.size());
  dict->items = without_repeats(std::move(value));
  data_ = std::shared_ptr<const Dict>(std::move(dict));
}

const ValueList* Value::list() const {
  const auto* list = std::get_if<std::shared_ptr<const List>>(&data_);
  return list ? &(*list)->items : nullptr;
}

bool Value::is_tuple() const {
  const auto* list = std::get_if<std::shared_ptr<const List>>(&data_);
  return list && (*list)->tuple;
}

const ValueDict* Value::dict() const {
  const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&data_);
  return dict ? &(*dict)->items : nullptr;
}

const Value* Value::find(std::string_view name) const {
  if (const ValueDict* items = dict()) {
    for (const auto& [key, value] : *items) {
      if (key == name) return &value;
    }
  }
  return nullptr;
}

int Value::depth() const {
  if (const auto* list = std::get_if<std::shared_ptr<const List>>(&data_))
    return (*list)->extent.depth;
  if (const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&data_))
    return (*dict)->extent.depth;
  return 0;
}

uint64_t Value::weight() const {
  if (const std::string* text = string()) return 8 + text->size();
  if (const auto* list = std::get_if<std::shared_ptr<const List>>(&data_))
    return (*list)->extent.weight;
  if (const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&data_))
    return (*dict)->extent.weight;
  return 8;
}

namespace {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Result<Value> read() {
    MLXN_ASSIGN(Value value, read_value(0));
    skip_spaces();
    if (at_ < text_.size()) return fail("more text after the value");
    return value;
  }

 private:
  Error fail(std::string_view problem) const {
    return Error(ErrorCode::kCorruptData, str("JSON, offset ", at_, ": ", problem));
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool take(char byte) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != byte) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<Value> read_value(int depth) {
    if (depth > Value::kMaxDepth) return fail(str("nested deeper than ", Value::kMaxDepth));
    skip_spaces();
    if (at_ >= text_.size()) return fail("the text ends where a value should be");
    if (take('{')) return read_dict(depth);
    if (take('[')) return read_list(depth);
    if (text_[at_] == '"') {
      MLXN_ASSIGN(std::string text, read_string());
      return Value(std::move(text));
    }
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    if (take_word("null")) return Value();
    return read_number();
  }

  Result<Value> read_list(int depth) {
    ValueList items;
    if (take(']')) return Value(std::move(items));
    do {
      MLXN_ASSIGN(Value item, read_value(depth + 1));
      items.push_back(std::move(item));
    } while (take(','));
    if (!take(']')) return fail("expected ',' or ']'");
    return Value(std::move(items));
  }

  Result<Value> read_dict(int depth) {
    ValueDict items;
    if (take('}')) return Value(std::move(items));
    do {
      skip_spaces();
      MLXN_ASSIGN(std::string name, read_string());
      if (!take(':')) return fail("expected ':'");
      MLXN_ASSIGN(Value item, read_value(depth + 1));
      items.emplace_back(std::move(name), std::move(item));
    } while (take(','));
    if (!take('}')) return fail("expected ',' or '}'");
    return Value(std::move(items));
  }

  Result<Value> read_number() {
    size_t end = at_;
    while (end < text_.size() && std::string_view("+-.eE0123456789").find(text_[end]) != text_.npos)
      ++end;
    const char* first = text_.data() + at_;
    const char* last = text_.data() + end;
    int64_t integer = 0;
    double number = 0;
    if (const auto done = std::from_chars(first, last, integer);
        first != last && done.ec == std::errc() && done.ptr == last) {
      at_ = end;
      return Value(integer);
    }
    const auto done = std::from_chars(first, last, number);
    if (first == last || done.ec != std::errc() || done.ptr != last)
      return fail("expected a value");
    at_ = end;
    return Value(number);
  }

  Result<uint32_t> read_hex() {
    uint32_t code = 0;
    if (at_ + 4 > text_.size()) return fail("expected four hexadecimal digits");
    const char* first = text_.data() + at_;
    const auto done = std::from_chars(first, first + 4, code, 16);
    if (done.ec != std::errc() || done.ptr != first + 4)
      return fail("expected four hexadecimal digits");
    at_ += 4;
    return code;
  }

  Result<std::string> read_string() {
    if (at_ >= text_.size() || text_[at_] != '"') return fail("expected a string");
    ++at_;
    std::string out;
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == '"') return out;
      if (static_cast<uint8_t>(byte) < 0x20) return fail("a control character in a string");
      if (byte != '\\') {
        out += byte;
        continue;
      }
      MLXN_TRY(read_escape(out));
    }
    return fail("a string without end");
  }

  Status read_escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return fail("a string without end");
    const char name = text_[at_++];
    if (const size_t place = kNames.find(name); place != kNames.npos) {
      out += kBytes[place];
      return {};
    }
    if (name != 'u') return fail("an unknown escape in a string");
    MLXN_ASSIGN(uint32_t code, read_hex());
    if (code >= 0xD800 && code < 0xDC00 && take_word("\\u")) {
      MLXN_ASSIGN(const uint32_t low, read_hex());
      if (low < 0xDC00 || low > 0xDFFF) return fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code <= 0xDFFF) {
      return fail("half of a surrogate pair");
    }
    append_utf8(out, code);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<Value> parse_json(std::string_view text) {
  return JsonReader(text).read();
}

}  // namespace mlxn::text
