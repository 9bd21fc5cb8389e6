#include "mlxn/testing/broken_calls.h"

#include <algorithm>
#include <map>

#include "mlxn/base/strings.h"

namespace mlxn::cases {
namespace {

uint64_t elements_of(const OpCase& op_case) {
  uint64_t total = 0;
  for (const Tensor& tensor : op_case.tensors) {
    total += tensor.shape.element_count().value_or(UINT64_MAX / 16);
  }
  return total;
}

bool hands_over_all(const OpCase& op_case) {
  return std::ranges::none_of(op_case.tensors, [](const Tensor& t) { return t.accepts.all; });
}

// Rather one with all arguments.
bool is_better(const OpCase& a, const OpCase& b) {
  if (hands_over_all(a) != hands_over_all(b)) return hands_over_all(a);
  return elements_of(a) < elements_of(b);
}

std::vector<const OpCase*> smallest_of_each_variant(const OpCases& op) {
  std::map<std::string, const OpCase*> found;
  for (const OpCase& entry : op.cases) {
    if (entry.use != Use::kTest) continue;
    const OpCase*& least = found[entry.variant];
    if (!least || is_better(entry, *least)) least = &entry;
  }
  std::vector<const OpCase*> out;
  for (const auto& [variant, entry] : found) out.push_back(entry);
  return out;
}

// One that no op takes for the other.
Dtype another(Dtype dtype) {
  return dtype == Dtype::kU8 ? Dtype::kF32 : Dtype::kU8;
}

// Whole blocks where the dtype has them.
Shape with_size(const Tensor& tensor, size_t dimension, int change) {
  std::vector<uint64_t> sizes(tensor.shape.begin(), tensor.shape.end());
  const bool last = dimension + 1 == sizes.size();
  const uint64_t step = last ? info(tensor.dtype).block_elements : 1;
  sizes[dimension] = change > 0 ? sizes[dimension] + step : sizes[dimension] - step;
  return Shape(sizes);
}

// A view with much room behind it, which is not the tensor's.
Result<Buffer> view_for(const Tensor& tensor, const Device& device) {
  constexpr uint64_t kBlocksBefore = 16, kRoom = 1 << 16;
  MLXN_ASSIGN(const uint64_t length, size_bytes(tensor.dtype, tensor.shape));
  const uint64_t begin = kBlocksBefore * info(tensor.dtype).block_bytes;
  MLXN_ASSIGN(const Buffer parent, device.alloc(Dtype::kU8, {begin + length + kRoom}));
  return Buffer(parent.storage(), parent.byte_offset() + begin, length, tensor.dtype, tensor.shape);
}

bool may_change(const Tensor& tensor, size_t dimension) {
  return std::ranges::find(tensor.accepts.sizes, dimension) != tensor.accepts.sizes.end();
}

}  // namespace

std::vector<BrokenCall> broken_calls(const OpCases& op) {
  using Change = BrokenCall::Change;
  std::vector<BrokenCall> out;
  for (const OpCase* entry : smallest_of_each_variant(op)) {
    for (size_t i = 0; i < entry->tensors.size(); ++i) {
      const Tensor& tensor = entry->tensors[i];
      if (tensor.accepts.all) continue;
      const std::string name = str(entry->variant, " tensor ", i);
      const auto add = [&](std::string what, Change change, const Tensor& other) {
        out.push_back(BrokenCall(name + what, *entry, change, i));
        out.back().other_ = other;
      };
      add(" empty", Change::kEmpty, tensor);
      if (!tensor.accepts.dtype) {
        const Dtype dtype = another(tensor.dtype);
        add(str(" as ", to_string(dtype)), Change::kDtype, {dtype, tensor.shape});
      }
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        if (may_change(tensor, d)) continue;
        for (const int change : {1, -1}) {
          const Shape shape = with_size(tensor, d, change);
          if (shape[d] == 0) continue;
          add(str(" of ", shape.to_string(), " for ", tensor.shape.to_string()), Change::kShape,
              {tensor.dtype, shape});
        }
      }
      // In part: an output that begins one element behind the tensor's begin.
      for (size_t o = 0; o < entry->tensors.size(); ++o) {
        if (o == i || entry->tensors[o].role == Role::kIn || tensor.accepts.overlap) continue;
        if (tensor.shape.element_count().value_or(0) <= info(tensor.dtype).block_elements) continue;
        add(str(" overlapping output ", o), Change::kOverlap, tensor);
        out.back().output_ = o;
      }
    }
  }
  return out;
}

Result<std::vector<Buffer>> BrokenCall::buffers(const Device& device) const {
  std::vector<Buffer> out;
  for (size_t i = 0; i < from->tensors.size(); ++i) {
    const bool changed = i == tensor_;
    if (changed && change_ == Change::kEmpty) {
      out.emplace_back();
      continue;
    }
    MLXN_ASSIGN(Buffer buffer, view_for(changed ? other_ : from->tensors[i], device));
    out.push_back(std::move(buffer));
  }
  if (change_ != Change::kOverlap) return out;
  // Both in one allocation, which is bytes at first.
  const Tensor &tensor = from->tensors[tensor_], &output = from->tensors[output_];
  const uint64_t shift = uint64_t{info(tensor.dtype).block_bytes} * info(output.dtype).block_bytes;
  MLXN_ASSIGN(const uint64_t length, size_bytes(tensor.dtype, tensor.shape));
  MLXN_ASSIGN(const uint64_t output_length, size_bytes(output.dtype, output.shape));
  const uint64_t begin = shift < length ? shift : info(output.dtype).block_bytes;
  MLXN_ASSIGN(const Buffer both,
              device.alloc(Dtype::kU8, {begin + std::max(length, output_length)}));
  out[tensor_] = Buffer(both.storage(), both.byte_offset(), length, tensor.dtype, tensor.shape);
  out[output_] =
      Buffer(both.storage(), both.byte_offset() + begin, output_length, output.dtype, output.shape);
  return out;
}

}  // namespace mlxn::cases
