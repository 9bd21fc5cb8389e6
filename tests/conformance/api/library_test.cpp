// Libraries, functions, function constants and pipelines, with the real compiler.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "api_test.h"
#include "mlxn/base/settings.h"

namespace mlxn_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr const char* kPrelude = "#include <metal_stdlib>\nusing namespace metal;\n";

std::vector<std::string> names(NS::Array* array) {
  std::vector<std::string> out;
  for (NS::UInteger i = 0; i < array->count(); ++i)
    out.push_back(text(array->object<NS::String>(i)));
  return out;
}

class LibraryTest : public KernelTest {
 protected:
  // The error of a compilation.
  std::string compile_error(const std::string& source, MTL::CompileOptions* options = nullptr) {
    NS::Error* error = nullptr;
    auto lib = TransferPtr(device->newLibrary(string(source), options, &error));
    EXPECT_FALSE(lib);
    EXPECT_TRUE(error);
    return text(error);
  }

  // Runs a kernel with one int output and gives that output.
  int run(MTL::ComputePipelineState* state) {
    auto out = buffer(sizeof(int));
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state);
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
    encoder->endEncoding();
    EXPECT_EQ(finish(commands), "");
    return *static_cast<int*>(out->contents());
  }
};

TEST_F(LibraryTest, ListsItsFunctions) {
  auto lib = library(std::string(kPrelude) +
                     "kernel void one(device int* x [[buffer(0)]]) { *x = 1; }\n"
                     "kernel void two(device int* x [[buffer(0)]]) { *x = 2; }\n"
                     "int helper() { return 3; }\n");
  ASSERT_TRUE(lib);
  EXPECT_THAT(names(lib->functionNames()), UnorderedElementsAre("one", "two"));
  EXPECT_EQ(lib->device(), device.get());
  EXPECT_EQ(lib->type(), MTL::LibraryTypeExecutable);
  lib->setLabel(string("lib"));
  EXPECT_EQ(text(lib->label()), "lib");
  auto function = TransferPtr(lib->newFunction(string("two")));
  ASSERT_TRUE(function);
  EXPECT_EQ(text(function->name()), "two");
  EXPECT_EQ(function->functionType(), MTL::FunctionTypeKernel);
  EXPECT_EQ(function->device(), device.get());
}

TEST_F(LibraryTest, BrokenSourceGivesDiagnosticsWithPlace) {
  const auto message =
      compile_error("kernel void k(device int* x [[buffer(0)]]) {\n  *x = nope;\n}");
  EXPECT_THAT(message, HasSubstr("program_source:2:8: error:"));
  EXPECT_THAT(message, HasSubstr("nope"));
  NS::Error* error = nullptr;
  EXPECT_EQ(device->newLibrary(string("kernel void k( {"),
                               static_cast<MTL::CompileOptions*>(nullptr), &error),
            nullptr);
  EXPECT_EQ(text(error->domain()), "MTLLibraryErrorDomain");
  EXPECT_EQ(error->code(), static_cast<NS::Integer>(MTL::LibraryErrorCompileFailure));
  EXPECT_EQ(device->newLibrary(static_cast<NS::String*>(nullptr),
                               static_cast<MTL::CompileOptions*>(nullptr), &error),
            nullptr);
  EXPECT_THAT(text(error), HasSubstr("null source"));
}

TEST_F(LibraryTest, UnknownFunctionsGiveNullAndNearNames) {
  auto lib = library("kernel void rms_norm_f32() {}\nkernel void softmax() {}\n");
  EXPECT_EQ(lib->newFunction(string("rms_norm_f16")), nullptr);
  NS::Error* error = nullptr;
  EXPECT_EQ(lib->newFunction(string("rms_norm_f16"),
                             static_cast<MTL::FunctionConstantValues*>(nullptr), &error),
            nullptr);
  EXPECT_THAT(text(error), HasSubstr("no function 'rms_norm_f16' among its 2; did you mean "
                                     "'rms_norm_f32'?"));
  EXPECT_EQ(error->code(), static_cast<NS::Integer>(MTL::LibraryErrorFunctionNotFound));
  EXPECT_EQ(device->newComputePipelineState(static_cast<MTL::Function*>(nullptr), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("no compute function"));
}

TEST_F(LibraryTest, MacrosReachTheSource) {
  auto options = TransferPtr(MTL::CompileOptions::alloc()->init());
  const NS::Object* values[] = {string("40"), NS::Number::number(2)};
  const NS::Object* keys[] = {string("A"), string("B")};
  options->setPreprocessorMacros(NS::Dictionary::dictionary(values, keys, 2));
  options->setLanguageVersion(MTL::LanguageVersion3_1);
  NS::Error* error = nullptr;
  auto lib = TransferPtr(device->newLibrary(
      string("kernel void k(device int* x [[buffer(0)]]) { *x = A + B; }"), options.get(), &error));
  ASSERT_TRUE(lib) << text(error);
  auto function = TransferPtr(lib->newFunction(string("k")));
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(run(state.get()), 42);
}

TEST_F(LibraryTest, OptionsKeepTheirValues) {
  auto options = TransferPtr(MTL::CompileOptions::alloc()->init());
  EXPECT_EQ(options->mathMode(), MTL::MathModeSafe);
  options->setFastMathEnabled(true);
  EXPECT_EQ(options->mathMode(), MTL::MathModeFast);
  options->setMathMode(MTL::MathModeRelaxed);
  EXPECT_FALSE(options->fastMathEnabled());
  options->setMathFloatingPointFunctions(MTL::MathFloatingPointFunctionsPrecise);
  EXPECT_EQ(options->mathFloatingPointFunctions(), MTL::MathFloatingPointFunctionsPrecise);
  auto copy = TransferPtr(options->copy());
  EXPECT_EQ(copy->mathMode(), MTL::MathModeRelaxed);
  options->setLibraryType(MTL::LibraryTypeDynamic);
  EXPECT_THAT(compile_error("kernel void k() {}", options.get()), HasSubstr("type Dynamic"));
}

constexpr const char* kConstants =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "constant int width [[function_constant(0)]];\n"
    "constant bool twice [[function_constant(3)]];\n"
    "kernel void k(device int* x [[buffer(0)]]) { *x = twice ? 2 * width : width; }\n"
    "kernel void plain(device int* x [[buffer(0)]]) { *x = 5; }\n";

class ConstantTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    lib = library(kConstants);
    values = TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  }
  void TearDown() override {
    lib.reset();
    values.reset();
    LibraryTest::TearDown();
  }
  int specialised(const char* name = "k") {
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib->newFunction(string(name), values.get(), &error));
    EXPECT_TRUE(function) << text(error);
    if (!function) return -1;
    auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state ? run(state.get()) : -1;
  }
  std::string error_of(const char* name = "k") {
    NS::Error* error = nullptr;
    EXPECT_EQ(lib->newFunction(string(name), values.get(), &error), nullptr);
    return text(error);
  }
  std::string pipeline_error(const char* name = "k") {
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib->newFunction(string(name), values.get(), &error));
    EXPECT_TRUE(function) << text(error);
    EXPECT_EQ(device->newComputePipelineState(function.get(), &error), nullptr);
    return text(error);
  }
  Ptr<MTL::Library> lib;
  Ptr<MTL::FunctionConstantValues> values;
  int width = 21;
  bool twice = true;
};

TEST_F(ConstantTest, ByIndexAndByName) {
  values->setConstantValue(&width, MTL::DataTypeInt, NS::UInteger(0));
  values->setConstantValue(&twice, MTL::DataTypeBool, string("twice"));
  EXPECT_EQ(specialised(), 42);
  twice = false;
  values->setConstantValue(&twice, MTL::DataTypeBool, string("twice"));
  EXPECT_EQ(specialised(), 21);
  EXPECT_EQ(specialised("plain"), 5);  // values of other functions are ignored
}

TEST_F(ConstantTest, ByRange) {
  const int widths[] = {7};
  const bool flags[] = {true};
  values->setConstantValues(widths, MTL::DataTypeInt, NS::Range(0, 1));
  values->setConstantValues(flags, MTL::DataTypeBool, NS::Range(3, 1));
  EXPECT_EQ(specialised(), 14);
  values->reset();
  EXPECT_THAT(pipeline_error(), HasSubstr("has no value"));
}

TEST_F(ConstantTest, AConstantThatIsReadNeedsAValue) {
  values->setConstantValue(&width, MTL::DataTypeInt, NS::UInteger(0));
  EXPECT_THAT(pipeline_error(), HasSubstr("function constant 'twice' (index 3) has no value"));
}

TEST_F(ConstantTest, AConstantThatFoldsAwayNeedsNoValue) {
  lib = library(
      "constant bool early [[function_constant(0)]];\n"
      "constant int late [[function_constant(1)]];\n"
      "kernel void k(device int* x [[buffer(0)]]) { *x = early ? 5 : late; }\n");
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(0));
  EXPECT_EQ(specialised(), 5);
  twice = false;
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(0));
  EXPECT_THAT(pipeline_error(), HasSubstr("function constant 'late' (index 1) has no value"));
}

TEST_F(ConstantTest, ValuesForUnknownConstantsAreIgnored) {
  values->setConstantValue(&width, MTL::DataTypeInt, NS::UInteger(0));
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(3));
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(9));
  values->setConstantValue(&twice, MTL::DataTypeBool, string("thrice"));
  EXPECT_EQ(specialised(), 42);
}

TEST_F(ConstantTest, EachInstantiationFindsItsOwnConstants) {
  lib = library(
      "constant bool twice [[function_constant(22)]];\n"
      "constant int width [[function_constant(1)]];\n"
      "template <int N> [[kernel]] void f(device int* x [[buffer(0)]]) {\n"
      "  x[0] = width;\n"
      "  if constexpr (N == 4) { if (twice) x[0] += 100; else x[0] += 200; }\n"
      "}\n"
      "template [[host_name(\"two\")]] [[kernel]] void f<2>(device int*);\n"
      "template [[host_name(\"four\")]] [[kernel]] void f<4>(device int*);\n");
  values->setConstantValue(&width, MTL::DataTypeInt, NS::UInteger(1));
  EXPECT_EQ(specialised("two"), 21);
  EXPECT_THAT(pipeline_error("four"), HasSubstr("'twice' (index 22) has no value"));
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(22));
  EXPECT_EQ(specialised("four"), 121);
  auto function = TransferPtr(lib->newFunction(string("four")));
  ASSERT_TRUE(function);
  EXPECT_EQ(function->functionConstantsDictionary()->count(), 2u);
}

TEST_F(ConstantTest, OneDeclarationOfSeveralConstants) {
  lib = library(
      "constant int a [[function_constant(0)]], b [[function_constant(1)]];\n"
      "kernel void k(device int* x [[buffer(0)]]) { *x = 10 * a + b; }\n");
  const int both[] = {4, 2};
  values->setConstantValues(both, MTL::DataTypeInt, NS::Range(0, 2));
  EXPECT_EQ(specialised(), 42);
}

TEST_F(ConstantTest, MistypedValuesAreErrors) {
  float wrong = 1;
  values->setConstantValue(&wrong, MTL::DataTypeFloat, NS::UInteger(0));
  EXPECT_THAT(error_of(),
              HasSubstr("'width' (index 0) was given a value of type float, expected int"));
  values->reset();
  values->setConstantValue(nullptr, MTL::DataTypeInt, NS::UInteger(0));
  EXPECT_THAT(error_of(), HasSubstr("null value"));
  values->reset();
  values->setConstantValue(&width, MTL::DataTypeFloat4x4, NS::UInteger(0));
  EXPECT_THAT(error_of(), HasSubstr("type float4x4, expected a scalar or vector"));
}

TEST_F(ConstantTest, AnUnspecialisedFunctionTellsItsConstants) {
  auto function = TransferPtr(lib->newFunction(string("k")));
  ASSERT_TRUE(function);
  auto* constants = function->functionConstantsDictionary();
  ASSERT_EQ(constants->count(), 2u);
  auto* flag = constants->object<MTL::FunctionConstant>(string("twice"));
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->index(), 3u);
  EXPECT_EQ(flag->type(), MTL::DataTypeBool);
  EXPECT_TRUE(flag->required());
  NS::Error* error = nullptr;
  EXPECT_EQ(device->newComputePipelineState(function.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("has no value"));
}

TEST_F(ConstantTest, DescriptorsSpecialiseToo) {
  values->setConstantValue(&width, MTL::DataTypeInt, NS::UInteger(0));
  values->setConstantValue(&twice, MTL::DataTypeBool, NS::UInteger(3));
  auto* descriptor = MTL::FunctionDescriptor::functionDescriptor();
  NS::Error* error = nullptr;
  EXPECT_EQ(lib->newFunction(descriptor, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("no function name"));
  descriptor->setName(string("k"));
  descriptor->setSpecializedName(string("k_21"));
  descriptor->setConstantValues(values.get());
  auto function = TransferPtr(lib->newFunction(descriptor, &error));
  ASSERT_TRUE(function) << text(error);
  EXPECT_EQ(text(function->name()), "k_21");
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(run(state.get()), 42);
}

TEST_F(LibraryTest, LinkedFunctionsMayBeEmptyOnly) {
  auto lib = library("kernel void k() {}");
  auto function = TransferPtr(lib->newFunction(string("k")));
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(function.get());
  auto* linked = MTL::LinkedFunctions::linkedFunctions();
  descriptor->setLinkedFunctions(linked);
  EXPECT_EQ(descriptor->linkedFunctions(), linked);
  EXPECT_EQ(linked->functions(), nullptr);
  auto create = [&] {
    NS::Error* error = nullptr;
    auto state = TransferPtr(device->newComputePipelineState(
        descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
    return state ? "" : text(error);
  };
  EXPECT_EQ(create(), "");
  linked->setFunctions(NS::Array::array());
  linked->setBinaryFunctions(NS::Array::array());
  linked->setPrivateFunctions(NS::Array::array());
  linked->setGroups(NS::Dictionary::dictionary());
  EXPECT_EQ(create(), "");
  linked->setPrivateFunctions(NS::Array::array(function.get()));
  EXPECT_THAT(create(), HasSubstr("1 linked functions, expected none"));
}

TEST_F(LibraryTest, LoggingIsKeptAndHasNoEffect) {
  auto options = TransferPtr(MTL::CompileOptions::alloc()->init());
  EXPECT_FALSE(options->enableLogging());
  options->setEnableLogging(true);
  EXPECT_TRUE(options->enableLogging());
  EXPECT_TRUE(TransferPtr(options->copy())->enableLogging());
  NS::Error* error = nullptr;
  EXPECT_TRUE(TransferPtr(device->newLibrary(string("kernel void k() {}"), options.get(), &error)));
}

TEST_F(LibraryTest, ReflectionDescribesTheArguments) {
  auto lib = library(std::string(kPrelude) +
                     "struct Params { int n; float4 scale; };\n"
                     "kernel void k(device const float* in [[buffer(0)]],\n"
                     "              device float* out [[buffer(1)]],\n"
                     "              constant Params& params [[buffer(2)]],\n"
                     "              threadgroup float* tile [[threadgroup(0)]],\n"
                     "              uint i [[thread_position_in_grid]],\n"
                     "              uint l [[thread_index_in_threadgroup]]) {\n"
                     "  threadgroup float fixed[8];\n"
                     "  fixed[l % 8] = in[i];\n"
                     "  tile[l] = fixed[l % 8];\n"
                     "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                     "  out[i] = tile[l] * params.scale.x + params.n + fixed[(l + 1) % 8];\n"
                     "}\n");
  auto function = TransferPtr(lib->newFunction(string("k")));
  MTL::AutoreleasedComputePipelineReflection reflection = nullptr;
  NS::Error* error = nullptr;
  auto state = TransferPtr(device->newComputePipelineState(
      function.get(), MTL::PipelineOptionArgumentInfo | MTL::PipelineOptionBufferTypeInfo,
      &reflection, &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(state->threadExecutionWidth(), 32u);
  EXPECT_EQ(state->maxTotalThreadsPerThreadgroup(), 1024u);
  EXPECT_EQ(state->staticThreadgroupMemoryLength(), 32u);
  ASSERT_TRUE(reflection);
  EXPECT_EQ(reflection, state->reflection());
  ASSERT_EQ(reflection->arguments()->count(), 4u);
  ASSERT_EQ(reflection->bindings()->count(), 4u);
  auto* in = reflection->bindings()->object<MTL::BufferBinding>(0);
  EXPECT_EQ(text(in->name()), "in");
  EXPECT_EQ(in->type(), MTL::BindingTypeBuffer);
  EXPECT_EQ(in->access(), MTL::BindingAccessReadOnly);
  EXPECT_EQ(in->bufferDataType(), MTL::DataTypeFloat);
  EXPECT_TRUE(in->isUsed());
  auto* out = reflection->bindings()->object<MTL::BufferBinding>(1);
  EXPECT_NE(out->access(), MTL::BindingAccessReadOnly);
  auto* params = reflection->bindings()->object<MTL::BufferBinding>(2);
  EXPECT_EQ(params->index(), 2u);
  EXPECT_EQ(params->bufferDataSize(), 32u);
  EXPECT_EQ(params->bufferAlignment(), 16u);
  ASSERT_TRUE(params->bufferStructType());
  auto* scale = params->bufferStructType()->memberByName(string("scale"));
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->offset(), 16u);
  EXPECT_EQ(scale->dataType(), MTL::DataTypeFloat4);
  auto* tile = reflection->bindings()->object<MTL::ThreadgroupBinding>(3);
  EXPECT_EQ(tile->type(), MTL::BindingTypeThreadgroupMemory);
  EXPECT_EQ(tile->index(), 0u);
  auto* argument = reflection->arguments()->object<MTL::Argument>(2);
  EXPECT_EQ(text(argument->name()), "params");
  EXPECT_EQ(argument->bufferDataSize(), 32u);
  auto* by_name = lib->reflectionForFunction(string("k"));
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->bindings()->count(), 4u);
}

TEST_F(LibraryTest, HandlersReceiveLibrariesFunctionsAndPipelines) {
  std::promise<Ptr<MTL::Library>> made;
  device->newLibrary(string("kernel void k(device int* x [[buffer(0)]]) { *x = 11; }"), nullptr,
                     [&](MTL::Library* one, NS::Error* error) {
                       EXPECT_EQ(error, nullptr);
                       made.set_value(NS::RetainPtr(one));
                     });
  auto lib = made.get_future().get();
  ASSERT_TRUE(lib);
  std::promise<Ptr<MTL::Function>> found;
  lib->newFunction(string("k"), nullptr,
                   [&](MTL::Function* one, NS::Error*) { found.set_value(NS::RetainPtr(one)); });
  auto function = found.get_future().get();
  ASSERT_TRUE(function);
  std::promise<Ptr<MTL::ComputePipelineState>> built;
  device->newComputePipelineState(function.get(), [&](MTL::ComputePipelineState* one, NS::Error*) {
    built.set_value(NS::RetainPtr(one));
  });
  auto state = built.get_future().get();
  ASSERT_TRUE(state);
  EXPECT_EQ(run(state.get()), 11);
  std::promise<bool> reflected;
  device->newComputePipelineState(
      function.get(), MTL::PipelineOptionBindingInfo,
      [&](MTL::ComputePipelineState* one, MTL::ComputePipelineReflection* reflection, NS::Error*) {
        reflected.set_value(one && reflection && reflection->bindings()->count() == 1);
      });
  EXPECT_TRUE(reflected.get_future().get());
  std::promise<std::string> failed;
  device->newLibrary(string("kernel nonsense"), nullptr, [&](MTL::Library* one, NS::Error* error) {
    EXPECT_EQ(one, nullptr);
    failed.set_value(text(error));
  });
  EXPECT_THAT(failed.get_future().get(), HasSubstr("error"));
}

TEST_F(LibraryTest, FilesAndContainers) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string stem =
      (folder /
       ("mlxn_library_test_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
        std::to_string(reinterpret_cast<uintptr_t>(this))))
          .string();
  std::ofstream(stem + ".metal") << "kernel void k(device int* x [[buffer(0)]]) { *x = 13; }";
  NS::Error* error = nullptr;
  auto lib = TransferPtr(device->newLibrary(string(stem + ".metal"), &error));
  ASSERT_TRUE(lib) << text(error);
  NS::Data* bytes = mlxn::metal::serialize_library(lib.get());
  ASSERT_TRUE(bytes);
  std::ofstream(stem + ".mlxnlib", std::ios::binary)
      .write(static_cast<const char*>(bytes->mutableBytes()),
             static_cast<std::streamsize>(bytes->length()));
  auto again =
      TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(string(stem + ".mlxnlib")), &error));
  ASSERT_TRUE(again) << text(error);
  auto function = TransferPtr(again->newFunction(string("k")));
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  EXPECT_EQ(run(state.get()), 13);

  for (size_t size = 0; size < bytes->length(); ++size) {  // every cut is refused
    EXPECT_EQ(mlxn::metal::new_library(device.get(), bytes->mutableBytes(), size, &error), nullptr);
  }
  EXPECT_THAT(text(error), HasSubstr("cut short or damaged"));
  EXPECT_EQ(mlxn::metal::new_library(device.get(), "MTLB....", 8, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("does not begin with 'MLXNLIB2'"));
  std::ofstream(stem + ".metallib") << "MTLB";
  EXPECT_EQ(device->newLibrary(string(stem + ".metallib"), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("is neither MSL text (.metal) nor a library"));
  EXPECT_EQ(device->newLibrary(string("/no/such/file.metal"), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("cannot open '/no/such/file.metal'"));
  EXPECT_EQ(error->code(), static_cast<NS::Integer>(MTL::LibraryErrorFileNotFound));
  for (const char* end : {".metal", ".mlxnlib", ".metallib"}) std::filesystem::remove(stem + end);
}

TEST_F(LibraryTest, CacheAnswersTheSecondTime) {
  const std::string source = "kernel void k(device int* x [[buffer(0)]]) { *x = 17; }";
  auto first = pipeline(source, "k");
  const auto before = mlxn::metal::cache_counters(device.get());
  EXPECT_EQ(before.misses, 2u);  // the library and its kernel
  auto second = pipeline(source, "k");
  const auto after = mlxn::metal::cache_counters(device.get());
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(after.memory_hits, before.memory_hits + 2);
  EXPECT_EQ(run(second.get()), 17);
}

TEST_F(LibraryTest, SettingSavesTheTextOfLibraries) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("mlxn_save_msl_" + std::to_string(reinterpret_cast<uintptr_t>(this)));
  std::filesystem::remove_all(folder);
  auto options = TransferPtr(MTL::CompileOptions::alloc()->init());
  options->setPreprocessorMacros(NS::Dictionary::dictionary(string("23"), string("VALUE")));
  NS::Error* error = nullptr;
  {
    mlxn::ScopedSetting setting(mlxn::Setting::kSaveMsl, folder.string());
    for (int i = 0; i < 2; ++i) {
      auto lib = TransferPtr(
          device->newLibrary(string("kernel void k(device int* x [[buffer(0)]]) { *x = VALUE; }"),
                             options.get(), &error));
      ASSERT_TRUE(lib) << text(error);
    }
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  ASSERT_EQ(files.size(), 1u);
  auto saved = TransferPtr(device->newLibrary(string(files[0]), &error));
  ASSERT_TRUE(saved) << text(error);
  auto function = TransferPtr(saved->newFunction(string("k")));
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  EXPECT_EQ(run(state.get()), 23);
  std::filesystem::remove_all(folder);

  mlxn::ScopedSetting nowhere(mlxn::Setting::kSaveMsl, "/proc/no/such/folder");
  EXPECT_TRUE(library("kernel void k() {}"));
}

TEST_F(LibraryTest, ADescriptorCanBeReset) {
  auto lib = library("kernel void k() {}");
  auto descriptor = TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(TransferPtr(lib->newFunction(string("k"))).get());
  descriptor->setSupportIndirectCommandBuffers(true);
  descriptor->reset();
  EXPECT_EQ(descriptor->computeFunction(), nullptr);
  EXPECT_FALSE(descriptor->supportIndirectCommandBuffers());
}

TEST_F(LibraryTest, ThreadsShareALibrary) {
  auto lib = library(
      "kernel void a(device int* x [[buffer(0)]]) { *x = 1; }\n"
      "kernel void b(device int* x [[buffer(0)]]) { *x = 2; }\n");
  std::vector<std::thread> threads;
  for (const char* name : {"a", "b", "a", "b"}) {
    threads.emplace_back([&, name] {
      auto* pool = NS::AutoreleasePool::alloc()->init();
      auto function = TransferPtr(lib->newFunction(string(name)));
      NS::Error* error = nullptr;
      auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
      EXPECT_TRUE(state) << text(error);
      pool->release();
    });
  }
  for (auto& thread : threads) thread.join();
}

class NullLibraryTest : public ApiTest {
 protected:
  NullLibraryTest() : ApiTest("null") {}
};

TEST_F(NullLibraryTest, AnyIdentifierOfTheSourceIsAFunction) {
  auto lib = library("kernel void scale(device float* x) {}");
  EXPECT_THAT(names(lib->functionNames()),
              ElementsAre("kernel", "void", "scale", "device", "float", "x"));
  EXPECT_NE(TransferPtr(lib->newFunction(string("scale"))).get(), nullptr);
  EXPECT_EQ(lib->newFunction(string("scales")), nullptr);
}

}  // namespace
}  // namespace mlxn_test
