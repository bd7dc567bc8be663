// Finds the names of functions of compiled code, in the files that contain it.
#ifndef XSP_DESK_STORE_SYMBOLS_H_
#define XSP_DESK_STORE_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xsp::store {

// Uses the symbol table of a 64-bit ELF file, or its dynamic symbols if the file was stripped.
// Files are read once.
class Symbols {
 public:
  // Returns the demangled name of the function at an offset in a file. If it is not known, returns
  // the file's name in brackets.
  std::string name(const std::string& path, uint64_t offset);

 private:
  struct Function {
    uint64_t start = 0;  // offset in the file
    uint64_t end = 0;
    std::string name;
  };
  static std::vector<Function> read(const std::string& path);

  std::map<std::string, std::vector<Function>> files_;
};

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_SYMBOLS_H_
