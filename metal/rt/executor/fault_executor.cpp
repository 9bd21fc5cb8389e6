#include "metal/rt/executor/fault_executor.h"

#include <limits>

#include "mlxn/base/strings.h"

namespace mlxn::rt {

using metal::Fault;

namespace {

class FaultStream : public Stream {
 public:
  FaultStream(FaultExecutor& faults, std::unique_ptr<Stream> inner)
      : faults_(faults), inner_(std::move(inner)) {}

  void submit(Submission& submission) override {
    if (faults_.expects(Fault::kRun)) add_faults(submission.steps);
    inner_->submit(submission);
  }
  void help(const std::function<bool()>& done) override { inner_->help(done); }
  bool is_current() const override { return inner_->is_current(); }

 private:
  void add_faults(RecycledVector<Step>& steps) const {
    RecycledVector<Step> all;
    for (Step& step : steps) {
      if (std::holds_alternative<ListStep>(step)) {
        all.emplace_back(HostStep{[&faults = faults_] {
          return faults.pass(Fault::kRun, ErrorCode::kExecutionFailed, "a run");
        }});
      }
      all.push_back(std::move(step));
    }
    steps = std::move(all);
  }

  FaultExecutor& faults_;
  const std::unique_ptr<Stream> inner_;
};

}  // namespace

void FaultExecutor::inject(Fault fault, uint64_t after) {
  const auto kind = static_cast<size_t>(fault);
  if (kind < calls_left_.size() && after < std::numeric_limits<uint64_t>::max()) {
    calls_left_[kind] = after + 1;
  }
}

Status FaultExecutor::pass(Fault fault, ErrorCode code, const char* what) {
  auto& left = calls_left_[static_cast<size_t>(fault)];
  uint64_t seen = left.load(std::memory_order_relaxed);
  while (seen != 0 && !left.compare_exchange_weak(seen, seen - 1)) {
  }
  if (seen != 1) return {};
  return Error(code, str("injected failure of ", what));
}

Result<std::shared_ptr<Memory>> FaultExecutor::allocate(uint64_t size, Storage storage) {
  MLXN_TRY(pass(Fault::kAllocation, ErrorCode::kOutOfMemory, "an allocation"));
  return inner_->allocate(size, storage);
}

Result<std::shared_ptr<Memory>> FaultExecutor::wrap(void* host, uint64_t size) {
  MLXN_TRY(pass(Fault::kAllocation, ErrorCode::kOutOfMemory, "an allocation"));
  return inner_->wrap(host, size);
}

Result<std::shared_ptr<Pipeline>> FaultExecutor::load(const std::string& kernel,
                                                      const Size3& required,
                                                      CompileKernel compile) {
  auto counted = [this, compile = std::move(compile)](
                     msl::CompileRequest request) -> Result<std::shared_ptr<const msl::Image>> {
    MLXN_TRY(pass(Fault::kPipeline, ErrorCode::kPipelineFailed, "a pipeline"));
    return compile(std::move(request));
  };
  return inner_->load(kernel, required, std::move(counted));
}

std::unique_ptr<Stream> FaultExecutor::create_stream() {
  return std::make_unique<FaultStream>(*this, inner_->create_stream());
}

}  // namespace mlxn::rt
