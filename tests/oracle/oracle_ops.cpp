// How each op is called with the arguments of a case.
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/sample/argmax.h"
#include "mlxn/ops/softmax/softmax.h"
#include "tests/oracle/oracle_case.h"

namespace mlxn::test {
namespace {

Status call_rms_norm(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weight, one.buffer("weight"));
  MLXN_ASSIGN(const double eps, one.number("eps"));
  return rms_norm(encoder, {input, weight, output, static_cast<float>(eps)});
}

Status call_softmax(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return softmax(encoder, {input, output});
}

Status call_argmax(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return argmax(encoder, {input, output});
}

Status call_matmul(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weights, one.buffer("weights"));
  return matmul(encoder, {.weights = weights, .input = input, .output = output});
}

}  // namespace

const std::map<std::string, OracleOp>& oracle_ops() {
  static const std::map<std::string, OracleOp> ops = {{"rms_norm", call_rms_norm},
                                                      {"softmax", call_softmax},
                                                      {"argmax", call_argmax},
                                                      {"matmul", call_matmul}};
  return ops;
}

}  // namespace mlxn::test
