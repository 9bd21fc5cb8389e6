#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/layout/copy.h"
#include "mlxn/ops/layout/permute.h"
#include "mlxn/ops/layout/repeat.h"
#include "mlxn/ops/layout/slice.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

using Sizes = std::vector<uint64_t>;

// The element of the input that one of the output is, by their indices.
using Source = std::function<int64_t(const Sizes&)>;

Shape shape_of(const Sizes& sizes) {
  return Shape(ArrayRef<uint64_t>(sizes));
}

uint64_t product(const Sizes& sizes, size_t begin = 0) {
  uint64_t out = 1;
  for (size_t i = begin; i < sizes.size(); ++i) out *= sizes[i];
  return out;
}

Fill fill_of(Dtype dtype) {
  return info(dtype).is_float ? uniform(-2, 2) : integers(0, 255);
}

std::string text_of(const Sizes& sizes) {
  std::string out;
  for (uint64_t size : sizes) out += str(out.empty() ? "" : "x", size);
  return out;
}

void for_each_index(const Sizes& sizes, const std::function<void(const Sizes&)>& visit) {
  Sizes at(sizes.size(), 0);
  for (uint64_t n = product(sizes); n > 0; --n) {
    visit(at);
    for (size_t i = sizes.size(); i-- > 0;) {
      if (++at[i] < sizes[i]) break;
      at[i] = 0;
    }
  }
}

uint64_t flat(const Sizes& at, const Sizes& sizes) {
  uint64_t out = 0;
  for (size_t i = 0; i < sizes.size(); ++i) out = out * sizes[i] + at[i];
  return out;
}

struct Moved {
  Dtype from, to;
  Sizes input, output;
  std::string what;
  std::function<Status(const Call&)> encode;
  Source source;
  Use use = Use::kTest;
  std::vector<size_t> input_free = {}, output_free = {};  // dimensions of any size
};

// One input, one output that is all written.
OpCase moved_case(Moved m) {
  return {.variant = m.from == m.to ? text(m.from) : str(text(m.from), " to ", text(m.to)),
          .shape = str(text_of(m.input), " ", m.what),
          .tensors = {{m.from, shape_of(m.input), Role::kIn, fill_of(m.from), {m.input_free}},
                      {m.to, shape_of(m.output), Role::kOut, fill_of(m.to), {m.output_free}}},
          .encode = m.encode,
          .reference =
              [source = m.source, sizes = m.output](Values& v) {
                for_each_index(sizes, [&](const Sizes& at) {
                  const int64_t from = source(at);
                  if (from >= 0) v[1][flat(at, sizes)] = v[0][static_cast<size_t>(from)];
                });
              },
          .use = m.use};
}

constexpr Dtype kPlain[] = {kF32, kF16, kBf16, kU8, kU32, kI32};
constexpr std::pair<Dtype, Dtype> kConversions[] = {{kF32, kF16},  {kF32, kBf16}, {kF16, kF32},
                                                    {kF16, kBf16}, {kBf16, kF32}, {kBf16, kF16}};

// copy

struct Strided {
  std::string what;
  Sizes input, output;  // elements
  CopyNumbers sizes, from, to;
  uint64_t from_offset = 0, to_offset = 0;
};

CopyParams params_of(const Strided& s, const Call& call) {
  return {call[0], call[1], s.sizes, s.from, s.to, s.from_offset, s.to_offset};
}

OpCase copy_case(const Strided& s, Dtype from, Dtype to, Use use = Use::kTest) {
  OpCase out =
      moved_case({.from = from,
                  .to = to,
                  .input = s.input,
                  .output = s.output,
                  .what = s.what,
                  .encode = [s](const Call& c) { return copy(c.encoder, params_of(s, c)); },
                  .source = {},
                  .use = use});
  out.tensors[1].role = Role::kInOut;  // elements that nothing is copied to stay
  for (Tensor& tensor : out.tensors) tensor.accepts.sizes = {0};
  out.reference = [s](Values& v) {
    for_each_index(Sizes(s.sizes.begin(), s.sizes.end()), [&](const Sizes& at) {
      uint64_t source = s.from_offset, destination = s.to_offset;
      for (size_t i = 0; i < 4; ++i) source += at[i] * s.from[i], destination += at[i] * s.to[i];
      v[1][destination] = v[0][source];
    });
  };
  out.bytes = product(Sizes(s.sizes.begin(), s.sizes.end())) *
              (info(from).block_bytes + info(to).block_bytes);
  return out;
}

std::vector<Strided> strided() {
  return {
      {"one", {1}, {1}, {1, 1, 1, 1}, {}, {}},
      {"contiguous", {1000}, {1000}, {2, 5, 4, 25}, {500, 100, 25, 1}, {500, 100, 25, 1}},
      {"with offsets", {40}, {50}, {1, 1, 1, 30}, {0, 0, 0, 1}, {0, 0, 0, 1}, 10, 20},
      {"nothing", {4}, {4}, {1, 0, 1, 4}, {0, 4, 4, 1}, {0, 4, 4, 1}, 100, 100},
      {"every third to every second", {301}, {201}, {1, 1, 1, 100}, {0, 0, 0, 3}, {0, 0, 0, 2}, 1},
      {"rows apart", {70}, {90}, {1, 1, 7, 9}, {0, 0, 10, 1}, {0, 0, 13, 1}},
      {"repeated", {5}, {60}, {1, 3, 4, 5}, {0, 0, 0, 1}, {0, 20, 5, 1}},
      {"turned", {37 * 41}, {37 * 41}, {1, 1, 37, 41}, {0, 0, 1, 37}, {0, 0, 41, 1}},
      {"scattered", {37 * 41}, {37 * 41}, {1, 1, 37, 41}, {0, 0, 41, 1}, {0, 0, 1, 37}},
      {"all turned", {360}, {360}, {3, 4, 5, 6}, {1, 3, 12, 60}, {120, 30, 6, 1}},
      {"turned with gaps",
       {40 * 50},
       {64 * 33},
       {1, 1, 33, 40},
       {0, 0, 1, 50},
       {0, 0, 64, 1},
       3,
       5},
  };
}

OpCases copy_ops() {
  OpCases out = {"copy", "mlxn/ops/layout/copy.h", "strided, up to 4-D", {}, {}};
  for (const Strided& s : strided()) {
    for (Dtype dtype : kPlain) out.cases.push_back(copy_case(s, dtype, dtype));
    for (auto [from, to] : kConversions) out.cases.push_back(copy_case(s, from, to));
  }
  const uint64_t n = 2000;
  const CopyNumbers square = {1, 1, n, n}, rows = {0, 0, n, 1}, columns = {0, 0, 1, n};
  const Strided large = {"rows", {n * n}, {n * n}, square, rows, rows},
                turned = {"turned", {n * n}, {n * n}, square, columns, rows};
  out.cases.push_back(copy_case(large, kF32, kF32, Use::kBench));
  out.cases.push_back(copy_case(large, kBf16, kF32, Use::kBench));
  out.cases.push_back(copy_case(turned, kF32, kF32, Use::kBench));
  const auto wrong = [&](const std::string& what, const Strided& s, Dtype to, ErrorCode code,
                         std::string message) {
    out.wrong_calls.push_back({what,
                               {{kF32, shape_of(s.input)}, {to, shape_of(s.output)}},
                               [s](const Call& c) { return copy(c.encoder, params_of(s, c)); },
                               code,
                               std::move(message)});
  };
  wrong("source too short", {"", {8}, {9}, {1, 1, 1, 9}, {0, 0, 0, 1}, {0, 0, 0, 1}}, kF32,
        kShapeMismatch, "copy: source has 8 elements, expected more than 8 behind the first 0");
  wrong("destination too short", {"", {9}, {8}, {1, 1, 1, 4}, {0, 0, 0, 1}, {0, 0, 0, 1}, 0, 5},
        kF32, kShapeMismatch,
        "copy: destination has 8 elements, expected more than 3 behind the first 5");
  wrong("twice the same element", {"", {9}, {9}, {1, 1, 3, 3}, {0, 0, 3, 1}, {0, 0, 2, 1}}, kF32,
        kInvalidArgument,
        "copy: destination stride 2, expected more than 2, which other dimensions reach");
  wrong("repeated into one element", {"", {9}, {9}, {1, 1, 1, 3}, {0, 0, 0, 1}, {}}, kF32,
        kInvalidArgument, "copy: destination stride 0");
  wrong("strides that overflow", {"", {9}, {9}, {1, 1, 3, 3}, {0, 0, ~0ull, 1}, {0, 0, 3, 1}}, kF32,
        kOutOfRange, "copy: strides: ");
  wrong("to integers", {"", {9}, {9}, {1, 1, 1, 9}, {0, 0, 0, 1}, {0, 0, 0, 1}}, kI32,
        kDtypeMismatch, "copy: from f32 to i32, expected the same of 1, 2 or 4 bytes");
  return out;
}

// permute and transpose

struct Order {
  Sizes input;
  std::vector<uint32_t> axes;
};

OpCase permute_case(const Order& order, Dtype from, Dtype to, bool transposed, Use use) {
  Sizes output, strides(order.input.size());
  for (uint32_t axis : order.axes) output.push_back(order.input[axis]);
  for (size_t i = 0; i < strides.size(); ++i) strides[i] = product(order.input, i + 1);
  std::string axes;
  for (uint32_t axis : order.axes) axes += str(axis);
  return moved_case({.from = from,
                     .to = to,
                     .input = order.input,
                     .output = output,
                     .what = "by " + axes,
                     .encode =
                         [transposed, list = order.axes](const Call& c) {
                           if (transposed) return transpose(c.encoder, {c[0], c[1]});
                           return permute(c.encoder, {c[0], c[1], list});
                         },
                     .source =
                         [axes = order.axes, strides](const Sizes& at) {
                           uint64_t out = 0;
                           for (size_t i = 0; i < at.size(); ++i) out += at[i] * strides[axes[i]];
                           return static_cast<int64_t>(out);
                         },
                     .use = use});
}

void add_orders(OpCases& out, const std::vector<Order>& orders, bool transposed) {
  for (const Order& order : orders) {
    for (Dtype dtype : kPlain) {
      out.cases.push_back(permute_case(order, dtype, dtype, transposed, Use::kTest));
    }
    for (auto [from, to] : kConversions) {
      out.cases.push_back(permute_case(order, from, to, transposed, Use::kTest));
    }
  }
}

OpCases permute_ops() {
  OpCases out = {"permute", "mlxn/ops/layout/permute.h", "axes in another order", {}, {}};
  add_orders(out,
             {{{2, 3, 2}, {1, 0, 2}},
              {{1, 1, 1}, {2, 1, 0}},
              {{4, 33, 20}, {1, 0, 2}},
              {{3, 31, 33}, {2, 0, 1}},
              {{7, 2, 9, 11}, {3, 1, 0, 2}},
              {{2, 3, 5, 7}, {0, 2, 1, 3}}},
             false);
  out.cases.push_back(permute_case({{2455, 16, 256}, {1, 0, 2}}, kF32, kF32, false, Use::kBench));
  out.cases.push_back(permute_case({{2455, 2, 512}, {1, 0, 2}}, kBf16, kF32, false, Use::kBench));
  const auto wrong = [&](const std::string& what, const std::vector<uint32_t>& axes, Shape output,
                         ErrorCode code, std::string message) {
    out.wrong_calls.push_back(
        {what,
         {{kF32, {2, 3, 4}}, {kF32, output}},
         [axes](const Call& c) { return permute(c.encoder, {c[0], c[1], axes}); },
         code,
         std::move(message)});
  };
  wrong("an axis twice", {0, 0, 1}, {2, 2, 3}, kInvalidArgument,
        "permute: axes [0, 0, 1] for shape [2, 3, 4]");
  wrong("an axis too many", {0, 1, 2, 3}, {2, 3, 4}, kInvalidArgument,
        "permute: axes [0, 1, 2, 3]");
  wrong("output of another order", {1, 0, 2}, {2, 3, 4}, kShapeMismatch,
        "permute: output has shape [2, 3, 4], expected [3, 2, 4]");
  return out;
}

OpCases transpose_ops() {
  OpCases out = {"transpose", "mlxn/ops/layout/permute.h", "[.., a, b] to [.., b, a]", {}, {}};
  add_orders(out,
             {{{2, 3}, {1, 0}},
              {{1, 1, 1}, {0, 2, 1}},
              {{1, 40}, {1, 0}},
              {{31, 65}, {1, 0}},
              {{64, 32}, {1, 0}},
              {{2, 16, 64}, {0, 2, 1}},
              {{2, 3, 33, 7}, {0, 1, 3, 2}}},
             true);
  out.cases.push_back(permute_case({{4100, 2820}, {1, 0}}, kF32, kF32, true, Use::kBench));
  out.cases.push_back(permute_case({{16, 512, 256}, {0, 2, 1}}, kBf16, kBf16, true, Use::kBench));
  out.wrong_calls = {{"one dimension",
                      {{kF32, {6}}, {kF32, {6}}},
                      [](const Call& c) { return transpose(c.encoder, {c[0], c[1]}); },
                      kShapeMismatch,
                      "transpose: input has shape [6], expected two to four dimensions"}};
  return out;
}

// slice, concat, qkv_split

OpCase slice_case(const Sizes& input, uint32_t axis, uint64_t start, uint64_t length, Dtype from,
                  Dtype to, Use use = Use::kTest) {
  Sizes output = input;
  output[axis] = length;
  return moved_case(
      {.from = from,
       .to = to,
       .input = input,
       .output = output,
       .what = str(start, " to ", start + length, " of axis ", axis),
       .encode = [axis,
                  start](const Call& c) { return slice(c.encoder, {c[0], c[1], axis, start}); },
       .source =
           [=](Sizes at) {
             at[axis] += start;
             return static_cast<int64_t>(flat(at, input));
           },
       .use = use,
       .input_free = {axis},
       .output_free = {axis}});
}

OpCases slice_ops() {
  OpCases out = {"slice", "mlxn/ops/layout/slice.h", "a part along an axis", {}, {}};
  for (Dtype dtype : kPlain) {
    out.cases.push_back(slice_case({2, 3}, 1, 1, 2, dtype, dtype));
    out.cases.push_back(slice_case({5, 37}, 1, 36, 1, dtype, dtype));
    out.cases.push_back(slice_case({5, 37}, 0, 2, 3, dtype, dtype));
    out.cases.push_back(slice_case({3, 7, 4, 5}, 1, 2, 4, dtype, dtype));
  }
  for (auto [from, to] : kConversions) out.cases.push_back(slice_case({9, 70}, 1, 3, 60, from, to));
  out.cases.push_back(slice_case({4096, 5120}, 1, 512, 2560, kF32, kF32, Use::kBench));
  out.wrong_calls = {
      {"past the end",
       {{kF32, {4, 8}}, {kF32, {4, 4}}},
       [](const Call& c) { return slice(c.encoder, {c[0], c[1], 1, 5}); },
       kOutOfRange,
       "slice: output of 4 from 5 on, expected to end within 8"},
      {"no such axis",
       {{kF32, {4, 8}}, {kF32, {4, 4}}},
       [](const Call& c) { return slice(c.encoder, {c[0], c[1], 2, 0}); },
       kInvalidArgument,
       "slice: axis 2 of shape [4, 8]"},
  };
  return out;
}

// Tensors: two inputs and the output, which has some more.
OpCase concat_case(Sizes output, uint32_t axis, uint64_t start, uint64_t first, uint64_t second,
                   Dtype dtype, Use use = Use::kTest) {
  Sizes a = output, b = output;
  a[axis] = first, b[axis] = second;
  const Accepts any = {.sizes = {axis}};
  return {.variant = text(dtype),
          .shape = str(text_of(a), " and ", text_of(b), " in ", text_of(output), " from ", start),
          .tensors = {{dtype, shape_of(a), Role::kIn, fill_of(dtype), any},
                      {dtype, shape_of(b), Role::kIn, fill_of(dtype), any},
                      {dtype, shape_of(output), Role::kInOut, fill_of(dtype), any}},
          .encode =
              [axis, start](const Call& c) {
                const Buffer* inputs[] = {&c[0], &c[1]};
                return concat(c.encoder, {inputs, c[2], axis, start});
              },
          .reference =
              [=](Values& v) {
                for_each_index(output, [&](const Sizes& at) {
                  const uint64_t i = at[axis] - start;
                  if (at[axis] < start || i >= first + second) return;
                  Sizes from = at;
                  from[axis] = i < first ? i : i - first;
                  v[2][flat(at, output)] = i < first ? v[0][flat(from, a)] : v[1][flat(from, b)];
                });
              },
          .use = use};
}

OpCases concat_ops() {
  OpCases out = {"concat", "mlxn/ops/layout/slice.h", "side by side along an axis", {}, {}};
  for (Dtype dtype : kPlain) {
    out.cases.push_back(concat_case({2, 5}, 1, 0, 2, 3, dtype));
    out.cases.push_back(concat_case({7, 100}, 1, 11, 33, 1, dtype));
    out.cases.push_back(concat_case({9, 13}, 0, 1, 3, 4, dtype));
    out.cases.push_back(concat_case({2, 6, 3, 5}, 1, 0, 2, 3, dtype));
  }
  out.cases.push_back(concat_case({4096, 2560}, 1, 0, 2048, 512, kF32, Use::kBench));
  out.wrong_calls = {{"too long",
                      {{kF32, {4, 8}}, {kF32, {4, 4}}},
                      [](const Call& c) {
                        const Buffer* inputs[] = {&c[1]};
                        return concat(c.encoder, {inputs, c[0], 1, 5});
                      },
                      kOutOfRange,
                      "concat: input of 4 from 5 on, expected to end within 8"}};
  return out;
}

OpCase qkv_case(uint64_t tokens, Sizes widths, Dtype dtype, Use use = Use::kTest) {
  const uint64_t total = widths[0] + widths[1] + widths[2];
  OpCase out = {
      .variant = text(dtype),
      .shape = str(tokens, " of ", widths[0], "+", widths[1], "+", widths[2]),
      .tensors = {{dtype, {tokens, total}, Role::kIn, fill_of(dtype)}},
      .encode = [](const Call& c) { return qkv_split(c.encoder, {c[0], c[1], c[2], c[3]}); },
      .reference =
          [=](Values& v) {
            uint64_t column = 0;
            for (size_t part = 0; part < 3; column += widths[part++]) {
              for (uint64_t i = 0; i < v[part + 1].size(); ++i) {
                v[part + 1][i] = v[0][i / widths[part] * total + column + i % widths[part]];
              }
            }
          },
      .use = use};
  for (uint64_t width : widths) out.tensors.push_back({dtype, {tokens, width}, Role::kOut});
  return out;
}

OpCases qkv_ops() {
  OpCases out = {"qkv_split", "mlxn/ops/layout/slice.h", "rows of q, k and v", {}, {}};
  for (Dtype dtype : kPlain) {
    out.cases.push_back(qkv_case(4, {8, 8, 8}, dtype));
    out.cases.push_back(qkv_case(7, {16, 16, 96}, dtype));
    out.cases.push_back(qkv_case(1, {256, 256, 2048}, dtype));
  }
  out.cases.push_back(qkv_case(4106, {2, 1, 3}, kF32));
  out.cases.push_back(qkv_case(4096, {256, 256, 2048}, kF32, Use::kBench));
  out.wrong_calls = {{"parts that are too small",
                      {{kF32, {4, 12}}, {kF32, {4, 4}}, {kF32, {4, 4}}, {kF32, {4, 3}}},
                      [](const Call& c) { return qkv_split(c.encoder, {c[0], c[1], c[2], c[3]}); },
                      kShapeMismatch,
                      "qkv_split: rows of 12 elements, expected 11 of the parts"}};
  return out;
}

// repeat and pad

OpCase repeat_case(const Sizes& input, uint32_t axis, uint64_t times, bool interleaved, Dtype from,
                   Dtype to, Use use = Use::kTest) {
  Sizes output = input;
  output[axis] *= times;
  return moved_case(
      {.from = from,
       .to = to,
       .input = input,
       .output = output,
       .what = str(times, interleaved ? " times each along " : " times along ", axis),
       .encode = [axis, interleaved](
                     const Call& c) { return repeat(c.encoder, {c[0], c[1], axis, interleaved}); },
       .source =
           [=](Sizes at) {
             at[axis] = interleaved ? at[axis] / times : at[axis] % input[axis];
             return static_cast<int64_t>(flat(at, input));
           },
       .use = use});
}

OpCases repeat_ops() {
  OpCases out = {"repeat", "mlxn/ops/layout/repeat.h", "again along an axis", {}, {}};
  for (bool interleaved : {false, true}) {
    for (Dtype dtype : kPlain) {
      out.cases.push_back(repeat_case({2, 3, 2}, 1, 2, interleaved, dtype, dtype));
      out.cases.push_back(repeat_case({8, 4, 33}, 1, 3, interleaved, dtype, dtype));
      out.cases.push_back(repeat_case({5, 7}, 0, 4, interleaved, dtype, dtype));
      out.cases.push_back(repeat_case({3, 5}, 1, 1, interleaved, dtype, dtype));
    }
    out.cases.push_back(repeat_case({4106, 2, 1}, 1, 2, interleaved, kF32, kF32));
    out.cases.push_back(repeat_case({64, 5, 16}, 1, 2, interleaved, kBf16, kF32));
    out.cases.push_back(repeat_case({4096, 2, 128}, 1, 8, interleaved, kF32, kF32, Use::kBench));
  }
  out.wrong_calls = {{"no multiple",
                      {{kF32, {4, 3}}, {kF32, {4, 7}}},
                      [](const Call& c) { return repeat(c.encoder, {c[0], c[1], 1}); },
                      kShapeMismatch,
                      "repeat: output has 7 along the axis, expected a multiple of 3"}};
  return out;
}

OpCase pad_case(Sizes input, Sizes begin, Sizes output, double value, Dtype dtype,
                Use use = Use::kTest) {
  OpCase out =
      moved_case({.from = dtype,
                  .to = dtype,
                  .input = input,
                  .output = output,
                  .what = str("in ", text_of(output), " at ", text_of(begin), " with ", value),
                  .encode =
                      [begin, value](const Call& c) {
                        return pad(c.encoder, {c[0], c[1], begin, static_cast<float>(value)});
                      },
                  .source = {},
                  .use = use});
  for (size_t i = 0; i < output.size(); ++i) {
    out.tensors[0].accepts.sizes.push_back(i);
    out.tensors[1].accepts.sizes.push_back(i);
  }
  out.reference = [=](Values& v) {
    for_each_index(output, [&](const Sizes& at) {
      Sizes from = at;
      bool inside = true;
      for (size_t i = 0; i < at.size(); ++i) {
        inside = inside && at[i] >= begin[i] && at[i] < begin[i] + input[i];
        from[i] -= begin[i];
      }
      v[1][flat(at, output)] = inside ? v[0][flat(from, input)] : value;
    });
  };
  return out;
}

OpCases pad_ops() {
  OpCases out = {"pad", "mlxn/ops/layout/repeat.h", "a value around it", {}, {}};
  for (Dtype dtype : kPlain) {
    for (double value : {0.0, 3.0}) {
      out.cases.push_back(pad_case({2, 3}, {0, 0}, {2, 4}, value, dtype));
      out.cases.push_back(pad_case({5, 31}, {2, 1}, {9, 33}, value, dtype));
      out.cases.push_back(pad_case({2, 1, 3, 4}, {1, 0, 2, 0}, {4, 2, 5, 6}, value, dtype));
      out.cases.push_back(pad_case({7}, {300}, {400}, value, dtype));
    }
    if (!info(dtype).is_float) continue;
    out.cases.push_back(pad_case({3}, {1}, {5}, -INFINITY, dtype));
    out.cases.push_back(pad_case({3}, {1}, {5}, NAN, dtype));
  }
  out.cases.push_back(pad_case({3}, {1}, {5}, -1.1, kBf16));
  out.cases.push_back(pad_case({3}, {1}, {5}, 0.1, kF16));
  out.cases.push_back(pad_case({2000, 2000}, {24, 24}, {2048, 2048}, 0, kF32, Use::kBench));
  const Sizes begin = {2, 0};
  out.wrong_calls = {
      {"too large",
       {{kF32, {2, 3}}, {kF32, {3, 3}}},
       [begin](const Call& c) { return pad(c.encoder, {c[0], c[1], begin}); },
       kShapeMismatch,
       "pad: 2 elements from 2 on along axis 0, expected to end within 3"},
      {"a value that is no integer of 32 bits",
       {{kI32, {2}}, {kI32, {3}}},
       [](const Call& c) { return pad(c.encoder, {c[0], c[1], {}, NAN}); },
       kInvalidArgument,
       "pad: value nan, expected a number of 32 bits"},
  };
  return out;
}

}  // namespace

std::vector<OpCases> layout_cases() {
  return {copy_ops(),   permute_ops(), transpose_ops(), slice_ops(),
          concat_ops(), qkv_ops(),     repeat_ops(),    pad_ops()};
}

}  // namespace mlxn::cases
