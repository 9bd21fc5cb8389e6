#include "mlxn/model/architecture.h"

#include "mlxn/base/strings.h"

namespace mlxn::model {

Result<std::unique_ptr<Architecture>> create_architecture(Weights& weights,
                                                          ArchitectureList known) {
  MLXN_ASSIGN(const std::string name, weights.metadata().text("general.architecture"));
  std::string names;
  for (const ArchitectureEntry* entry : known) {
    if (entry->name == name) {
      MLXN_ASSIGN(std::unique_ptr<Architecture> architecture, entry->create(weights));
      MLXN_TRY(weights.check_all_used());
      return architecture;
    }
    names += str(names.empty() ? "" : ", ", entry->name);
  }
  return Error(ErrorCode::kUnsupported,
               str("architecture '", name, "' is not there yet, expected one of: ", names));
}

}  // namespace mlxn::model
