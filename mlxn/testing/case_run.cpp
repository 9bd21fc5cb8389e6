#include "mlxn/testing/case_run.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

// Before and behind each tensor, in bytes at least.
constexpr uint64_t kZone = 256;
constexpr std::byte kZoneByte{0xa5};
constexpr std::byte kNanByte{0xff};  // NaN in every float type

std::span<std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.contents(), buffer.byte_len()};
}

// How a result compares with its reference.
struct Difference {
  double square_error = 0, square_expected = 0;
  size_t wrong = 0, first = 0;  // elements out of tolerance

  double nmse() const {
    if (square_error == 0) return 0;
    return square_expected > 0 ? square_error / square_expected : INFINITY;
  }
};

bool is_close(double got, double expected, const Tensor& tensor, const Tolerance& tolerance) {
  if (tolerance.exact()) expected = rounded(tensor.dtype, expected);
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || tolerance.exact()) return got == expected;
  return std::abs(got - expected) <=
         tolerance.relative * std::abs(expected) + tolerance.absolute;  // false for NaN
}

Difference compare(const std::vector<double>& got, const std::vector<double>& expected,
                   const Tensor& tensor, const Tolerance& tolerance) {
  Difference out;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!is_close(got[i], expected[i], tensor, tolerance) && out.wrong++ == 0) out.first = i;
    if (!std::isfinite(expected[i]) || !std::isfinite(got[i])) continue;
    const double error = got[i] - expected[i];
    out.square_error += error * error;
    out.square_expected += expected[i] * expected[i];
  }
  return out;
}

Error not_equal(const std::string& what) {
  return Error(ErrorCode::kInternal, what);
}

}  // namespace

Result<CaseRun> CaseRun::create(const OpCase& op_case, const Device& device, uint64_t seed) {
  CaseRun out(op_case, device);
  Random random(seed);
  for (const Tensor& tensor : op_case.tensors) MLXN_TRY(out.add(tensor, random));
  return out;
}

Status CaseRun::add(const Tensor& tensor, Random& random) {
  MLXN_ASSIGN(const uint64_t elements, tensor.shape.element_count());
  const DtypeInfo& type = info(tensor.dtype);
  // Metal wants offsets that are a multiple of the element; blocks of 18 bytes are.
  const uint64_t zone = (kZone + type.block_bytes - 1) / type.block_bytes;
  MLXN_ASSIGN(const uint64_t room, checked_add<uint64_t>(elements, 2 * zone * type.block_elements));
  MLXN_ASSIGN(Buffer parent, device_.alloc(tensor.dtype, {room}));
  MLXN_ASSIGN(Buffer part, parent.slice_view(zone * type.block_bytes, elements));
  MLXN_ASSIGN(Buffer buffer, part.reshape(tensor.shape));
  std::ranges::fill(bytes_of(parent), kZoneByte);
  if (tensor.role == Role::kOut) {
    std::ranges::fill(bytes_of(buffer), kNanByte);
  } else {
    std::vector<double> values(elements);
    tensor.fill(random, values);
    MLXN_TRY(store(tensor.dtype, values, bytes_of(buffer)));
  }
  const auto bytes = bytes_of(parent);
  before_.emplace_back(bytes.begin(), bytes.end());
  parents_.push_back(std::move(parent));
  buffers_.push_back(std::move(buffer));
  return {};
}

Status CaseRun::run() const {
  CommandEncoder encoder(device_);
  MLXN_TRY(case_.encode({encoder, buffers_}));
  return encoder.commit_and_wait();
}

Status CaseRun::check() const {
  Values values(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    MLXN_TRY(check_untouched(i));
    values[i].resize(buffers_[i].element_count());
    if (case_.tensors[i].role == Role::kOut) continue;
    const auto before = std::span(before_[i]).subspan(buffers_[i].byte_offset());
    MLXN_TRY(load(buffers_[i].dtype(), before.first(buffers_[i].byte_len()), values[i]));
  }
  case_.reference(values);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (case_.tensors[i].role != Role::kIn) MLXN_TRY(check_values(i, values[i]));
  }
  return {};
}

// Zones of every tensor and all of an input.
Status CaseRun::check_untouched(size_t i) const {
  const auto now = bytes_of(parents_[i]);
  const uint64_t begin = buffers_[i].byte_offset(), end = begin + buffers_[i].byte_len();
  const bool is_input = case_.tensors[i].role == Role::kIn;
  for (size_t at = 0; at < now.size(); ++at) {
    if ((!is_input && at >= begin && at < end) || now[at] == before_[i][at]) continue;
    return not_equal(str("tensor ", i, ": byte ", static_cast<int64_t>(at - begin), " of ",
                         end - begin, " was overwritten"));
  }
  return {};
}

Status CaseRun::check_values(size_t i, const std::vector<double>& expected) const {
  const Tensor& tensor = case_.tensors[i];
  std::vector<double> got(expected.size());
  MLXN_TRY(load(tensor.dtype, bytes_of(buffers_[i]), got));
  const Difference difference = compare(got, expected, tensor, case_.tolerance);
  if (difference.wrong > 0) {
    const size_t at = difference.first;
    return not_equal(str("tensor ", i, " ", tensor.shape.to_string(), ": element ", at, " is ",
                         got[at], ", expected ", expected[at], "; ", difference.wrong, " of ",
                         got.size(), " are wrong, nmse ", difference.nmse()));
  }
  if (difference.nmse() > case_.tolerance.nmse && !case_.tolerance.exact()) {
    return not_equal(str("tensor ", i, " ", tensor.shape.to_string(), ": nmse ", difference.nmse(),
                         ", expected at most ", case_.tolerance.nmse));
  }
  return {};
}

std::vector<std::byte> CaseRun::bytes() const {
  std::vector<std::byte> out;
  for (const Buffer& buffer : parents_) {
    const auto bytes = bytes_of(buffer);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

}  // namespace mlxn::cases
