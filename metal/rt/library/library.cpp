// Libraries: indexing source, looking functions up, compiling them.
#include "metal/rt/library/library.h"

#include <algorithm>

#include "metal/rt/device/validation.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "; did you mean 'a' or 'b'?" for names close to a wrong one.
std::string suggestions(const std::vector<LibraryObject::Entry>& functions, std::string_view name) {
  constexpr size_t kMost = 3, kLongest = 200;
  if (name.size() > kLongest) return "";
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const auto& function : functions) {
    const std::string& candidate = function.info->name;
    if (candidate.size() > kLongest) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance <= 1 + name.size() / 3) near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  if (near.size() > kMost) near.resize(kMost);
  std::string out;
  for (auto& [distance, candidate] : near)
    out += str(out.empty() ? "" : " or ", "'", candidate, "'");
  return out.empty() ? out : "; did you mean " + out + "?";
}

bool names(const msl::ConstantValue& value, const msl::FunctionConstant& constant) {
  return value.name.empty() ? value.index == constant.index : value.name == constant.name;
}

}  // namespace

Result<Ref<LibraryObject>> LibraryObject::create(DeviceObject* device, std::string source,
                                                 const msl::CompileOptions& options) {
  auto library = make<LibraryObject>();
  library->device = Ref(device);
  MLXN_ASSIGN(auto unit, LibraryUnit::create(*device, {std::move(source), options}));
  library->add(std::move(unit));
  return library;
}

Result<Ref<LibraryObject>> LibraryObject::open(DeviceObject* device, std::string file) {
  auto bytes = std::make_shared<const std::string>(std::move(file));
  MLXN_ASSIGN(auto stored, msl::read_library_file(*bytes));
  auto library = make<LibraryObject>();
  library->device = Ref(device);
  for (const msl::StoredUnit& unit : stored) {
    MLXN_ASSIGN(auto opened, LibraryUnit::open(unit, bytes));
    library->add(std::move(opened));
  }
  return library;
}

// Of two functions with one name the first counts.
void LibraryObject::add(std::shared_ptr<LibraryUnit> unit) {
  for (const msl::FunctionInfo& function : unit->info().functions) {
    if (by_name_.try_emplace(function.name, functions.size()).second)
      functions.push_back({&function, unit.get()});
  }
  units_.push_back(std::move(unit));
}

const LibraryObject::Entry* LibraryObject::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &functions[found->second];
}

std::shared_ptr<LibraryUnit> LibraryObject::unit_of(std::string_view name) const {
  const Entry* entry = find(name);
  for (const auto& unit : units_)
    if (entry && unit.get() == entry->unit) return unit;
  return nullptr;
}

std::vector<uint8_t> LibraryObject::serialize() const {
  std::vector<msl::StoredUnit> stored;
  std::vector<std::vector<uint8_t>> bytes;
  for (const auto& unit : units_) unit->store(stored, bytes);
  return msl::write_library_file(stored);
}

// Which constants a function needs is known when its code has been folded, so all values for
// constants of the function's unit are kept; values for others are ignored.
Result<std::vector<msl::ConstantValue>> LibraryObject::known_values(
    const LibraryUnit& unit, const ConstantValuesObject& values) {
  if (!values.problem.empty()) return Error(ErrorCode::kInvalidArgument, values.problem);
  std::vector<msl::ConstantValue> kept;
  for (const msl::ConstantValue& value : values.values) {
    for (const msl::FunctionConstant& constant : unit.info().constants) {
      if (!names(value, constant)) continue;
      if (constant.type != value.type) {
        return Error(ErrorCode::kInvalidArgument,
                     str("function constant '", constant.name, "' (index ", constant.index,
                         ") was given a value of type ", type_name(value.type), ", expected ",
                         type_name(constant.type)));
      }
      kept.push_back(value);
      break;
    }
  }
  return kept;
}

Result<Ref<FunctionObject>> LibraryObject::function(const std::string& name,
                                                    const ConstantValuesObject* values) {
  const Entry* found = find(name);
  if (!found) {
    return Error(ErrorCode::kFunctionNotFound,
                 str("the library has no function '", name, "' among its ", functions.size(),
                     suggestions(functions, name)));
  }
  auto function = make<FunctionObject>();
  function->library = Ref(this);
  function->name = make_string(name);
  function->info = found->info;
  if (values) {
    MLXN_ASSIGN(function->constants, known_values(*found->unit, *values));
  }
  return function;
}

Result<std::shared_ptr<const msl::Image>> LibraryObject::compile(
    const std::string& name, const std::vector<msl::ConstantValue>& constants) {
  const Entry* entry = find(name);
  if (!entry) return Error(ErrorCode::kFunctionNotFound, str("no function '", name, "'"));
  msl::CompileRequest request = device->info().usual_code;
  request.entry_points = {name};
  request.constants = constants;
  return entry->unit->compile(*device, request);
}

Ref<ErrorObject> library_error(std::string_view call, const Error& error) {
  MTL::LibraryError code = MTL::LibraryErrorInternal;
  switch (error.code()) {
    case ErrorCode::kCompileFailed:
    case ErrorCode::kInvalidArgument: code = MTL::LibraryErrorCompileFailure; break;
    case ErrorCode::kFunctionNotFound: code = MTL::LibraryErrorFunctionNotFound; break;
    case ErrorCode::kIo: code = MTL::LibraryErrorFileNotFound; break;
    case ErrorCode::kUnsupported:
    case ErrorCode::kCorruptData: code = MTL::LibraryErrorUnsupported; break;
    default: break;
  }
  return make_error(kLibraryErrorDomain, code, str(call, ": ", error.message()));
}

}  // namespace mlxn::rt
