// Names of functions of compiled code, from the files that hold it.
#ifndef XSP_STORE_SYMBOLS_H_
#define XSP_STORE_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xsp::store {

// By the table of symbols of an ELF file of 64 bits, or, where it was stripped, by that of what it
// offers to others. Files are read once.
class Symbols {
 public:
  // The function at a place in a file, as C++ has it; that it is in the file, if nothing is known.
  std::string name(const std::string& path, uint64_t offset);

 private:
  struct Function {
    uint64_t start = 0;  // in the file
    uint64_t end = 0;
    std::string name;
  };
  static std::vector<Function> read(const std::string& path);

  std::map<std::string, std::vector<Function>> files_;
};

}  // namespace xsp::store

#endif  // XSP_STORE_SYMBOLS_H_
