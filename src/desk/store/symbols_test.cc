#include "desk/store/symbols.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <fstream>

#include "desk/store/testing.h"

namespace xsp::store {

// The place of this program's own code in its file. The tests look for the functions below there.
struct Place {
  uint64_t address;
  uint64_t offset = 0;
};

int find_place(dl_phdr_info* info, size_t, void* context) {
  auto* place = static_cast<Place*>(context);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || place->address - start >= segment.p_filesz) continue;
    place->offset = segment.p_offset + (place->address - start);
    return 1;
  }
  return 0;
}

// A function that the compiler neither inlines nor copies.
__attribute__((noinline, noclone)) int planted_function(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

namespace {

TEST(Symbols, NameTheFunctionAtAPlaceInAFile) {
  Place place{reinterpret_cast<uint64_t>(&planted_function)};
  ASSERT_EQ(dl_iterate_phdr(find_place, &place), 1);
  Symbols symbols;
  EXPECT_EQ(symbols.name("/proc/self/exe", place.offset), "xsp::store::planted_function(int)");
  EXPECT_EQ(planted_function(1), 2);
}

TEST(Symbols, OfWhatIsNoSuchFileAreItsName) {
  Symbols symbols;
  EXPECT_EQ(symbols.name("/nowhere/libgone.so", 64), "[libgone.so]");
  EXPECT_EQ(symbols.name("[vdso]", 64), "[vdso]");
  const ScratchFolder folder;
  const std::string path = (folder.path() / "text").string();
  std::ofstream(path) << "\x7f"
                      << "ELF, and no more";
  EXPECT_EQ(symbols.name(path, 64), "[text]");
}

}  // namespace
}  // namespace xsp::store
