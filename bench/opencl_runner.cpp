// The problems in OpenCL C on a CPU device, which on Linux is PoCL.
#include "bench/measure.h"

#ifdef MLXN_BENCH_OPENCL
#include <CL/cl.h>
#endif

namespace mlxn::bench {

#ifdef MLXN_BENCH_OPENCL
namespace {

class OpenClRunner : public Runner {
 public:
  explicit OpenClRunner(unsigned threads) {
    // PoCL reads these when it looks for devices; the first is the name of older versions.
    const std::string count = std::to_string(threads);
    setenv("POCL_MAX_PTHREAD_COUNT", count.c_str(), 1);
    setenv("POCL_CPU_MAX_CU_COUNT", count.c_str(), 1);
    open();
  }
  ~OpenClRunner() override {
    if (program_) clReleaseProgram(program_);
    if (queue_) clReleaseCommandQueue(queue_);
    if (context_) clReleaseContext(context_);
  }
  std::string name() const override { return "PoCL"; }

  std::optional<Timing> run(const Problem& problem, double seconds, Floats& out,
                            std::string& why) override {
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = program_ ? clCreateKernel(program_, problem.kernel.c_str(), &code) : nullptr;
    if (!kernel) {
      why = program_ ? "no such kernel" : problem_;
      return std::nullopt;
    }
    std::vector<cl_mem> buffers;
    for (const auto& input : problem.inputs) {
      buffers.push_back(clCreateBuffer(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                       input.size(), const_cast<uint8_t*>(input.data()), &code));
    }
    const size_t bytes = problem.outputs * sizeof(float);
    buffers.push_back(clCreateBuffer(context_, CL_MEM_WRITE_ONLY, bytes, nullptr, &code));
    for (cl_uint i = 0; i < buffers.size(); ++i) {
      clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
    }
    clSetKernelArg(kernel, 3, sizeof(problem.params), &problem.params);
    const Extent all = problem.threads(), each = problem.group;
    const size_t threads[3] = {all.x, all.y, all.z}, group[3] = {each.x, each.y, each.z};
    const Timing timing = measure(seconds, [&] {
      const cl_int started =
          clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, threads, group, 0, nullptr, nullptr);
      if (started != CL_SUCCESS || clFinish(queue_) != CL_SUCCESS) code = CL_INVALID_OPERATION;
    });
    out.resize(problem.outputs);
    clEnqueueReadBuffer(queue_, buffers.back(), CL_TRUE, 0, bytes, out.data(), 0, nullptr, nullptr);
    for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    if (code == CL_SUCCESS) return timing;
    why = "a call failed with code " + std::to_string(code);
    return std::nullopt;
  }

 private:
  void open() {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int code = CL_SUCCESS;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) {
      problem_ = "no OpenCL device for the CPU";
      return;
    }
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    queue_ = context_ ? clCreateCommandQueue(context_, device, 0, &code) : nullptr;
    const std::string source = read_text("kernels.cl");
    const char* text = source.c_str();
    program_ = queue_ ? clCreateProgramWithSource(context_, 1, &text, nullptr, &code) : nullptr;
    if (program_ && clBuildProgram(program_, 1, &device, "", nullptr, nullptr) == CL_SUCCESS)
      return;
    problem_ = "the kernels do not compile";
    if (program_) clReleaseProgram(program_);
    program_ = nullptr;
  }

  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::string problem_;
};

}  // namespace

std::unique_ptr<Runner> make_opencl_runner(unsigned threads) {
  return std::make_unique<OpenClRunner>(threads);
}

#else

std::unique_ptr<Runner> make_opencl_runner(unsigned) {
  return nullptr;
}

#endif

}  // namespace mlxn::bench
