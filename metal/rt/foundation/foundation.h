// Objects behind the classes of Foundation.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "metal/rt/foundation/object.h"
#include "mlxn/base/error.h"

MLXN_RT_OBJECT(NS::String, StringObject)
MLXN_RT_OBJECT(NS::Array, ArrayObject)
MLXN_RT_OBJECT(NS::Dictionary, DictionaryObject)
MLXN_RT_OBJECT(NS::Set, SetObject)
MLXN_RT_OBJECT(NS::FastEnumeration, EnumeratorObject)
MLXN_RT_OBJECT(NS::Value, ValueObject)
MLXN_RT_OBJECT(NS::Number, NumberObject)
MLXN_RT_OBJECT(NS::Error, ErrorObject)
MLXN_RT_OBJECT(NS::URL, UrlObject)
MLXN_RT_OBJECT(NS::Data, DataObject)
MLXN_RT_OBJECT(NS::ProcessInfo, ProcessInfoObject)

namespace mlxn::rt {

class StringObject : public Object {
 public:
  using Api = NS::String;
  StringObject() = default;
  explicit StringObject(std::string value) : text(std::move(value)) {}
  std::string description() const override { return text; }
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return std::hash<std::string>()(text); }

  std::string text;  // UTF-8
};

class ArrayObject : public Object {
 public:
  using Api = NS::Array;
  std::string description() const override;
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return items.size(); }

  std::vector<Ref<Object>> items;
};

class DictionaryObject : public Object {
 public:
  using Api = NS::Dictionary;
  std::string description() const override;
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return items.size(); }
  Object* find(const Object& key) const;
  void set(Ref<Object> key, Ref<Object> value);

  std::vector<std::pair<Ref<Object>, Ref<Object>>> items;  // key, value
};

class SetObject : public Object {
 public:
  using Api = NS::Set;
  std::string description() const override;
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return items.size(); }
  bool contains(const Object& item) const;

  std::vector<Ref<Object>> items;
};

class EnumeratorObject : public Object {
 public:
  using Api = NS::Enumerator<NS::Object>;
  explicit EnumeratorObject(std::vector<Ref<Object>> list) : items(std::move(list)) {}

  std::vector<Ref<Object>> items;
  size_t position = 0;
};

// Also the base of NumberObject, as NS::Number derives from NS::Value.
class ValueObject : public Object {
 public:
  using Api = NS::Value;
  std::string description() const override;
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return std::hash<std::string>()(bytes); }

  std::string type;  // Objective-C type encoding
  std::string bytes;
};

class NumberObject : public ValueObject {
 public:
  using Api = NS::Number;
  std::string description() const override;
  bool equals(const Object& other) const override;
  uint64_t hash() const override;

  std::variant<int64_t, uint64_t, double> number;
};

class ErrorObject : public Object {
 public:
  using Api = NS::Error;
  std::string description() const override;

  Ref<StringObject> domain;
  NS::Integer code = 0;
  Ref<DictionaryObject> user_info;
};

class UrlObject : public Object {
 public:
  using Api = NS::URL;
  std::string description() const override { return text; }
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return std::hash<std::string>()(text); }

  std::string text;
  std::string path;  // empty unless a file URL
};

class DataObject : public Object {
 public:
  using Api = NS::Data;
  DataObject() = default;
  DataObject(const void* data, size_t size)
      : bytes(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + size) {}
  bool equals(const Object& other) const override;
  uint64_t hash() const override { return bytes.size(); }

  std::vector<uint8_t> bytes;
};

inline Ref<StringObject> make_string(std::string text) {
  return make<StringObject>(std::move(text));
}

// The text of a string that may be null.
inline std::string text_of(const NS::String* string) {
  return string ? impl(string)->text : "";
}

template <class T>
Ref<ArrayObject> make_array(const std::vector<Ref<T>>& items) {
  auto array = make<ArrayObject>();
  array->items.assign(items.begin(), items.end());
  return array;
}

// An NS::Error whose localizedDescription is the message.
Ref<ErrorObject> make_error(const char* domain, NS::Integer code, std::string message);

inline constexpr const char* kLibraryErrorDomain = "MTLLibraryErrorDomain";
inline constexpr const char* kCommandBufferErrorDomain = "MTLCommandBufferErrorDomain";
inline constexpr const char* kCounterErrorDomain = "MTLCounterErrorDomain";
inline constexpr const char* kCaptureErrorDomain = "MTLCaptureErrorDomain";
inline constexpr const char* kDeviceErrorDomain = "MLXNDeviceErrorDomain";

// Stores an error, autoreleased, where the caller asked for it.
void set_error(NS::Error** out, const Ref<ErrorObject>& error);

// A label: null until set. Safe to read and set from several threads.
class Label {
 public:
  Label() = default;
  Label(const Label& other) : string_(other.get()) {}
  Label& operator=(const Label& other) {
    set(other.get());
    return *this;
  }

  Ref<StringObject> get() const {
    std::lock_guard lock(mutex_);
    return string_;
  }
  void set(Ref<StringObject> string) {
    std::lock_guard lock(mutex_);
    std::swap(string_, string);  // the old one is released outside the lock
  }
  std::string text() const {
    auto string = get();
    return string ? string->text : "";
  }

 private:
  mutable std::mutex mutex_;
  Ref<StringObject> string_;
};

}  // namespace mlxn::rt
