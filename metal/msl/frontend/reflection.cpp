#include "metal/msl/frontend/reflection.h"

#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Basic/Diagnostic.h"
#include "llvm/ADT/StringSet.h"
#include "metal/msl/kernel_abi.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using clang::QualType;

namespace {

// First MTL::DataType of each element type; vectors of 2 to 4 follow it.
DataType scalar_data_type(QualType type) {
  const auto* builtin = type.getCanonicalType()->getAs<clang::BuiltinType>();
  if (!builtin) return 0;
  switch (builtin->getKind()) {
    case clang::BuiltinType::Float: return 3;
    case clang::BuiltinType::Half:
    case clang::BuiltinType::Float16: return 16;
    case clang::BuiltinType::Int: return 29;
    case clang::BuiltinType::UInt: return 33;
    case clang::BuiltinType::Short: return 37;
    case clang::BuiltinType::UShort: return 41;
    case clang::BuiltinType::Char_S:
    case clang::BuiltinType::SChar: return 45;
    case clang::BuiltinType::UChar: return 49;
    case clang::BuiltinType::Bool: return 53;
    case clang::BuiltinType::Long:
    case clang::BuiltinType::LongLong: return 81;
    case clang::BuiltinType::ULong:
    case clang::BuiltinType::ULongLong: return 85;
    case clang::BuiltinType::BFloat16: return 121;
    default: return 0;
  }
}

constexpr DataType kStruct = 1, kArray = 2, kPointer = 60;
constexpr int64_t kMaxId = 1 << 20;  // of a member of an argument buffer

// First argument of an annotation as an integer.
std::optional<int64_t> integer_argument(const clang::AnnotateAttr& attribute,
                                        clang::ASTContext& context) {
  if (attribute.args_size() == 0) return std::nullopt;
  clang::Expr::EvalResult value;
  const clang::Expr* argument = *attribute.args_begin();
  if (argument->isValueDependent() || !argument->EvaluateAsInt(value, context)) return std::nullopt;
  return value.Val.getInt().getExtValue();
}

bool is_position_attribute(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"thread_position_in_grid",
                                          "thread_position_in_threadgroup",
                                          "threadgroup_position_in_grid",
                                          "threads_per_threadgroup",
                                          "dispatch_threads_per_threadgroup",
                                          "threads_per_grid",
                                          "grid_size",
                                          "threadgroups_per_grid",
                                          "thread_index_in_threadgroup",
                                          "thread_index_in_simdgroup",
                                          "simdgroup_index_in_threadgroup",
                                          "simdgroups_per_threadgroup",
                                          "dispatch_simdgroups_per_threadgroup",
                                          "threads_per_simdgroup",
                                          "thread_execution_width",
                                          "thread_index_in_quadgroup",
                                          "quadgroup_index_in_threadgroup",
                                          "quadgroups_per_threadgroup",
                                          "dispatch_quadgroups_per_threadgroup",
                                          "grid_origin"};
  return names.contains(name);
}

// The MSL attributes of one parameter.
struct ParameterAttributes {
  std::optional<int64_t> buffer, threadgroup;
  std::string position;     // a thread_position_in_grid and the like
  std::string space;        // device, constant, threadgroup
  std::string unsupported;  // texture, sampler, stage_in
  bool enabled = true;
  bool bad_index = false;
};

ParameterAttributes read_attributes(const clang::ParmVarDecl& parameter,
                                    clang::ASTContext& context) {
  ParameterAttributes result;
  for (const auto* attribute : parameter.specific_attrs<clang::AnnotateAttr>()) {
    llvm::StringRef name = attribute->getAnnotation();
    if (!name.consume_front("msl.")) continue;
    std::optional<int64_t> value = integer_argument(*attribute, context);
    if (name == "buffer" || name == "threadgroup") {
      (name == "buffer" ? result.buffer : result.threadgroup) = value;
      result.bad_index |= !value || *value < 0 || *value >= MSL_MAX_BUFFERS;
    } else if (name == "enabled") {
      result.enabled = value.value_or(1) != 0;
    } else if (name.consume_front("space.")) {
      result.space = name.str();
    } else if (is_position_attribute(name)) {
      result.position = name.str();
    } else if (name == "texture" || name == "sampler" || name == "stage_in") {
      result.unsupported = name.str();
    }
  }
  return result;
}

class Reflector {
 public:
  Reflector(clang::ASTContext& context, const clang::FunctionDecl& function, std::string parameters)
      : context_(context), function_(function), parameters_(std::move(parameters)) {}

  std::optional<ReflectedKernel> run(const std::string& host_name) {
    result_.kernel.name = host_name;
    if (!function_.getReturnType()->isVoidType())
      fail(function_.getLocation(), str("kernel '", host_name, "' must return void, not ",
                                        function_.getReturnType().getAsString()));
    read_function_attributes();
    reserve_explicit_indices();
    for (unsigned i = 0; i < function_.getNumParams(); ++i)
      add_parameter(*function_.getParamDecl(i), i);
    if (failed_) return std::nullopt;
    return std::move(result_);
  }

 private:
  void fail(clang::SourceLocation where, const std::string& message) {
    auto& diagnostics = context_.getDiagnostics();
    diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"))
        << message;
    failed_ = true;
  }

  void read_function_attributes() {
    for (const auto* attribute : function_.specific_attrs<clang::AnnotateAttr>()) {
      if (attribute->getAnnotation() != "msl.max_total_threads_per_threadgroup") continue;
      int64_t threads = integer_argument(*attribute, context_).value_or(0);
      if (threads < 1 || threads > MSL_MAX_THREADS)
        fail(function_.getLocation(), str("max_total_threads_per_threadgroup must be 1 to ",
                                          MSL_MAX_THREADS, ", not ", threads));
      else
        result_.kernel.max_total_threads = uint32_t(threads);
    }
  }

  void reserve_explicit_indices() {
    for (const clang::ParmVarDecl* parameter : function_.parameters()) {
      ParameterAttributes attributes = read_attributes(*parameter, context_);
      if (attributes.buffer) used_buffers_.insert(*attributes.buffer);
      if (attributes.threadgroup) used_threadgroups_.insert(*attributes.threadgroup);
    }
  }

  static uint32_t lowest_free(std::set<int64_t>& used) {
    int64_t index = 0;
    while (used.count(index)) ++index;
    used.insert(index);
    return uint32_t(index);
  }

  void add_parameter(const clang::ParmVarDecl& parameter, unsigned position) {
    ParameterAttributes attributes = read_attributes(parameter, context_);
    std::string name = parameter.getNameAsString();
    std::string type = str(parameters_, "::at<", position, ">");
    if (position > 0) result_.call_arguments += ", ";
    if (!attributes.unsupported.empty())
      return fail(parameter.getLocation(), str("parameter '", name, "': [[", attributes.unsupported,
                                               "]] arguments are not supported"));
    if (attributes.bad_index)
      return fail(parameter.getLocation(),
                  str("parameter '", name, "': the index must be a constant from 0 to ",
                      MSL_MAX_BUFFERS - 1));
    if (!attributes.position.empty()) return add_position(parameter, attributes.position, type);
    if (!parameter.getType()->isPointerType() && !parameter.getType()->isReferenceType())
      return fail(parameter.getLocation(),
                  str("parameter '", name, "' of kernel '", result_.kernel.name,
                      "' has no valid attribute: a value ",
                      "needs one such as [[thread_position_in_grid]], memory needs a pointer or "
                      "reference"));
    clang::QualType written = parameter.getType();  // a typedef may hide the address space
    if (attributes.space.empty() &&
        (llvm::isa<clang::PointerType>(*written) || llvm::isa<clang::ReferenceType>(*written)))
      return fail(parameter.getLocation(),
                  str("parameter '", name, "' of kernel '", result_.kernel.name,
                      "' needs an address space: device, constant or threadgroup"));
    bool threadgroup =
        attributes.threadgroup || (attributes.space == "threadgroup" && !attributes.buffer);
    if (!attributes.enabled) {
      result_.call_arguments += str("__msl_absent<", type, ">()");
      return;
    }
    ArgumentInfo argument = describe(parameter, attributes, threadgroup);
    if (!taken_.insert({argument.kind, argument.index}).second)
      return fail(parameter.getLocation(),
                  str("parameter '", name, "': index ", argument.index, " is used twice"));
    const char* fetch = threadgroup                  ? "__msl_threadgroup"
                        : argument.is_constant_space ? "__msl_constant"
                                                     : "__msl_buffer";
    result_.call_arguments += str(fetch, "<", type, ", ", argument.index, ">()");
    result_.kernel.arguments.push_back(std::move(argument));
  }

  void add_position(const clang::ParmVarDecl& parameter, const std::string& attribute,
                    const std::string& type) {
    DataType element = data_type_of(parameter.getType());
    bool is_unsigned = (element >= 33 && element <= 36) || (element >= 41 && element <= 44);
    bool is_signed_scalar = element == 29 || element == 37;
    if (!is_unsigned && !is_signed_scalar)
      return fail(parameter.getLocation(),
                  str("parameter '", parameter.getNameAsString(), "': [[", attribute,
                      "]] needs a scalar or vector of uint or ushort, not '",
                      parameter.getType().getAsString(), "'"));
    result_.call_arguments += str("__msl_id_", attribute, "<", type, ">()");
  }

  ArgumentInfo describe(const clang::ParmVarDecl& parameter, const ParameterAttributes& attributes,
                        bool threadgroup) {
    ArgumentInfo argument;
    QualType pointee = parameter.getType()->getPointeeType();
    argument.name = parameter.getNameAsString();
    argument.kind = threadgroup ? ArgumentKind::kThreadgroupMemory : ArgumentKind::kBuffer;
    argument.is_constant_space = attributes.space == "constant";
    argument.access = pointee.isConstQualified() ? Access::kReadOnly : Access::kReadWrite;
    argument.is_reference = parameter.getType()->isReferenceType();
    if (threadgroup)
      argument.index = attributes.threadgroup ? uint32_t(*attributes.threadgroup)
                                              : lowest_free(used_threadgroups_);
    else
      argument.index =
          attributes.buffer ? uint32_t(*attributes.buffer) : lowest_free(used_buffers_);
    argument.type = data_type_of(pointee);
    if (!pointee->isVoidType() && !pointee->isIncompleteType()) {
      argument.data_size = uint64_t(context_.getTypeSizeInChars(pointee).getQuantity());
      argument.alignment = uint64_t(context_.getTypeAlignInChars(pointee).getQuantity());
    } else {
      argument.data_size = 1;
    }
    if (argument.type == kStruct) add_members(pointee, {}, argument.members);
    return argument;
  }

  // Where the members of a struct lie in the argument.
  struct Place {
    std::string prefix;  // of their names
    uint64_t offset = 0;
    uint32_t id = 0;
  };

  // Returns how many indices of an argument buffer the struct takes.
  uint32_t add_members(QualType type, const Place& place, std::vector<MemberInfo>& members) {
    const clang::RecordDecl* record = type->getAsRecordDecl();
    if (!record || !record->isCompleteDefinition() || members.size() > 512) return 0;
    const clang::ASTRecordLayout& layout = context_.getASTRecordLayout(record);
    uint32_t next = 0, count = 0;
    for (const clang::FieldDecl* field : record->fields()) {
      MemberInfo member;
      member.name = place.prefix + field->getNameAsString();
      member.offset = place.offset + layout.getFieldOffset(field->getFieldIndex()) / 8;
      const QualType element = element_of(field->getType(), member.array_length);
      member.type = data_type_of(element);
      member.stride = uint64_t(context_.getTypeSizeInChars(element).getQuantity());
      next = explicit_id(*field).value_or(next);
      member.id = place.id + next;
      const size_t at = members.size();
      members.push_back(member);
      if (member.type == kStruct) {
        const Place inner{member.name + ".", member.offset, member.id};
        members[at].id_stride = add_members(element, inner, members);
      }
      next += members[at].id_stride * std::max(member.array_length, 1u);
      count = std::max(count, next);
    }
    return count;
  }

  // The type of an array's elements, and their number in all dimensions; the type itself and 0 when
  // it is none.
  QualType element_of(QualType type, uint32_t& length) {
    length = 0;
    while (const auto* array = context_.getAsConstantArrayType(type)) {
      length = std::max(length, 1u) * uint32_t(array->getSize().getZExtValue());
      type = array->getElementType();
    }
    return type;
  }

  // [[id(n)]]
  std::optional<uint32_t> explicit_id(const clang::FieldDecl& field) {
    for (const auto* attribute : field.specific_attrs<clang::AnnotateAttr>()) {
      if (attribute->getAnnotation() != "msl.id") continue;
      const std::optional<int64_t> id = integer_argument(*attribute, context_);
      if (id && *id >= 0 && *id <= kMaxId) return uint32_t(*id);
      fail(field.getLocation(), str("member '", field.getNameAsString(),
                                    "': [[id]] must be a constant from 0 to ", kMaxId));
    }
    return std::nullopt;
  }

  clang::ASTContext& context_;
  const clang::FunctionDecl& function_;
  std::string parameters_;
  std::set<int64_t> used_buffers_, used_threadgroups_;
  std::set<std::pair<ArgumentKind, uint32_t>> taken_;
  ReflectedKernel result_;
  bool failed_ = false;
};

}  // namespace

DataType data_type_of(QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (type->isPointerType()) return kPointer;
  if (type->isArrayType()) return kArray;
  if (DataType scalar = scalar_data_type(type)) return scalar;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (!record) return 0;
  const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (!special) return kStruct;
  llvm::StringRef name = special->getName();
  const auto& arguments = special->getTemplateArgs();
  auto number = [&](unsigned i) { return DataType(arguments[i].getAsIntegral().getZExtValue()); };
  if ((name == "vec" || name == "packed_vec") && arguments.size() >= 2) {
    DataType element = scalar_data_type(arguments[0].getAsType());
    return element ? element + number(1) - 1 : 0;
  }
  if (name == "matrix" &&
      arguments.size() >= 3) {  // Float2x2 is 7, Half2x2 is 20; columns then rows
    DataType element = scalar_data_type(arguments[0].getAsType());
    DataType base = element == 3 ? 7 : element == 16 ? 20 : 0;
    return base ? base + (number(1) - 2) * 3 + (number(2) - 2) : 0;
  }
  if ((name == "atomic" || name == "_atomic") && arguments.size() >= 1)
    return scalar_data_type(arguments[0].getAsType());
  return kStruct;
}

std::optional<ReflectedKernel> reflect(clang::ASTContext& context,
                                       const clang::FunctionDecl& function,
                                       const std::string& host_name,
                                       const std::string& parameters) {
  return Reflector(context, function, parameters).run(host_name);
}

}  // namespace mlxn::msl
