#include "tests/tiers/expression_maker.h"

namespace mlxn::tiers {

const char* name_of(Type type) {
  const char* names[] = {"int", "uint", "float", "half", "long", "float2", "float4"};
  return names[static_cast<int>(type)];
}

// The same for all threads, or neighbours for neighbours.
std::string ExpressionMaker::input(const char* buffer) {
  if (random_.percent(50)) return Text{buffer, "[lane + ", random_.below(900), "u]"};
  return Text{buffer, "[uint(", uniform(Level::kGroup), ") & 1023u]"};
}

std::string ExpressionMaker::index(uint32_t count) {
  if (scope_.wide) return Text{random_.below(count), "u"};
  return Text{make(Type::kUint, 1), count == 4 ? " & 3u" : " % 3u"};
}

std::string ExpressionMaker::leaf(Type type) {
  if (!scope_.of(type).empty() && random_.percent(60)) return random_.pick(scope_.of(type));
  const auto& counters = scope_.uniform[random_.below(3)];
  if (type == Type::kInt && !counters.empty() && random_.percent(20)) return random_.pick(counters);
  const int small = static_cast<int>(random_.below(17)) - 8;
  if (scope_.kernel && random_.percent(50)) {
    const uint32_t k = random_.below(4);
    switch (type) {
      case Type::kInt: {
        const std::string offset =
            scope_.wide ? input("in") : Text{"in[(gid + ", random_.below(900), "u) & 1023u]"};
        return random_.pick<std::string>({offset, Text{"p.n[", k, "]"}, "int(lane)", "int(tid)"});
      }
      case Type::kUint: return random_.pick<std::string>({"lane", "tid", "gid", "sg", "n"});
      case Type::kFloat:
        return random_.pick<std::string>(
            {Text{"p.s[", k, "]"},
             scope_.wide ? input("fin") : Text{"fin[(gid * ", k + 1, "u) & 1023u]"},
             "float(lane)"});
      case Type::kFloat4:
        if (scope_.wide) break;
        return Text{"*(const device float4*)(fin + ((gid & 63u) * 4u + ", k * 4, "u))"};
      default: break;
    }
  }
  switch (type) {
    case Type::kInt: return small < 0 ? Text{"(", small, ")"} : Text{small};
    case Type::kUint: return Text{random_.below(40), "u"};
    case Type::kLong: return Text{"long(", small, ")"};
    case Type::kFloat: return Text{"float(", small, ")"};
    case Type::kHalf: return Text{"half(", small, ")"};
    case Type::kFloat2: return Text{"float2(", small, ", ", random_.below(5), ")"};
    default: return Text{"float4(", small, ", 1, ", random_.below(5), ", -2)"};
  }
}

std::string ExpressionMaker::make(Type type, int depth) {
  if (depth <= 0 || random_.percent(20)) return leaf(type);
  if (may_operate(depth) && random_.percent(14)) return operation(type, depth - 1);
  if (random_.percent(10)) {
    return Text{"(",   condition(Level::kLane), " ? ", make(type, depth - 1),
                " : ", make(type, depth - 1),   ")"};
  }
  switch (type) {
    case Type::kInt:
    case Type::kUint:
    case Type::kLong: return integer(type, depth - 1);
    case Type::kFloat:
    case Type::kHalf: return floating(type, depth - 1);
    default: return vector(type, depth - 1);
  }
}

std::string ExpressionMaker::integer(Type type, int depth) {
  auto any = [&] { return make(type, depth); };
  const std::string cast = name_of(type);
  switch (random_.below(17)) {
    case 0: return Text{"(", any(), " - ", any(), ")"};
    case 1: return Text{"(", any(), " * ", any(), ")"};
    case 2: return Text{"(", any(), " & ", any(), ")"};
    case 3: return Text{"(", any(), " | ", any(), ")"};
    case 4: return Text{"(", any(), " ^ ", any(), ")"};
    case 5: return Text{"(", any(), " << ", random_.below(8), ")"};
    case 6: return Text{"(", any(), " >> (", any(), " & ", cast, "(7)))"};
    case 7:  // by zero too, where it is not written as a constant
      if (scope_.of(type).empty()) break;
      return Text{"(", any(), " / ", random_.pick(scope_.of(type)), ")"};
    case 8: return Text{"(", any(), " % (", any(), " | ", cast, "(1)))"};
    case 9: return Text{random_.pick({"min(", "max("}), any(), ", ", any(), ")"};
    case 10:  // of numbers out of range too, where they are not constants
      if (scope_.of(Type::kFloat).empty()) break;
      return Text{
          cast, "(", random_.pick(scope_.of(Type::kFloat)), " + ", make(Type::kFloat, depth), ")"};
    case 11:  // "+": `(int(int(x)))` would be the name of a type
      return Text{cast, "(+", make(random_.pick({Type::kInt, Type::kUint, Type::kLong}), depth),
                  ")"};
    case 12:
      if (type != Type::kLong) return Text{cast, "(popcount(", make(Type::kUint, depth), "))"};
      break;
    case 13:
      if (scope_.helper.empty() || calls_ <= 0) break;
      --calls_;
      return Text{cast,
                  "(",
                  scope_.helper,
                  "(",
                  make(Type::kInt, depth),
                  ", ",
                  make(Type::kFloat, depth),
                  ", pi, lane))"};
    case 14:
      if (scope_.kernel) return Text{cast, "(pi[", index(4), "])"};
      break;
    case 15:
      return Text{cast,
                  "(__msl_dot4(",
                  make(Type::kUint, depth),
                  ", ",
                  make(Type::kInt, depth),
                  ", ",
                  make(Type::kInt, depth),
                  "))"};
    default: break;
  }
  return Text{"(", any(), " + ", any(), ")"};
}

std::string ExpressionMaker::floating(Type type, int depth) {
  auto any = [&] { return make(type, depth); };
  const std::string cast = name_of(type);
  switch (random_.below(17)) {
    case 0: return Text{"(", any(), " - ", any(), ")"};
    case 1:
    case 2: return Text{"(", any(), " * ", any(), ")"};
    case 3: return Text{"(", any(), " / ", any(), ")"};
    case 4: return Text{random_.pick({"min(", "max("}), any(), ", ", any(), ")"};
    case 5: return Text{"fma(", any(), ", ", any(), ", ", any(), ")"};
    case 6: return Text{random_.pick({"fabs(", "floor(", "rint("}), any(), ")"};
    case 7: return Text{"sqrt(fabs(", any(), "))"};
    case 8: return Text{"clamp(", any(), ", ", cast, "(-4), ", cast, "(4))"};
    case 9: return Text{cast, "(", make(random_.pick({Type::kInt, Type::kUint}), depth), ")"};
    case 10:
      return Text{cast, "(", make(type == Type::kFloat ? Type::kHalf : Type::kFloat, depth), ")"};
    case 11:
      if (type == Type::kFloat)
        return Text{"dot(", make(Type::kFloat4, depth), ", ", make(Type::kFloat4, depth), ")"};
      break;
    case 12:
      if (type == Type::kFloat) return Text{make(Type::kFloat2, depth), random_.pick({".x", ".y"})};
      break;
    case 13:
      if (type == Type::kFloat && random_.percent(40)) {
        return Text{random_.pick({"exp(", "sin(", "cos(", "tanh("}), "clamp(", any(),
                    ", -9.0f, 9.0f))"};
      }
      break;
    case 14:
      if (scope_.kernel) return Text{cast, "(pf[", index(3), "])"};
      break;
    case 15: {  // of small numbers in both halves
      auto pair = [&] {
        return Text{"(as_type<uint>(", make(Type::kFloat, depth), ") & 0xffff0000u | 0x3fc0u)"};
      };
      const std::string a = pair(), b = pair();
      return Text{cast, "(__msl_dot2(", a, ", ", b, ", ", make(Type::kFloat, depth), "))"};
    }
    default: break;
  }
  return Text{"(", any(), " + ", any(), ")"};
}

std::string ExpressionMaker::vector(Type type, int depth) {
  auto any = [&] { return make(type, depth); };
  switch (random_.below(6)) {
    case 0: return Text{"(", any(), " - ", any(), ")"};
    case 1: return Text{"(", any(), " * ", any(), ")"};
    case 2: return Text{"(", any(), " * ", make(Type::kFloat, depth), ")"};
    case 3:
      if (type == Type::kFloat2) return Text{"(", make(Type::kFloat4, depth), ").zx"};
      return Text{"float4(", make(Type::kFloat2, depth), ", ", make(Type::kFloat, depth), ", 1)"};
    case 4:
      return Text{"clamp(", any(), ", ", name_of(type), "(-8.0f), ", name_of(type), "(8.0f))"};
    default: return Text{"(", any(), " + ", any(), ")"};
  }
}

bool ExpressionMaker::may_operate(int depth) {
  return scope_.cross_lane && operations_ > 0 && depth > 0;
}

std::string ExpressionMaker::operation(Type type, int depth) {
  --operations_;
  const std::string value = make(type, depth);
  const std::string lane = random_.percent(40)
                               ? Text{"ushort(", random_.below(34), ")"}
                               : Text{"ushort((", make(Type::kUint, depth), ") % 35u)"};
  const bool scalar = type != Type::kFloat2 && type != Type::kFloat4;
  const bool whole = type == Type::kInt || type == Type::kUint || type == Type::kLong;
  switch (random_.below(whole ? 16 : scalar ? 13 : 9)) {
    case 0: return Text{"simd_shuffle(", value, ", ", lane, ")"};
    case 1: return Text{"simd_shuffle_xor(", value, ", ushort(", 1 + random_.below(31), "))"};
    case 2: return Text{"simd_shuffle_up(", value, ", ushort(", random_.below(33), "))"};
    case 3: return Text{"simd_shuffle_down(", value, ", ushort(", random_.below(33), "))"};
    case 4: return Text{"simd_broadcast(", value, ", ushort(", random_.below(32), "))"};
    case 5: return Text{"simd_broadcast_first(", value, ")"};
    case 6: return Text{"simd_sum(", value, ")"};
    case 7: return Text{"simd_shuffle_rotate_down(", value, ", ushort(", random_.below(32), "))"};
    case 8: return Text{"simd_max(", value, ")"};
    case 9: return Text{"simd_min(", value, ")"};
    case 10: return Text{random_.pick({"simd_product(", "quad_sum("}), value, ")"};
    case 11: return Text{"simd_prefix_inclusive_", random_.pick({"sum(", "product("}), value, ")"};
    case 12: return Text{"simd_prefix_exclusive_", random_.pick({"sum(", "product("}), value, ")"};
    case 13: return Text{random_.pick({"simd_and(", "simd_or(", "simd_xor("}), value, ")"};
    case 14: return Text{name_of(type), "(ulong(simd_ballot(", condition(Level::kLane), ")))"};
    default: return Text{name_of(type), "(+ulong(simd_active_threads_mask()))"};
  }
}

std::string ExpressionMaker::uniform(Level level, int depth) {
  if (depth > 0 && random_.percent(40)) {
    return Text{"(", uniform(level, depth - 1), random_.pick({" + ", " * ", " ^ ", " - "}),
                uniform(level, depth - 1), ")"};
  }
  std::vector<std::string> leaves = {Text{random_.below(6)}, Text{"p.n[", random_.below(8), "]"}};
  if (scope_.kernel) leaves.push_back(random_.pick({"int(tg)", "int(n)"}));
  for (int i = 0; i <= static_cast<int>(level) && i < 2; ++i) {
    leaves.insert(leaves.end(), scope_.uniform[i].begin(), scope_.uniform[i].end());
  }
  if (level == Level::kSimd && scope_.kernel) leaves.push_back("int(sg)");
  return random_.pick(leaves);
}

std::string ExpressionMaker::vote() {
  --operations_;
  const std::string what = condition(Level::kLane);
  return Text{random_.pick({"simd_any(", "simd_all("}), what, ")"};
}

std::string ExpressionMaker::condition(Level level) {
  if (level == Level::kLane || !scope_.kernel) {
    if (scope_.cross_lane && operations_ > 0 && random_.percent(5)) return vote();
    if (scope_.cross_lane && random_.percent(3)) return "simd_is_first()";
    if (random_.percent(25)) {
      return Text{make(Type::kFloat, 1), random_.pick({" < ", " > ", " <= "}),
                  make(Type::kFloat, 1)};
    }
    if (scope_.kernel && random_.percent(35)) {
      return random_.pick<std::string>({Text{"lane < ", random_.below(33), "u"},
                                        "(lane & 1u) != 0u",
                                        Text{"tid % 3u == ", random_.below(3), "u"},
                                        Text{"gid > ", random_.below(90), "u"}, "lane == 0u"});
    }
    return Text{"(",  make(Type::kInt, 1),           " & ", 1 + random_.below(6),
                ") ", random_.pick({"!= 0", "== 0"})};
  }
  if (level == Level::kSimd) {
    if (scope_.cross_lane && operations_ > 0 && random_.percent(25)) return vote();
    if (scope_.cross_lane && operations_ > 0 && random_.percent(10)) {
      --operations_;
      return Text{"simd_max(", make(Type::kInt, 1), ") > ", random_.below(9)};
    }
    if (random_.percent(30)) return random_.pick({"sg == 0u", "sg + 1u < nsg", "(sg & 1u) != 0u"});
  }
  return Text{
      "((", uniform(level), ") & ", 1 + random_.below(3), ") ", random_.pick({"!= 0", "== 0"})};
}

std::string ExpressionMaker::trip_count(Level level) {
  if (level == Level::kLane) {
    return random_.pick<std::string>({Text{"((", make(Type::kInt, 1), ") & 3)"},
                                      scope_.kernel ? "int(lane & 3u)" : "2",
                                      scope_.kernel ? "int(tid % 4u)" : "3"});
  }
  if (scope_.wide) return Text{"(p.n[", random_.below(8), "] + ", random_.below(3), ")"};
  if (random_.percent(30)) return Text{1 + random_.below(3)};
  return Text{"((", uniform(level), ") & 3)"};
}

}  // namespace mlxn::tiers
