#include "desk/store/symbols.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace xsp::store {
namespace {

constexpr uint64_t kTableBytesMax = uint64_t{1} << 30;

// Reads a part of a file. The result is shorter if the file ends before.
std::vector<char> part_of(std::ifstream& file, uint64_t offset, uint64_t bytes) {
  std::vector<char> part(std::min(bytes, kTableBytesMax));
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(part.data(), static_cast<std::streamsize>(part.size()));
  part.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return part;
}

template <typename T>
std::vector<T> structures_of(std::ifstream& file, uint64_t offset, uint64_t count) {
  const std::vector<char> bytes =
      part_of(file, offset, std::min(count, kTableBytesMax) * sizeof(T));
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return text != nullptr ? text.get() : name;
}

}  // namespace

std::vector<Symbols::Function> Symbols::read(const std::string& path) {
  std::vector<Function> functions;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return functions;
  std::ifstream file(path, std::ios::binary);
  const auto heads = structures_of<Elf64_Ehdr>(file, 0, 1);
  if (heads.empty() || std::memcmp(heads[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      heads[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return functions;
  }
  const auto segments = structures_of<Elf64_Phdr>(file, heads[0].e_phoff, heads[0].e_phnum);
  const auto sections = structures_of<Elf64_Shdr>(file, heads[0].e_shoff, heads[0].e_shnum);
  const auto find = [&sections](uint32_t type) {
    return std::find_if(sections.begin(), sections.end(),
                        [type](const Elf64_Shdr& one) { return one.sh_type == type; });
  };
  auto table = find(SHT_SYMTAB);
  if (table == sections.end()) table = find(SHT_DYNSYM);
  if (table == sections.end() || table->sh_link >= sections.size()) return functions;
  const Elf64_Shdr& texts_at = sections[table->sh_link];
  std::vector<char> texts = part_of(file, texts_at.sh_offset, texts_at.sh_size);
  texts.push_back('\0');
  const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
  for (const Elf64_Sym& symbol : structures_of<Elf64_Sym>(file, table->sh_offset, count)) {
    const bool is_function =
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
    if (!is_function || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size()) continue;
    for (const Elf64_Phdr& segment : segments) {
      const uint64_t from = symbol.st_value - segment.p_vaddr;
      if (segment.p_type != PT_LOAD || from >= segment.p_filesz) continue;
      const uint64_t start = segment.p_offset + from;
      functions.push_back({start, start + symbol.st_size, &texts[symbol.st_name]});
      break;
    }
  }
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return a.start != b.start ? a.start < b.start : a.name < b.name;
  });
  return functions;
}

std::string Symbols::name(const std::string& path, uint64_t offset) {
  auto found = files_.find(path);
  if (found == files_.end()) found = files_.emplace(path, read(path)).first;
  const std::vector<Function>& functions = found->second;
  // Offsets are exact to 16 bytes, so a function that begins within the step matches.
  constexpr uint64_t kStep = 16;
  auto next = std::upper_bound(
      functions.begin(), functions.end(), offset + kStep - 1,
      [](uint64_t place, const Function& function) { return place < function.start; });
  while (next != functions.begin()) {
    --next;
    if (next->start <= offset && offset >= next->end && next->end > next->start) break;
    if (next->start <= offset || next->end > offset) return readable(next->name.c_str());
  }
  const std::string file = std::filesystem::path(path).filename();
  return path.starts_with('[') ? path : "[" + file + "]";
}

}  // namespace xsp::store
