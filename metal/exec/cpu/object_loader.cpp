#include "metal/exec/cpu/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "metal/exec/cpu/runtime_symbols.h"
#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint64_t kMaxMapping = uint64_t{1} << 30;
constexpr uint64_t kStubBytes = 16;  // one jump through the table of addresses
constexpr uint64_t kNotLoaded = ~uint64_t{0};

// Sections with the same protection lie together.
enum Region { kCode, kConstants, kData, kRegionCount };
constexpr int kProtection[kRegionCount] = {PROT_READ | PROT_EXEC, PROT_READ,
                                           PROT_READ | PROT_WRITE};

struct Section {
  Elf64_Shdr header;
  std::string_view name;
  uint64_t address = kNotLoaded;  // offset in the mapping
};

struct Symbol {
  Elf64_Sym entry;
  std::string_view name;
  uint64_t value = 0;  // final address
  int64_t stub = -1;   // index of its stub when it is external
  bool defined = false;
};

Error corrupt(std::string what) {
  return Error(ErrorCode::kCorruptData, "object code: " + std::move(what));
}

Error unsupported(std::string what) {
  return Error(ErrorCode::kUnsupported, "object code: " + std::move(what));
}

}  // namespace

class ObjectLoader {
 public:
  explicit ObjectLoader(std::span<const uint8_t> object) : object_(object) {}

  Result<std::unique_ptr<LoadedObject>> load() {
    MLXN_TRY(read_sections());
    MLXN_TRY(read_symbols());
    MLXN_TRY(lay_out());
    MLXN_TRY(map());
    MLXN_TRY(resolve_symbols());
    MLXN_TRY(relocate());
    MLXN_TRY(protect());
    return std::move(out_);
  }

 private:
  // Copies a structure out of the object, which may lie at any address.
  template <class T>
  Result<T> read(uint64_t offset, const char* what) const {
    if (!span_fits(offset, sizeof(T), object_.size())) {
      return corrupt(
          str(what, " at byte ", offset, " is past the end (", object_.size(), " bytes)"));
    }
    T out;
    std::memcpy(&out, object_.data() + offset, sizeof(T));
    return out;
  }

  // A zero-terminated name in a string table.
  Result<std::string_view> read_name(const Elf64_Shdr& table, uint64_t offset) const {
    if (offset >= table.sh_size) {
      return corrupt(str("name at ", offset, " of a string table of ", table.sh_size, " bytes"));
    }
    const char* first = reinterpret_cast<const char*>(object_.data()) + table.sh_offset + offset;
    const size_t room = table.sh_size - offset, length = strnlen(first, room);
    if (length == room) return corrupt("a name has no end");
    return std::string_view(first, length);
  }

  bool is_loaded(const Section& section) const {
    return (section.header.sh_flags & SHF_ALLOC) && section.name != ".eh_frame";
  }

  static Region region(const Section& section) {
    if (section.header.sh_flags & SHF_EXECINSTR) return kCode;
    return section.header.sh_flags & SHF_WRITE ? kData : kConstants;
  }

  Status check_header(const Elf64_Ehdr& header) const {
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("not an ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64 || header.e_type != ET_REL) {
      return unsupported(str("expected a 64-bit x86-64 relocatable object, got class ",
                             int{header.e_ident[EI_CLASS]}, ", machine ", header.e_machine,
                             ", type ", header.e_type));
    }
    if (header.e_shentsize != sizeof(Elf64_Shdr)) {
      return corrupt(
          str("section header of ", header.e_shentsize, " bytes, expected ", sizeof(Elf64_Shdr)));
    }
    if (header.e_shnum == 0) return unsupported("more than 65279 sections, or none");
    return {};
  }

  Status read_sections() {
    MLXN_ASSIGN(auto header, read<Elf64_Ehdr>(0, "header"));
    MLXN_TRY(check_header(header));
    const uint64_t table_bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (!span_fits(header.e_shoff, table_bytes, object_.size())) {
      return corrupt(str("section table at byte ", header.e_shoff, " is past the end"));
    }
    sections_.resize(header.e_shnum);
    for (size_t i = 0; i < sections_.size(); ++i) {
      MLXN_ASSIGN(sections_[i].header,
                  read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr), "section header"));
      MLXN_TRY(check_section(i));
    }
    if (header.e_shstrndx >= sections_.size()) return corrupt("no table of section names");
    const Elf64_Shdr& names = sections_[header.e_shstrndx].header;
    if (names.sh_type != SHT_STRTAB) return corrupt("no table of section names");
    for (Section& section : sections_) {
      MLXN_ASSIGN(section.name, read_name(names, section.header.sh_name));
    }
    return {};
  }

  Status check_section(size_t index) const {
    const Elf64_Shdr& header = sections_[index].header;
    if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL &&
        !span_fits(header.sh_offset, header.sh_size, object_.size())) {
      return corrupt(str("section ", index, " (", header.sh_size, " bytes at ", header.sh_offset,
                         ") is past the end"));
    }
    if (header.sh_addralign & (header.sh_addralign - 1)) {
      return corrupt(str("section ", index, " has alignment ", header.sh_addralign));
    }
    if (!(header.sh_flags & SHF_ALLOC)) return {};
    if (header.sh_flags & (SHF_TLS | SHF_COMPRESSED)) return unsupported("thread-local variables");
    if ((header.sh_flags & SHF_EXECINSTR) && (header.sh_flags & SHF_WRITE)) {
      return unsupported(str("section ", index, " is writable and executable"));
    }
    if (header.sh_type == SHT_INIT_ARRAY || header.sh_type == SHT_FINI_ARRAY) {
      return unsupported("static constructors");
    }
    return {};
  }

  Status read_symbols() {
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      if (!symbols_.empty()) return corrupt("two symbol tables");
      const Elf64_Shdr& header = section.header;
      if (header.sh_entsize != sizeof(Elf64_Sym) || header.sh_link >= sections_.size() ||
          sections_[header.sh_link].header.sh_type != SHT_STRTAB) {
        return corrupt("malformed symbol table");
      }
      symbols_.resize(header.sh_size / sizeof(Elf64_Sym));
      for (size_t i = 0; i < symbols_.size(); ++i) {
        MLXN_TRY(read_symbol(header, i));
      }
    }
    return {};
  }

  Status read_symbol(const Elf64_Shdr& table, size_t index) {
    Symbol& symbol = symbols_[index];
    MLXN_ASSIGN(symbol.entry,
                read<Elf64_Sym>(table.sh_offset + index * sizeof(Elf64_Sym), "symbol"));
    MLXN_ASSIGN(symbol.name, read_name(sections_[table.sh_link].header, symbol.entry.st_name));
    const uint16_t section = symbol.entry.st_shndx;
    if (section == SHN_UNDEF) {
      if (!symbol.name.empty()) symbol.stub = static_cast<int64_t>(stub_count_++);
    } else if (section == SHN_COMMON || section == SHN_XINDEX) {
      return unsupported(str("symbol ", symbol.name, " lies in a common block"));
    } else if (section < SHN_LORESERVE) {
      if (section >= sections_.size()) {
        return corrupt(
            str("symbol ", symbol.name, " lies in section ", section, " of ", sections_.size()));
      }
      if (symbol.entry.st_value > sections_[section].header.sh_size) {
        return corrupt(str("symbol ", symbol.name, " lies past the end of its section"));
      }
    }
    return {};
  }

  Status lay_out() {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    uint64_t cursor = page;  // the first page is a guard
    for (int r = 0; r < kRegionCount; ++r) {
      region_begin_[r] = cursor;
      for (Section& section : sections_) {
        if (!is_loaded(section) || region(section) != r) continue;
        const uint64_t alignment = std::max<uint64_t>(section.header.sh_addralign, 1);
        if (alignment > page) return unsupported(str("alignment of ", alignment, " bytes"));
        MLXN_ASSIGN(section.address, checked_align_up(cursor, alignment));
        MLXN_ASSIGN(cursor, checked_add<uint64_t>(section.address, section.header.sh_size));
        if (cursor > kMaxMapping) return too_large(cursor);
      }
      if (r == kCode) cursor = reserve(cursor, stub_count_ * kStubBytes, stubs_);
      if (r == kConstants) cursor = reserve(cursor, symbols_.size() * sizeof(uint64_t), addresses_);
      if (cursor > kMaxMapping) return too_large(cursor);
      cursor = (cursor + page - 1) & ~(page - 1);
      region_end_[r] = cursor;
    }
    total_ = cursor + page;
    return {};
  }

  static Error too_large(uint64_t size) {
    return unsupported(str(size, " bytes, at most ", kMaxMapping, " are loaded"));
  }

  static uint64_t reserve(uint64_t cursor, uint64_t bytes, uint64_t& begin) {
    begin = (cursor + 15) & ~uint64_t{15};
    return begin + bytes;
  }

  Status map() {
    void* base = mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
      return Error(ErrorCode::kOutOfMemory,
                   str("cannot map ", total_, " bytes for code: ", std::strerror(errno)));
    }
    out_.reset(new LoadedObject);
    out_->mapping_ = base_ = static_cast<uint8_t*>(base);
    out_->mapping_size_ = total_;
    const uint64_t begin = region_begin_[0], end = region_end_[kRegionCount - 1];
    if (end > begin && mprotect(base_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
      return Error(ErrorCode::kOutOfMemory, str("cannot write code: ", std::strerror(errno)));
    }
    for (const Section& section : sections_) {
      if (section.address == kNotLoaded || section.header.sh_type == SHT_NOBITS) continue;
      if (section.header.sh_size == 0) continue;
      std::memcpy(base_ + section.address, object_.data() + section.header.sh_offset,
                  section.header.sh_size);
    }
    return {};
  }

  Status resolve_symbols() {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      Symbol& symbol = symbols_[i];
      const uint16_t section = symbol.entry.st_shndx;
      if (symbol.stub >= 0) {
        void* found = runtime_symbol(symbol.name);
        if (!found) {
          return Error(ErrorCode::kPipelineFailed,
                       str("compiled code calls \"", symbol.name,
                           "\", which is not among the functions kernels may use"));
        }
        symbol.value = reinterpret_cast<uint64_t>(found);
        symbol.defined = true;
        write_stub(i);
      } else if (section == SHN_ABS) {
        symbol.value = symbol.entry.st_value;
        symbol.defined = true;
      } else if (section != SHN_UNDEF && section < SHN_LORESERVE &&
                 sections_[section].address != kNotLoaded) {
        symbol.value = address_of(sections_[section].address) + symbol.entry.st_value;
        symbol.defined = true;
        const bool has_code = symbol.entry.st_value < sections_[section].header.sh_size;
        if (region(sections_[section]) == kCode && has_code && !symbol.name.empty()) {
          out_->functions_.emplace(symbol.name,
                                   base_ + sections_[section].address + symbol.entry.st_value);
        }
      }
      std::memcpy(base_ + addresses_ + i * sizeof(uint64_t), &symbol.value, sizeof(uint64_t));
    }
    return {};
  }

  uint64_t address_of(uint64_t offset) const { return reinterpret_cast<uint64_t>(base_) + offset; }
  uint64_t slot_of(size_t symbol) const {
    return address_of(addresses_ + symbol * sizeof(uint64_t));
  }
  uint64_t stub_offset(const Symbol& symbol) const {
    return stubs_ + static_cast<uint64_t>(symbol.stub) * kStubBytes;
  }

  // jmp *[rip + distance to the symbol's slot]
  void write_stub(size_t index) {
    const uint64_t at = stub_offset(symbols_[index]);
    const int32_t distance = static_cast<int32_t>(slot_of(index) - (address_of(at) + 6));
    uint8_t* stub = base_ + at;
    stub[0] = 0xff;
    stub[1] = 0x25;
    std::memcpy(stub + 2, &distance, sizeof(distance));
  }

  Status relocate() {
    for (const Section& table : sections_) {
      const Elf64_Shdr& header = table.header;
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      if (header.sh_info >= sections_.size()) return corrupt("relocations of no section");
      const Section& target = sections_[header.sh_info];
      if (target.address == kNotLoaded) continue;
      if (header.sh_type == SHT_REL) return unsupported("relocations without addends");
      if (header.sh_entsize != sizeof(Elf64_Rela)) return corrupt("malformed relocations");
      if (target.header.sh_type == SHT_NOBITS) return corrupt("relocations of zeroed memory");
      for (uint64_t i = 0; i < header.sh_size / sizeof(Elf64_Rela); ++i) {
        MLXN_ASSIGN(auto entry,
                    read<Elf64_Rela>(header.sh_offset + i * sizeof(Elf64_Rela), "relocation"));
        MLXN_TRY(apply(target, entry));
      }
    }
    return {};
  }

  Status apply(const Section& target, const Elf64_Rela& entry) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info), index = ELF64_R_SYM(entry.r_info);
    if (type == R_X86_64_NONE) return {};
    if (index >= symbols_.size()) {
      return corrupt(str("relocation against symbol ", index, " of ", symbols_.size()));
    }
    const Symbol& symbol = symbols_[index];
    if (!symbol.defined) {
      return corrupt(str("relocation against \"", symbol.name, "\", which has no address"));
    }
    const uint64_t place = address_of(target.address) + entry.r_offset;
    const uint64_t addend = static_cast<uint64_t>(entry.r_addend);
    // A call to an external function goes through its stub, which is near.
    const uint64_t near_value = symbol.stub >= 0 ? address_of(stub_offset(symbol)) : symbol.value;
    switch (type) {
      case R_X86_64_64: return store<uint64_t>(target, entry, symbol.value + addend);
      case R_X86_64_PC64: return store<uint64_t>(target, entry, symbol.value + addend - place);
      case R_X86_64_PC32:
      case R_X86_64_PLT32: return store<int32_t>(target, entry, near_value + addend - place);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        return store<int32_t>(target, entry, slot_of(index) + addend - place);
      case R_X86_64_32: return store<uint32_t>(target, entry, symbol.value + addend);
      case R_X86_64_32S: return store<int32_t>(target, entry, symbol.value + addend);
      default: return unsupported(str("relocation type ", type));
    }
  }

  template <class T>
  Status store(const Section& target, const Elf64_Rela& entry, uint64_t value) {
    if (!span_fits(entry.r_offset, sizeof(T), target.header.sh_size)) {
      return corrupt(str("relocation at byte ", entry.r_offset, " of a section of ",
                         target.header.sh_size, " bytes"));
    }
    const T narrow = static_cast<T>(value);
    if (static_cast<uint64_t>(narrow) != value) {  // sign extends for int32_t
      return unsupported(str("a relocation does not reach its target in ", sizeof(T) * 8,
                             " bits; position-independent code is expected"));
    }
    std::memcpy(base_ + target.address + entry.r_offset, &narrow, sizeof(T));
    return {};
  }

  Status protect() {
    for (int r = 0; r < kRegionCount; ++r) {
      const uint64_t size = region_end_[r] - region_begin_[r];
      if (size > 0 && mprotect(base_ + region_begin_[r], size, kProtection[r]) != 0) {
        return Error(ErrorCode::kPipelineFailed,
                     str("cannot make code executable: ", std::strerror(errno)));
      }
    }
    return {};
  }

  std::span<const uint8_t> object_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  uint64_t stub_count_ = 0;
  uint64_t stubs_ = 0, addresses_ = 0, total_ = 0;  // offsets in the mapping, its size
  uint64_t region_begin_[kRegionCount] = {}, region_end_[kRegionCount] = {};
  uint8_t* base_ = nullptr;
  std::unique_ptr<LoadedObject> out_;
};

Result<std::unique_ptr<LoadedObject>> LoadedObject::load(std::span<const uint8_t> object) {
#if defined(__x86_64__)
  return ObjectLoader(object).load();
#else
  return unsupported(str("this build cannot run x86-64 code (", object.size(), " bytes)"));
#endif
}

LoadedObject::~LoadedObject() {
  if (mapping_) munmap(mapping_, mapping_size_);
}

Result<void*> LoadedObject::find_function(const std::string& name) const {
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    return Error(ErrorCode::kFunctionNotFound, str("compiled code has no function \"", name, "\""));
  }
  return found->second;
}

}  // namespace mlxn::cpu
