#include "tests/tiers/pointer_maker.h"

namespace mlxn::tiers {

std::string PointerMaker::choice(const std::string& a, const std::string& b) {
  const Level level = random_.percent(70) ? Level::kLane : Level::kGroup;
  return Text{"(", maker_.condition(level), " ? ", a, " : ", b, ")"};
}

std::string PointerMaker::statement() {
  switch (random_.below(4)) {
    case 0: return on_constants();
    case 1: return on_buffers();
    default: return on_private();
  }
}

std::string PointerMaker::on_private() {
  switch (random_.below(7)) {
    case 0:
      return Text{
          "{ thread int* q = ", choice("pi", "pj"), "; q[",  index(),    " & 3u] = ", whole(), "; ",
          variable(),           " += q[",           index(), " & 3u]; }"};
    case 1: return Text{"*", choice("&i0", "&i1"), " = ", whole(), ";"};
    case 2:
      return Text{"{ thread int* q[3] = {pi, pj, &i1}; q[",
                  index(),
                  " & 1u][",
                  index(),
                  " & 3u] += ",
                  whole(),
                  "; *q[",
                  index(),
                  " % 3u] ^= 5; }"};
    case 3:
      return Text{variable(),  " = ",      choice("pi", "pj"), "[",  index(),
                  " & 3u] - ", function(), choice("pj", "pi"), ", ", index(),
                  ");"};
    case 4:
      return Text{
          "{ Cell c; if (", maker_.condition(Level::kLane), ") c.v = ", whole(), "; ", variable(),
          " = c.get(); }"};
    case 5: return Text{"*", choice("&f0", "&pf[1]"), " = ", maker_.make(Type::kFloat), ";"};
    default:
      return Text{"{ thread int* q = pi; for (int k = 0; k < 3; ++k) { *q += k; q = ",
                  choice("pj + k", "pi + k"), "; } *q = ", whole(), "; }"};
  }
}

std::string PointerMaker::on_buffers() {
  const std::string words = "(const device int*)out + gid * 8u + 4u";
  switch (random_.below(6)) {
    case 0: return Text{variable(), " = ", choice("in", words), "[", index(), " & 3u];"};
    case 1:
      return Text{variable(), " += ",  function(), choice("in + (gid & 1000u)", "in + 7"),
                  ", ",       index(), ");"};
    case 2:
      return Text{random_.pick(scope_.of(Type::kFloat)),
                  " = ",
                  choice("fin", "(const device float*)fout + gid * 8u"),
                  "[",
                  index(),
                  " & 7u];"};
    case 3:
      return Text{"*", choice("(out + gid * 8u + 4u)", "(out + gid * 8u + 5u)"), " = ",
                  maker_.make(Type::kUint), ";"};
    case 4:
      return Text{"*", choice("(device uint*)(fout + gid * 8u + 6u)", "(out + gid * 8u + 7u)"),
                  " = ", maker_.make(Type::kUint), ";"};
    // Values, not pointers: what an optimiser makes a choice of pointers from.
    default:
      return Text{
          variable(),
          " = ",
          choice(Text{"in[", index(), " & 1023u]"}, Text{"int(fin[", index(), " & 1023u])"}),
          " + ",
          choice("p.n[1]", "in[lane]"),
          ";"};
  }
}

std::string PointerMaker::on_constants() {
  switch (random_.below(4)) {
    case 0: return Text{variable(), " = kFlag ? ", whole(), " : ", whole(), ";"};
    case 1: return Text{variable(), " = fixed<", random_.pick({1, 2, 5}), ">(", whole(), ");"};
    case 2: return Text{variable(), " += is_function_constant_defined(kUnset) ? kUnset : kNumber;"};
    default:
      return Text{"if (kFlag && ", maker_.condition(Level::kLane), ") ", variable(), " = ", whole(),
                  " * kNumber;"};
  }
}

std::string PointerMaker::shared(bool own) {
  if (own) {
    switch (random_.below(5)) {
      case 0: return Text{"*", choice("&si[tid]", "&si[tid + n]"), " = ", whole(), ";"};
      case 1: return Text{"sc[tid].v = ", whole(), ";"};
      case 2: return Text{"sc[tid].f = ", maker_.make(Type::kFloat), ";"};
      case 3: return Text{"*", choice("&sc[tid].v", "&si[tid]"), " = ", whole(), ";"};
      default:
        return Text{variable(), " = sc[tid].get() + *", choice("(si + tid)", "(si + tid + n)"),
                    ";"};
    }
  }
  switch (random_.below(4)) {
    case 0: return Text{variable(), " = ", choice("si", "si + n"), "[", index(), " % n];"};
    case 1: return Text{variable(), " = sc[", index(), " % n].get();"};
    case 2: return Text{variable(), " = ", function(), choice("si", "si + n"), ", 0u);"};
    default:
      return Text{variable(), " = *",
                  choice(Text{"&sc[", index(), " % n].v"}, Text{"&si[", index(), " % n]"}), ";"};
  }
}

}  // namespace mlxn::tiers
