// Reading: several threads read files, and one thread takes what they read.
#ifndef XSP_DESK_CATALOGUE_READING_H_
#define XSP_DESK_CATALOGUE_READING_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "desk/catalogue/figures.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

struct Reading {
  FileFigures figures;
  bool is_known = false;  // only its hash was read
  std::string problem;    // why it cannot be read; empty if it can
};

// Returns whether the file with this hash needs no reading. Several threads call it.
using IsKnown = std::function<bool(const std::filesystem::path& path, const std::string& sha256)>;
// Gets each file, in order, on the calling thread. A failure ends the reading.
using Take = std::function<Status(const std::filesystem::path& path, const Reading& one)>;

Status read_files(const std::vector<std::filesystem::path>& files, const IsKnown& is_known,
                  const Take& take);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_READING_H_
