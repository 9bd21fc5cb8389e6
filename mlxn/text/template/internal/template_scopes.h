// Guards that the evaluator holds while it goes down a template.
#pragma once

#include "mlxn/base/strings.h"
#include "mlxn/text/template/internal/template_evaluator.h"

namespace mlxn::text::detail {

// One level of recursion.
class Evaluator::Depth {
 public:
  explicit Depth(Evaluator& evaluator) : evaluator_(evaluator) { ++evaluator_.depth_; }
  ~Depth() { --evaluator_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  Status check(Position at) const {
    if (evaluator_.depth_ <= evaluator_.program_.limits.depth) return {};
    return template_error(ErrorCode::kOutOfRange, at,
                          str("nested deeper than ", evaluator_.program_.limits.depth));
  }

 private:
  Evaluator& evaluator_;
};

// Names that are set until the end of a block.
class Evaluator::Scope {
 public:
  Scope(Evaluator& evaluator, size_t parent) : evaluator_(evaluator), outer_(evaluator.frame_) {
    evaluator_.frames_.push_back({{}, parent});
    evaluator_.frame_ = evaluator_.frames_.size() - 1;
  }
  ~Scope() {
    evaluator_.frames_.pop_back();
    evaluator_.frame_ = outer_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Evaluator& evaluator_;
  size_t outer_;
};

inline uint64_t value_count(const Value& value) {
  if (const ValueList* list = value.list()) return list->size();
  if (const ValueDict* dict = value.dict()) return dict->size();
  return 0;
}

}  // namespace mlxn::text::detail
