// One translation unit of a library: source, options, and what the compiler says about them.
#pragma once

#include <memory>
#include <mutex>

#include "metal/msl/library_file.h"
#include "metal/rt/device/device.h"

namespace mlxn::rt {

// The compiler is asked only when no cache can answer. Thread-safe.
class LibraryUnit {
 public:
  // From text, indexed at once.
  static Result<std::shared_ptr<LibraryUnit>> create(DeviceObject& device, msl::LibraryText text);
  // From a unit of a library file, which `file` keeps alive: its text is read when it is needed.
  static Result<std::shared_ptr<LibraryUnit>> open(const msl::StoredUnit& stored,
                                                   std::shared_ptr<const std::string> file);

  const msl::LibraryInfo& info() const { return *info_; }
  // Machine code of the request's one entry point.
  Result<std::shared_ptr<const msl::Image>> compile(DeviceObject& device,
                                                    const msl::CompileRequest& request);
  // This unit alone, as a library file.
  std::vector<uint8_t> serialize() const;
  // Adds this unit to those of a file to be written; `bytes` keeps what the views show.
  void store(std::vector<msl::StoredUnit>& units, std::vector<std::vector<uint8_t>>& bytes) const;

 private:
  Status read_text();  // once; later calls return at once
  Result<const msl::Library*> compiled();

  std::shared_ptr<const msl::LibraryInfo> info_;
  std::shared_ptr<const std::string> file_;  // null: made from text
  msl::StoredUnit stored_;                   // in file_
  std::mutex mutex_;
  bool has_text_ = false;
  msl::LibraryText text_;
  CacheKey key_;
  std::unique_ptr<msl::Library> compiled_;
};

}  // namespace mlxn::rt
