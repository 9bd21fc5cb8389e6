#include "tests/tiers/kernel_generator.h"

#include <array>
#include <utility>

#include "tests/tiers/expression_maker.h"
#include "tests/tiers/pointer_maker.h"
#include "tests/tiers/random.h"

namespace mlxn::tiers {
namespace {

constexpr const char* kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
constexpr const char* kSimdBarrier = "simdgroup_barrier(mem_flags::mem_threadgroup);";

// The shared arrays: ints with two slots for each thread and cells with one, floats with one.
enum class Mode { kOwn, kRead };
using Modes = std::array<Mode, 2>;

struct Loop {
  Level level = Level::kLane;  // of leaving it
  Modes entry = {};
  bool may_break = true;  // false within a switch
};

// Where a statement stands.
struct Place {
  Level flow = Level::kGroup;
  // The live lanes of a simdgroup come here together, so memory may be exchanged within it.
  bool lockstep = true;
  int depth = 0;
};

Level higher(Level a, Level b) {
  return a > b ? a : b;
}

class Generator {
 public:
  Generator(const std::string& name, uint64_t seed, const GeneratorOptions& options)
      : random_(seed),
        maker_(random_, scope_),
        pointers_(random_, scope_, maker_),
        options_(options) {
    program_.name = name;
    program_.seed = seed;
    program_.flat = options.flat;
  }

  Program run() {
    scope_.cross_lane = options_.cross_lane;
    if (!options_.wide && random_.percent(50)) add_helper();
    if (!program_.helpers.empty() && random_.percent(40)) add_helper();
    const std::string helper = std::exchange(scope_, {}).helper;
    scope_.helper = helper;
    scope_.kernel = true;
    scope_.cross_lane = options_.cross_lane;
    scope_.wide = options_.wide;
    maker_.set_budget(3 + random_.below(8), 2);
    write_frame();
    program_.body = statements(Place{}, 2 + random_.below(5));
    if (options_.wide) program_.body.push_back(loop(Place{}));
    return std::move(program_);
  }

 private:
  void add_helper();
  void write_frame();
  void declare(Type type, uint32_t count, const char* prefix);

  std::vector<Node> statements(const Place& place, uint32_t count);
  std::vector<Node> branch(const Place& place, uint32_t count);
  Node statement(const Place& place);
  Node assignment(const Place& place);
  Node memory_access(const Place& place);
  Node if_statement(const Place& place);
  Node switch_statement(const Place& place);
  Node loop(const Place& place);
  Node jump(const Place& place);
  Node early_return(const Place& place);
  Node barrier();
  Node group_phrase();
  Node simd_phrase(const Place& place);
  Node matrix_phrase();
  Node matrices_by_lane();
  Node leaving_phrase();
  Node access_phrase();
  Node blocks_phrase();

  // Word `number`, a text, of a thread's eight: of 16 threads one after the other, or side by side.
  std::string word(const char* buffer, const std::string& number) const {
    return options_.wide ? Text{"(", buffer, " + gid)[ulong(", number, ") * total]"}
                         : Text{buffer, "[gid * 8u + ", number, "]"};
  }

  // A level of decision that is possible at `flow`.
  Level decide(Level flow) {
    const Level wish = random_.pick({Level::kGroup, Level::kSimd, Level::kLane, Level::kLane});
    return higher(wish, flow);
  }
  Node restore(const Modes& modes) {
    modes_ = modes;
    return Node::line(kBarrier);
  }

  Random random_;
  Scope scope_;
  ExpressionMaker maker_;
  PointerMaker pointers_;
  GeneratorOptions options_;
  Program program_;
  Modes modes_ = {};
  std::vector<Loop> loops_;
  std::string result_;  // what a return gives back: empty in a kernel
  uint32_t loop_count_ = 0;
};

void Generator::declare(Type type, uint32_t count, const char* prefix) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i) {
    names.push_back(Text{prefix, i});
    program_.setup.push_back(
        Text{name_of(type), " ", names.back(), " = ", maker_.make(type, 1), ";"});
  }
  scope_.variables[static_cast<int>(type)] = names;
}

// Everything around the body: ids, shared memory, variables, and the results at the end.
void Generator::write_frame() {
  const bool flat = options_.flat;
  program_.signature = Text{
      "kernel void ",
      program_.name,
      "(device uint* out [[buffer(0)]], device float* fout [[buffer(1)]],\n"
      "    device atomic_uint* acc [[buffer(2)]], const device int* in [[buffer(3)]],\n"
      "    const device float* fin [[buffer(4)]], constant Parameters& p [[buffer(5)]],\n",
      options_.cross_lane ? "    threadgroup float* sf [[threadgroup(0)]],\n" : "",
      flat ? "    uint gid [[thread_position_in_grid]], uint n [[threads_per_threadgroup]],\n"
             "    uint total [[threads_per_grid]],\n"
             "    uint tg [[threadgroup_position_in_grid]], uint tid "
             "[[thread_position_in_threadgroup]],\n"
           : "    uint3 gid3 [[thread_position_in_grid]], uint3 grid [[threads_per_grid]],\n"
             "    uint3 n3 [[threads_per_threadgroup]], uint3 tg3 "
             "[[threadgroup_position_in_grid]],\n"
             "    uint3 groups [[threadgroups_per_grid]], uint tid "
             "[[thread_index_in_threadgroup]],\n",
      "    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],\n"
      "    uint nsg [[simdgroups_per_threadgroup]])"};
  auto& setup = program_.setup;
  if (!flat) {
    setup.push_back("uint gid = (gid3.z * grid.y + gid3.y) * grid.x + gid3.x;");
    setup.push_back("uint n = n3.x * n3.y * n3.z;");
    setup.push_back("uint total = grid.x * grid.y * grid.z;");
    setup.push_back("uint tg = (tg3.z * groups.y + tg3.y) * groups.x + tg3.x;");
  }
  setup.push_back("int pi[4], pj[4]; float pf[3];");
  setup.push_back("for (int k = 0; k < 4; ++k) pi[k] = in[(gid + uint(k) * 7u) & 1023u];");
  setup.push_back("for (int k = 0; k < 4; ++k) pj[k] = k - 1;");
  setup.push_back("for (int k = 0; k < 3; ++k) pf[k] = fin[(gid * 3u + uint(k)) & 1023u];");
  const std::string helper = std::exchange(scope_.helper, "");
  scope_.cross_lane = false;  // variables begin plainly
  declare(Type::kInt, 2 + random_.below(2), "i");
  declare(Type::kUint, 1 + random_.below(2), "u");
  declare(Type::kFloat, 2 + random_.below(2), "f");
  if (random_.percent(40)) declare(Type::kHalf, 1, "h");
  if (random_.percent(40)) declare(Type::kLong, 1, "l");
  if (random_.percent(40)) declare(Type::kFloat2, 1, "w");
  if (random_.percent(50)) declare(Type::kFloat4, 1, "v");
  scope_.helper = helper;
  scope_.cross_lane = options_.cross_lane;
  for (const char* name : {"g0", "g1"}) {
    setup.push_back(Text{"int ", name, " = ", maker_.uniform(Level::kGroup), ";"});
    scope_.uniform[0].push_back(name);
  }
  if (options_.cross_lane) {
    setup.push_back("threadgroup int si[2048]; threadgroup float sr[32];");
    setup.push_back("threadgroup atomic_uint sa; threadgroup Cell sc[1024];");
    setup.push_back("si[tid] = i0; si[tid + n] = i1; sf[tid] = f0;");
    setup.push_back("sc[tid].v = i1; sc[tid].f = f1;");
    setup.push_back("if (tid < nsg) sr[tid] = f1;");
    setup.push_back("if (tid == 0u) atomic_store_explicit(&sa, 0u, memory_order_relaxed);");
    setup.push_back(kBarrier);
  }
  auto& finish = program_.finish;
  auto put = [&](const char* buffer, const char* number, const char* how, const char* value) {
    finish.push_back(Text{word(buffer, number), how, value, ";"});
  };
  put("out", "0u", " = ", "uint(i0)");
  put("out", "1u", " = ", "uint(i1)");
  put("out", "2u", " = ", "u0");
  put("out", "3u", " = ", "uint(g0 + g1)");
  finish.push_back(Text{"for (int k = 0; k < 4; ++k) ", word("out", "4u"),
                        " += uint(pi[k] * (k + 1) - pj[k]);"});
  put("fout", "0u", " = ", "f0");
  put("fout", "1u", " = ", "f1");
  finish.push_back(Text{"for (int k = 0; k < 3; ++k) ", word("fout", "2u"), " += pf[k];"});
  if (!scope_.of(Type::kHalf).empty()) put("fout", "3u", " = ", "float(h0)");
  if (!scope_.of(Type::kFloat2).empty()) put("fout", "4u", " = ", "w0.x + w0.y");
  if (!scope_.of(Type::kFloat4).empty()) put("fout", "5u", " = ", "v0.x - v0.y * v0.z + v0.w");
  if (!scope_.of(Type::kLong).empty()) {
    put("out", "5u", " = ", "uint(l0)");
    put("out", "6u", " = ", "uint(l0 >> 32)");
  }
  if (options_.cross_lane) finish.push_back("out[gid * 8u + 7u] ^= uint(si[tid] + sc[tid].get());");
}

void Generator::add_helper() {
  const std::string name = Text{program_.name, "_h", program_.helpers.size()};
  const std::string inner = scope_.helper;
  scope_ = {};
  scope_.cross_lane = options_.cross_lane && random_.percent(50);
  scope_.helper = inner;
  scope_.variables[static_cast<int>(Type::kInt)] = {"a", "x"};
  scope_.variables[static_cast<int>(Type::kFloat)] = {"b", "y"};
  scope_.variables[static_cast<int>(Type::kUint)] = {"lane"};
  maker_.set_budget(3, 1);
  Helper helper;
  helper.signature = Text{"static int ", name, "(int a, float b, thread int* pi, uint lane)"};
  helper.setup = "int x = a; float y = b;";
  result_ = maker_.make(Type::kInt, 1);
  helper.body = statements({Level::kLane, false, 1}, 1 + random_.below(3));
  result_.clear();
  helper.result = Text{"return ", maker_.make(Type::kInt, 1), ";"};
  program_.helpers.push_back(std::move(helper));
  scope_.helper = name;
}

std::vector<Node> Generator::statements(const Place& place, uint32_t count) {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < count; ++i) nodes.push_back(statement(place));
  return nodes;
}

// A block that ends with the shared arrays in the state it found.
std::vector<Node> Generator::branch(const Place& place, uint32_t count) {
  const Modes entry = modes_;
  std::vector<Node> nodes = statements(place, count);
  if (modes_ != entry) nodes.push_back(restore(entry));
  return nodes;
}

Node Generator::statement(const Place& place) {
  const bool inner = place.depth < 3;
  const bool group = options_.cross_lane && place.flow == Level::kGroup && scope_.kernel;
  const uint32_t kind = random_.below(100);
  if (kind < 12 && inner) return if_statement(place);
  if (kind < 22 && inner && !(options_.wide && place.flow == Level::kLane)) return loop(place);
  if (kind < 26 && inner) return switch_statement(place);
  if (kind < 30 && !loops_.empty()) return jump(place);
  if (kind < 33) return early_return(place);
  if (kind < 45 && group) return barrier();
  if (kind < 50 && group) return group_phrase();
  if (kind < 55 && place.lockstep && options_.cross_lane) return simd_phrase(place);
  if (kind < 59 && options_.cross_lane && scope_.kernel) {
    const uint32_t phrase = random_.below(10);
    return phrase < 3 ? matrix_phrase() : phrase < 7 ? matrices_by_lane() : leaving_phrase();
  }
  if (kind < 62 && scope_.kernel && !options_.wide) return access_phrase();
  if (kind < 75 && scope_.kernel) return memory_access(place);
  if (kind < 84 && scope_.kernel && !options_.wide) return Node::line(pointers_.statement());
  return assignment(place);
}

Node Generator::assignment(const Place& place) {
  if (place.flow == Level::kGroup && scope_.kernel && random_.percent(15)) {
    return Node::line(
        Text{random_.pick({"g0", "g1"}), " = ", maker_.uniform(Level::kGroup, 2), ";"});
  }
  if (random_.percent(12)) {
    if (scope_.kernel && random_.percent(40)) {
      return Node::line(Text{"pf[", maker_.index(3), "] = ", maker_.make(Type::kFloat), ";"});
    }
    return Node::line(Text{"pi[", maker_.index(4), "] = ", maker_.make(Type::kInt), ";"});
  }
  for (;;) {
    const Type type = static_cast<Type>(random_.below(7));
    if (scope_.of(type).empty()) continue;
    const std::string& name = random_.pick(scope_.of(type));
    if (name == "lane") continue;
    const bool small = type == Type::kFloat2 || type == Type::kFloat4;
    return Node::line(Text{name, random_.percent(20) ? " += " : " = ",
                           maker_.make(type, small || random_.percent(60) ? 2 : 3), ";"});
  }
}

Node Generator::memory_access(const Place& place) {
  const uint32_t kind = random_.below(10);
  if (kind < 3) {  // the thread's own words, in places the compiler knows and in others
    auto some_word = [&] {
      return random_.percent(50) || (options_.wide && !loops_.empty())
                 ? word("out", Text{4 + random_.below(4), "u"})
                 : word("out", Text{"4u + (", maker_.make(Type::kUint, 1), " & 3u)"});
    };
    const std::string written = some_word(), read = some_word();
    return Node::line(Text{written, " = ", maker_.make(Type::kUint), " + ", read, ";"});
  }
  if (kind < 5 && !options_.wide) {
    const uint32_t slot = random_.below(kCounters);  // each slot knows one operation
    const char* operations[] = {"add", "or", "xor", "and", "max", "min"};
    return Node::line(Text{"atomic_fetch_", operations[slot % 6], "_explicit(acc + ", slot, ", ",
                           maker_.make(Type::kUint), ", memory_order_relaxed);"});
  }
  if (!options_.cross_lane) return assignment(place);
  if (random_.percent(25)) return Node::line(pointers_.shared(/*own=*/modes_[0] == Mode::kOwn));
  const bool ints = random_.percent(60);
  const std::string own = ints ? random_.pick({"si[tid]", "si[tid + n]"}) : "sf[tid]";
  const Type type = ints ? Type::kInt : Type::kFloat;
  if (modes_[ints ? 0 : 1] == Mode::kOwn) {
    if (random_.percent(70)) return Node::line(Text{own, " = ", maker_.make(type), ";"});
    return Node::line(Text{random_.pick(scope_.of(type)), " = ", own, ";"});
  }
  if (place.flow == Level::kGroup && ints && random_.percent(30)) {
    return Node::line(Text{"g1 = si[uint(", maker_.uniform(Level::kGroup), ") % n] & 7;"});
  }
  return Node::line(Text{random_.pick(scope_.of(type)), " = ", ints ? "si[" : "sf[",
                         maker_.make(Type::kUint), ints ? " % (2u * n)];" : " % n];"});
}

Node Generator::if_statement(const Place& place) {
  const Level level = decide(place.flow);
  const std::string head = Text{"if (", maker_.condition(level), ")"};
  const Place inner = {level, place.lockstep && level != Level::kLane, place.depth + 1};
  std::vector<Node> body = branch(inner, 1 + random_.below(3)), otherwise;
  if (random_.percent(40)) otherwise = branch(inner, 1 + random_.below(2));
  return Node::block(head, std::move(body), std::move(otherwise));
}

Node Generator::switch_statement(const Place& place) {
  const Level level = decide(place.flow);
  const std::string value =
      level == Level::kLane ? maker_.make(Type::kInt, 1) : maker_.uniform(level);
  const Place inner = {level, place.lockstep && level != Level::kLane, place.depth + 1};
  const bool could_break = !loops_.empty() && loops_.back().may_break;
  if (!loops_.empty()) loops_.back().may_break = false;
  std::vector<Node> cases;
  for (uint32_t i = 0; i < 2 + random_.below(2); ++i) {
    cases.push_back(
        Node::block(Text{"case ", i, ":"}, branch(inner, 1 + random_.below(2)), {}, "break;"));
  }
  if (!loops_.empty()) loops_.back().may_break = could_break;
  return Node::block(Text{"switch (", value, " & 3)"}, std::move(cases));
}

Node Generator::loop(const Place& place) {
  const Level level = options_.wide ? Level::kGroup : decide(place.flow);
  // Lanes that go on early with the next turn leave the lockstep of the whole loop.
  const bool skips = level != Level::kLane && scope_.kernel && random_.percent(15);
  const bool lockstep = place.lockstep && level != Level::kLane && !skips && random_.percent(50);
  const Place inner = {level, lockstep, place.depth + 1};
  const std::string counter = Text{"L", loop_count_++};
  const std::string bound = maker_.trip_count(level);
  auto& counters = scope_.uniform[static_cast<int>(level)];
  loops_.push_back({level, modes_, true});
  counters.push_back(counter);
  std::vector<Node> body = branch(inner, 1 + random_.below(3));
  if (skips) {
    body.push_back(
        Node::block(Text{"if (", maker_.condition(Level::kLane), ")"}, {Node::line("continue;")}));
    for (Node& node : branch({Level::kLane, false, place.depth + 2}, 1 + random_.below(2)))
      body.push_back(std::move(node));
  }
  // Without it, lanes with nothing more to wait for would start the next turn before the others.
  if (lockstep && options_.cross_lane) body.push_back(Node::line(kSimdBarrier));
  counters.pop_back();
  loops_.pop_back();
  if (random_.percent(20)) {  // one turn at least
    return Node::block("", {Node::line(Text{"int ", counter, " = 0;"}),
                            Node::block("do", std::move(body), {},
                                        Text{"while (++", counter, " < ", bound, ");"})});
  }
  return Node::block(
      Text{"for (int ", counter, " = 0; ", counter, " < ", bound, "; ++", counter, ")"},
      std::move(body));
}

// break or continue, for the threads that the loop lets go at this place.
Node Generator::jump(const Place& place) {
  const Loop& loop = loops_.back();
  if (place.flow > loop.level || !loop.may_break) return assignment(place);
  std::vector<Node> body;
  const std::string condition = maker_.condition(loop.level);
  if (modes_ != loop.entry) body.push_back(Node::line(kBarrier));
  body.push_back(Node::line(random_.percent(60) ? "break;" : "continue;"));
  return Node::block(Text{"if (", condition, ")"}, std::move(body));
}

Node Generator::early_return(const Place& place) {
  if (options_.wide && place.depth > 0) return assignment(place);
  const Level level = decide(place.flow);
  std::vector<Node> body;
  if (scope_.kernel && random_.percent(70)) {
    body.push_back(Node::line(Text{word("out", "6u"), " = ", maker_.make(Type::kUint), ";"}));
  }
  std::string condition = maker_.condition(level);
  if (scope_.kernel && level == Level::kLane) {  // most threads should live on
    condition = Text{"(", condition, ") && (gid % 5u) == 2u"};
  }
  body.push_back(Node::line(result_.empty() ? "return;" : Text{"return ", result_, ";"}));
  return Node::block(Text{"if (", condition, ")"}, std::move(body));
}

Node Generator::barrier() {
  for (Mode& mode : modes_) mode = random_.percent(50) ? Mode::kRead : Mode::kOwn;
  return Node::line(kBarrier);
}

// Whole exchanges over the threadgroup, as real kernels write them.
Node Generator::group_phrase() {
  std::vector<Node> body;
  auto add = [&](std::string text) { body.push_back(Node::line(std::move(text))); };
  const std::string f = random_.pick(scope_.of(Type::kFloat));
  if (random_.percent(60)) {
    const std::string operation = random_.pick({"simd_sum", "simd_max", "simd_min"});
    add(Text{"float part = ", operation, "(", maker_.make(Type::kFloat), ");"});
    add("if (lane == 0u) sr[sg] = part;");
    add(kBarrier);
    if (random_.percent(50)) {
      add("float total = 0.0f;");
      add("for (uint k = 0u; k < nsg; ++k) total += sr[k];");
      add(Text{f, " = total;"});
    } else {
      add(Text{f, " = ", operation, "(lane < nsg ? sr[lane] : 0.0f);"});
    }
  } else {
    add(Text{"atomic_fetch_add_explicit(&sa, ", maker_.make(Type::kUint),
             ", memory_order_relaxed);"});
    add(kBarrier);
    add("g0 = int(atomic_load_explicit(&sa, memory_order_relaxed)) & 15;");
  }
  add(kBarrier);
  return Node::block("", std::move(body));
}

// Lanes of one simdgroup read each other's slots between two simdgroup barriers.
Node Generator::simd_phrase(const Place& place) {
  if (modes_[0] != Mode::kOwn || !scope_.kernel) return assignment(place);
  std::vector<Node> body;
  auto add = [&](std::string text) { body.push_back(Node::line(std::move(text))); };
  add(Text{"si[tid] = ", maker_.make(Type::kInt), ";"});
  add(kSimdBarrier);
  add(Text{random_.pick(scope_.of(Type::kInt)), " = si[min(tid - lane + (lane ^ ",
           1 + random_.below(31), "u), n - 1u)];"});
  add(kSimdBarrier);
  return Node::block("", std::move(body));
}

// One line, since dropping a part would leave matrices without a value.
Node Generator::matrix_phrase() {
  const std::string load = "simdgroup_load(";
  std::string text = "{ simdgroup_float8x8 ma, mb, mc; ";
  text += Text{load, "ma, fin + ", random_.below(14) * 64, ", 8); "};
  text += Text{load, "mb, fin + ", random_.below(14) * 64, ", 8); "};
  text += "mc = make_filled_simdgroup_matrix<float, 8, 8>(1.0f); ";
  text += "simdgroup_multiply_accumulate(mc, ma, mb, mc); ";
  if (random_.percent(25)) {  // by some lanes, of what all have, once or in rounds
    const bool once = random_.percent(50);
    text += once ? Text{"if (", maker_.condition(Level::kLane), ") "}
                 : Text{"for (int k = 0; k < ", maker_.trip_count(Level::kLane), "; ++k) "};
  }
  const std::string last = random_.pick({"mb", "mc"}), other = last == "mb" ? "mc" : "mb";
  text += Text{"simdgroup_multiply_accumulate(", last, ", ", other, ", ma, ", last, "); "};
  text += Text{random_.pick(scope_.of(Type::kFloat)),
               " = ",
               last,
               ".thread_elements()[",
               random_.below(2),
               "]; }"};
  return Node::line(text);
}

// Sums of products whose operands every lane fetches by itself, as they lie or turned.
Node Generator::matrices_by_lane() {
  const bool turned = random_.percent(30), apart = random_.percent(20);
  const uint32_t rows = 1 + random_.below(2), columns = 1 + random_.below(3);
  std::string text =
      "{ short mr = short((lane >> 4) * 4u + (lane >> 1) % 4u), "
      "mk = short((lane >> 3) % 2u * 4u + lane % 2u * 2u); ";
  text += Text{"simdgroup_float8x8 ms[", rows, "][", columns, "]; "};
  text += Text{"for (short i = 0; i < ",
               rows,
               "; ++i) for (short j = 0; j < ",
               columns,
               "; ++j) ms[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(",
               maker_.make(Type::kFloat, 0),
               "); "};
  text += Text{"for (short k = 0; k < ",
               8 + 8 * random_.below(2),
               "; k += 8) for (short i = 0; i < ",
               rows,
               "; ++i) for (short j = 0; j < ",
               columns,
               "; ++j) { "};
  text += Text{"const device float* x = fin + ", random_.below(300),
               " + (mr + 8 * i) * 24 + mk + k", apart ? " + (lane == 9u ? 1 : 0)" : "", "; "};
  text += Text{"const device float* y = fin + ", random_.below(300),
               turned ? " + (mk + 8 * j) * 20 + mr + k; " : " + (mr + k) * 28 + mk + 8 * j; "};
  text += "simdgroup_float8x8 ma, mb; ";
  text += "ma.thread_elements()[0] = x[0]; ma.thread_elements()[1] = x[1]; ";
  text +=
      Text{"mb.thread_elements()[0] = y[0]; mb.thread_elements()[1] = y[", turned ? 20 : 1, "]; "};
  text += "simdgroup_multiply_accumulate(ms[i][j], ma, mb, ms[i][j]); } ";
  text += Text{random_.pick(scope_.of(Type::kFloat)), " = 0.0f"};
  for (uint32_t i = 0; i < rows * columns; ++i)  // one that nobody looks at is not made
    text += Text{" + ms[",         i / columns, "][",  i % columns, "].thread_elements()[",
                 random_.below(2), "] * ",      i + 1, ".0f"};
  text += "; }";
  return Node::line(text);
}

// Lanes leave a loop in different rounds, and what they bring goes straight into an operation, a
// decision or another variable: a counter that is the same in the loop differs behind it.
Node Generator::leaving_phrase() {
  const std::string f = random_.pick(scope_.of(Type::kFloat)),
                    i = random_.pick(scope_.of(Type::kInt)),
                    reduce = random_.pick({"simd_sum", "simd_product", "simd_min", "simd_max"});
  std::string text = Text{"{ int k = 0, last; do { last = k * ", 1 + random_.below(5), " + ",
                          maker_.uniform(Level::kGroup), "; "};
  text += Text{f, " += fin[(gid * ", random_.pick({"1u", "9u"}), " + uint(k)) & 1023u]; "};
  if (random_.percent(30)) text += Text{"if (", maker_.condition(Level::kLane), ") break; "};
  text += Text{"} while (++k < ", maker_.trip_count(Level::kLane), "); "};
  switch (random_.below(6)) {
    case 0: return Node::line(text + Text{f, " = ", reduce, "(", f, "); }"});
    case 1: return Node::line(text + Text{i, " = ", reduce, "(last); }"});
    case 2: return Node::line(text + Text{f, " = ", reduce, "(", f, "); ", i, " = last + k; }"});
    case 3: return Node::line(text + Text{"if (last & 1) ", f, " = ", reduce, "(", f, "); }"});
    case 4:
      return Node::line(text + Text{i, " = simd_shuffle(", i, ", ushort(last & 31)) + last; }"});
    default:  // a loop of its own that lanes enter with what they bring
      return Node::line(
          text + Text{"for (int j = 0; j < (last & 3); ++j) ", f, " = ", reduce, "(", f, "); }"});
  }
}

// Ways to go through memory that the compiler has code of its own for.
Node Generator::access_phrase() {
  const std::string f = random_.pick(scope_.of(Type::kFloat));
  switch (random_.below(4)) {
    case 3: return blocks_phrase();
    case 0: {  // two fields; threads lie in a row, or every other one, or anyhow
      const std::string stride = random_.pick({"1u", "2u", "3u", "uint(g0 & 3)"});
      return Node::line(Text{"{ float2 z = ((const device float2*)fin)[(gid * ", stride, " + ",
                             maker_.uniform(Level::kGroup), ") & 511u]; ", f, " = z.x - z.y; }"});
    }
    case 1:  // a search
      return Node::line(Text{"{ int a = 0, b = 1 + int(uint(", maker_.make(Type::kUint, 1),
                             ") & 511u); while (a < b) { int m = (a + b) / 2; if (fin[m] < ", f,
                             ") a = m + 1; else b = m; } ", random_.pick(scope_.of(Type::kInt)),
                             " = a; }"});
    default: {  // a pointer that all threads move along
      const std::string together = options_.cross_lane && random_.percent(50)
                                       ? Text{" ", f, " = simd_max(", f, ");"}
                                       : std::string();
      return Node::line(Text{"{ const device float* q = fin + lane * ", 1 + random_.below(3),
                             "u; for (int k = 0; k < (", maker_.uniform(Level::kGroup),
                             " & 7); ++k) { ", f, " += q[0] - q[1];", together,
                             " q += 3 + (g1 & 15); } }"});
    }
  }
}

// Each thread goes through blocks of its own, numbers of 16 bits and floats side by side; threads
// end together, or when they have no more blocks.
Node Generator::blocks_phrase() {
  const std::string f = random_.pick(scope_.of(Type::kFloat));
  const bool together = random_.percent(60);
  const std::string bound = Text{"(", maker_.uniform(Level::kGroup), " & 7u)"};
  std::string text = Text{"{ const device float* q = fin + (lane / ",
                          1 + random_.below(3),
                          "u) * ",
                          4 + random_.below(8),
                          "u; const device ushort* w = (const device ushort*)in + lane * ",
                          4 + random_.below(6),
                          "u; "};
  text += together ? Text{"for (uint k = 0; k < ", bound, "; ++k) { "}
                   : Text{"for (uint k = lane / 16u; k < ", bound, "; k += 2u) { "};
  text +=
      "float a = 0, b = 0; for (int i = 0; i < 4; ++i) { a += q[i] * float(w[i] & 15u) + "
      "q[i] * float(w[i] & 240u); b += q[3 - i] * float(w[i] & 3840u); } ";
  if (random_.percent(50))
    text += Text{"a += b * fin[(lane / 4u) + k] + float(w[", random_.below(8), "]); "};
  if (random_.percent(20)) text += "fout[gid * 8u + 7u] = a; ";
  text +=
      Text{f, " += a - b; q += ", 1 + random_.below(16), "; w += ", 1 + random_.below(16), "; } }"};
  return Node::line(text);
}

}  // namespace

Program generate_kernel(const std::string& name, uint64_t seed, const GeneratorOptions& options) {
  return Generator(name, seed, options).run();
}

}  // namespace mlxn::tiers
