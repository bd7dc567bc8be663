#include "importers/shared/importer.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "importers/shared/trace_files.h"

namespace xsp::importers {

Result<Importer> importer_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return failed(file.string() + ": cannot be read: " + std::strerror(errno));
  std::string head(kHeadBytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  std::string known = ".xtrace";
  for (const Importer& importer : all_importers()) {
    if (importer.recognises(head)) return importer;
    known += ", " + importer.name;
  }
  return usage(file.string() + ": no trace of a known format (" + known +
               "): see xsp import --help");
}

Result<std::vector<std::filesystem::path>> convert(const Importer& importer,
                                                   const std::filesystem::path& file,
                                                   const std::filesystem::path& folder) {
  TraceFiles files(folder);
  XSP_TRY(const uint64_t left_out, importer.read(file, files));
  XSP_TRY(auto traces, files.close(left_out));
  if (traces.empty()) {
    return corrupt(file.string() + ": no spans: is it a trace of another kind?");
  }
  return traces;
}

}  // namespace xsp::importers
