// NS::Value and NS::Number.
#include <cmath>
#include <compare>
#include <cstring>
#include <limits>
#include <utility>

#include "metal/rt/device/validation.h"
#include "metal/rt/foundation/property.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

// Size of a type encoding of one letter; 0 when unknown.
size_t encoded_size(std::string_view type) {
  if (type.empty()) return 0;
  switch (type[0]) {
    case 'c':
    case 'C':
    case 'B': return 1;
    case 's':
    case 'S': return 2;
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'q':
    case 'Q':
    case 'd':
    case '^':
    case '@':
    case '*': return 8;
    default: return 0;
  }
}

template <class T>
const char* encoding_of() {
  if constexpr (std::is_same_v<T, bool>) return "B";
  if constexpr (std::is_same_v<T, float>) return "f";
  if constexpr (std::is_same_v<T, double>) return "d";
  constexpr const char* kSigned[] = {"c", "s", "", "i", "", "", "", "q"};
  constexpr const char* kUnsigned[] = {"C", "S", "", "I", "", "", "", "Q"};
  return (std::is_signed_v<T> ? kSigned : kUnsigned)[sizeof(T) - 1];
}

template <class T>
void assign(NumberObject* self, T value) {
  if (!self) return;
  self->type = encoding_of<T>();
  self->bytes.assign(reinterpret_cast<const char*>(&value), sizeof value);
  if constexpr (std::is_floating_point_v<T>) {
    self->number = static_cast<double>(value);
  } else if constexpr (std::is_signed_v<T>) {
    self->number = static_cast<int64_t>(value);
  } else {
    self->number = static_cast<uint64_t>(value);
  }
}

// Wraps between integers, saturates from floating point; NaN gives 0.
template <class T>
T convert(const NumberObject* self) {
  if (!self) return T();
  return std::visit(
      [](auto value) -> T {
        if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(value)>) {
          if (std::isnan(value)) return 0;
          const double low = static_cast<double>(std::numeric_limits<T>::min());
          const double high = static_cast<double>(std::numeric_limits<T>::max());
          if (value <= low) return std::numeric_limits<T>::min();
          if (value >= high) return std::numeric_limits<T>::max();
          return static_cast<T>(value);
        } else {
          return static_cast<T>(value);
        }
      },
      self->number);
}

int order_of(const NumberObject& a, const NumberObject& b) {
  return std::visit(
      [](auto x, auto y) -> int {
        if constexpr (std::is_integral_v<decltype(x)> && std::is_integral_v<decltype(y)>) {
          return std::cmp_less(x, y) ? -1 : std::cmp_less(y, x) ? 1 : 0;
        } else {
          const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
          return dx < dy ? -1 : dx > dy ? 1 : 0;
        }
      },
      a.number, b.number);
}

}  // namespace

std::string ValueObject::description() const {
  return str("<value of ", bytes.size(), " bytes>");
}

bool ValueObject::equals(const Object& other) const {
  auto* value = dynamic_cast<const ValueObject*>(&other);
  return value && value->type == type && value->bytes == bytes;
}

std::string NumberObject::description() const {
  return std::visit([](auto value) { return str(value); }, number);
}

bool NumberObject::equals(const Object& other) const {
  auto* value = dynamic_cast<const NumberObject*>(&other);
  return value && order_of(*this, *value) == 0;
}

uint64_t NumberObject::hash() const {
  return convert<uint64_t>(this);
}

}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

Value* Value::alloc() {
  return api(new ValueObject);
}

Value* Value::init(const void* pValue, const char* pType) {
  auto* self = impl(this);
  if (!self) return nullptr;
  const size_t size = encoded_size(pType ? pType : "");
  if (!pValue || size == 0) {
    report("NS::Value::init",
           mlxn::str("type '", pType ? pType : "", "', expected one scalar or pointer type"));
    self->release();
    return nullptr;
  }
  self->type = pType;
  self->bytes.assign(static_cast<const char*>(pValue), size);
  return this;
}

Value* Value::value(const void* pValue, const char* pType) {
  auto* result = alloc()->init(pValue, pType);
  return result ? result->autorelease() : nullptr;
}

Value* Value::value(const void* pPointer) {
  return value(&pPointer, "^v");
}

void Value::getValue(void* pValue, UInteger size) const {
  auto* self = impl(this);
  if (!self || !pValue) return;
  if (size != self->bytes.size()) {
    report("NS::Value::getValue", mlxn::str("size ", size, ", expected ", self->bytes.size()));
    return;
  }
  std::memcpy(pValue, self->bytes.data(), size);
}

const char* Value::objCType() const {
  auto* self = impl(this);
  return self ? self->type.c_str() : nullptr;
}

bool Value::isEqualToValue(Value* pValue) const {
  auto *self = impl(this), *other = impl(pValue);
  return self && other && self->equals(*other);
}

void* Value::pointerValue() const {
  auto* self = impl(this);
  void* pointer = nullptr;
  if (self && self->bytes.size() == sizeof pointer) {
    std::memcpy(&pointer, self->bytes.data(), sizeof pointer);
  }
  return pointer;
}

Number* Number::alloc() {
  return api(new NumberObject);
}

#define MLXN_NUMBER(Type, getter)               \
  Number* Number::number(Type value) {          \
    return alloc()->init(value)->autorelease(); \
  }                                             \
  Number* Number::init(Type value) {            \
    assign(impl(this), value);                  \
    return this;                                \
  }                                             \
  Type Number::getter() const {                 \
    return convert<Type>(impl(this));           \
  }

MLXN_NUMBER(char, charValue)
MLXN_NUMBER(unsigned char, unsignedCharValue)
MLXN_NUMBER(short, shortValue)
MLXN_NUMBER(unsigned short, unsignedShortValue)
MLXN_NUMBER(int, intValue)
MLXN_NUMBER(unsigned int, unsignedIntValue)
MLXN_NUMBER(long, longValue)
MLXN_NUMBER(unsigned long, unsignedLongValue)
MLXN_NUMBER(long long, longLongValue)
MLXN_NUMBER(unsigned long long, unsignedLongLongValue)
MLXN_NUMBER(float, floatValue)
MLXN_NUMBER(double, doubleValue)
#undef MLXN_NUMBER

Number* Number::number(bool value) {
  return alloc()->init(value)->autorelease();
}
Number* Number::init(bool value) {
  assign(impl(this), value);
  return this;
}
bool Number::boolValue() const {
  return convert<double>(impl(this)) != 0;
}
Integer Number::integerValue() const {
  return longValue();
}
UInteger Number::unsignedIntegerValue() const {
  return unsignedLongValue();
}
String* Number::stringValue() const {
  return description();
}
String* Number::descriptionWithLocale(const Object*) const {
  return description();
}

ComparisonResult Number::compare(const Number* pOtherNumber) const {
  auto *self = impl(this), *other = impl(pOtherNumber);
  return self && other ? static_cast<ComparisonResult>(order_of(*self, *other)) : OrderedSame;
}

bool Number::isEqualToNumber(const Number* pNumber) const {
  auto *self = impl(this), *other = impl(pNumber);
  return self && other && self->equals(*other);
}

}  // namespace NS
