#include "tests/tiers/foreign_inputs.h"

#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mlxn/base/strings.h"

namespace mlxn::tiers {
namespace {

constexpr uint64_t kLeadingSizes = 32;  // bytes
constexpr uint64_t kGuardBefore = uint64_t{8} << 30, kGuardAfter = uint64_t{36} << 30;

// Numbers of MTL::DataType: a scalar type begins a run with its vectors of 2, 3 and 4.
enum class Scalar { kOther, kFloat, kHalf, kInt, kShort, kChar, kBool, kLong, kBfloat };

struct Element {
  Scalar scalar = Scalar::kOther;
  uint32_t bytes = 1;  // of one component
  uint32_t components = 1;
};

struct TypeRange {
  msl::DataType first, last;
  Scalar scalar;
  uint32_t bytes;
};
constexpr TypeRange kRanges[] = {
    {3, 6, Scalar::kFloat, 4},   {7, 15, Scalar::kFloat, 4},  // vectors, matrices
    {16, 19, Scalar::kHalf, 2},  {20, 28, Scalar::kHalf, 2},     {29, 36, Scalar::kInt, 4},
    {37, 44, Scalar::kShort, 2}, {45, 52, Scalar::kChar, 1},     {53, 56, Scalar::kBool, 1},
    {81, 88, Scalar::kLong, 8},  {121, 124, Scalar::kBfloat, 2},
};

Element element_of(msl::DataType type) {
  for (const TypeRange& range : kRanges) {
    if (type < range.first || type > range.last) continue;
    const uint32_t lanes = (type - range.first) % 4 + 1;
    return {range.scalar, range.bytes, lanes == 3 ? 4 : lanes};
  }
  return {};
}

template <class T>
void put(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof(value));
}

class Filler {
 public:
  Filler(const Filling& filling, uint64_t salt)
      : filling_(filling), random_(filling.number * 1000003 + salt) {}

  // One component. `is_size`: a parameter, which may be a size or a stride; else data.
  void component(std::byte* place, const Element& element, bool is_size) {
    const uint32_t whole = is_size ? size() : random_.below(4);
    const float real = !is_size              ? random_.unit()
                       : filling_.real_sizes ? static_cast<float>(whole)
                                             : 0.25f + std::fabs(random_.unit());
    switch (element.scalar) {
      case Scalar::kFloat: return put(place, real);
      case Scalar::kHalf: return put(place, static_cast<_Float16>(real));
      case Scalar::kBfloat:
        return put(place, static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16));
      case Scalar::kInt: return put(place, whole);
      case Scalar::kLong: return put(place, uint64_t{whole});
      case Scalar::kShort: return put(place, static_cast<uint16_t>(whole));
      case Scalar::kBool: return put(place, static_cast<uint8_t>(random_.below(2)));
      // Raw bytes, often quantised blocks: read as half, bfloat or float they are small numbers.
      default: return put(place, static_cast<uint8_t>(random_.below(0x3c)));
    }
  }

  void fill(std::span<std::byte> out, msl::DataType type, bool is_size) {
    const Element element = element_of(type);
    for (uint64_t at = 0; at + element.bytes <= out.size(); at += element.bytes)
      component(out.data() + at, element, is_size);
  }

  void fill_structs(std::span<std::byte> out, const msl::ArgumentInfo& argument, bool is_size) {
    const uint64_t stride = std::max<uint64_t>(argument.data_size, 1);
    for (uint64_t base = 0; base + stride <= out.size(); base += stride) {
      for (const msl::MemberInfo& member : argument.members) {
        const Element element = element_of(member.type);
        const uint64_t count = uint64_t{std::max(1u, member.array_length)} * element.components;
        for (uint64_t i = 0; i < count; ++i) {
          const uint64_t at = member.offset + i * element.bytes;
          if (at + element.bytes > stride) break;
          component(out.data() + base + at, element, is_size);
        }
      }
    }
  }

 private:
  uint32_t size() {
    return filling_.smallest + random_.below(filling_.largest - filling_.smallest + 1);
  }
  Filling filling_;
  Random random_;
};

double value_of(const std::byte* place, const Element& element) {
  if (element.scalar == Scalar::kFloat) {
    float value;
    std::memcpy(&value, place, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, place, 2);
  if (element.scalar == Scalar::kHalf) return std::bit_cast<_Float16>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

bool is_real(const Element& element) {
  return element.scalar == Scalar::kFloat || element.scalar == Scalar::kHalf ||
         element.scalar == Scalar::kBfloat;
}

}  // namespace

GuardedBytes::GuardedBytes(uint64_t size) : size_(size) {
  const uint64_t total = kGuardBefore + size + kGuardAfter;
  mapping_ = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    std::perror("mmap");
    std::exit(3);
  }
  data_ = static_cast<std::byte*>(mapping_) + kGuardBefore;
  mprotect(data_, size, PROT_READ | PROT_WRITE);
}

GuardedBytes::~GuardedBytes() {
  munmap(mapping_, kGuardBefore + size_ + kGuardAfter);
}

ForeignArguments::ForeignArguments(const msl::Kernel& kernel, const Filling& filling) {
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind == msl::ArgumentKind::kThreadgroupMemory) {
      threadgroup_.push_back({argument.index, kForeignThreadgroupBytes});
      continue;
    }
    ForeignBuffer buffer;
    buffer.index = argument.index;
    buffer.type = argument.type;
    buffer.name = argument.name;
    buffer.writable = argument.access != msl::Access::kReadOnly;
    buffer.memory = std::make_unique<GuardedBytes>(kForeignBytes);
    Filler filler(filling, argument.index);
    const bool is_size = argument.is_reference || argument.is_constant_space;
    const std::span<std::byte> bytes = buffer.memory->bytes();
    filler.fill(bytes, argument.members.empty() ? argument.type : 0, is_size);
    if (!argument.members.empty()) filler.fill_structs(bytes, argument, is_size);
    if (filling.real_sizes && !buffer.writable && argument.members.empty())
      filler.fill(bytes.first(kLeadingSizes), argument.type, true);
    if (buffer.writable) buffer.original.assign(bytes.begin(), bytes.end());
    buffers_.push_back(std::move(buffer));
  }
}

std::vector<Buffer> ForeignArguments::buffers() const {
  std::vector<Buffer> out;
  for (const ForeignBuffer& buffer : buffers_)
    out.push_back({buffer.index, buffer.memory->bytes()});
  return out;
}

void ForeignArguments::restore() {
  for (ForeignBuffer& buffer : buffers_) {
    if (buffer.writable)
      std::memcpy(buffer.memory->bytes().data(), buffer.original.data(), buffer.original.size());
  }
}

ForeignArguments::Contents ForeignArguments::contents() const {
  Contents out;
  for (const ForeignBuffer& buffer : buffers_) {
    const auto bytes = buffer.memory->bytes();
    if (buffer.writable) out.emplace_back(bytes.begin(), bytes.end());
  }
  return out;
}

bool ForeignArguments::changed(const Contents& contents) const {
  size_t next = 0;
  for (const ForeignBuffer& buffer : buffers_) {
    if (buffer.writable && buffer.original != contents[next++]) return true;
  }
  return false;
}

std::string ForeignArguments::first_difference(const Contents& expected,
                                               const Contents& actual) const {
  size_t next = 0;
  for (const ForeignBuffer& buffer : buffers_) {
    if (!buffer.writable) continue;
    const auto& a = expected[next];
    const auto& b = actual[next++];
    if (std::memcmp(a.data(), b.data(), a.size()) == 0) continue;
    const Element element = element_of(buffer.type);
    const uint64_t step = element.bytes;
    for (uint64_t at = 0; at + step <= a.size(); at += step) {
      if (std::memcmp(a.data() + at, b.data() + at, step) == 0) continue;
      std::string values;
      if (is_real(element)) {
        const double x = value_of(a.data() + at, element), y = value_of(b.data() + at, element);
        if (std::isnan(x) && std::isnan(y)) continue;
        char text[80];
        std::snprintf(text, sizeof(text), "%.9g, expected %.9g", y, x);
        values = text;
      } else {
        for (const auto* side : {&b, &a}) {
          uint64_t bits = 0;
          std::memcpy(&bits, side->data() + at, step);
          values += str(values.empty() ? "" : ", expected ", bits);
        }
      }
      return str("buffer ", buffer.index, " '", buffer.name, "' element ", at / step, ": ", values);
    }
  }
  return {};
}

std::vector<msl::ConstantValue> constant_values(const msl::FunctionInfo& function) {
  std::vector<msl::ConstantValue> out;
  for (const msl::FunctionConstant& constant : function.constants) {
    msl::ConstantValue value;
    value.name = constant.name;
    value.index = constant.index;
    value.type = constant.type;
    const Element element = element_of(constant.type);
    for (uint32_t at = 0; at + element.bytes <= sizeof(value.bytes); at += element.bytes) {
      auto* place = reinterpret_cast<std::byte*>(value.bytes) + at;
      if (element.scalar == Scalar::kBool) {
        put(place, uint8_t{1});
      } else if (is_real(element)) {
        Filler({0, 1, 1}, 1).component(place, element, true);
      } else {
        value.bytes[at] = 4;
      }
    }
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace mlxn::tiers
