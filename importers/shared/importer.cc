#include "importers/shared/importer.h"

#include "importers/shared/packed_file.h"
#include "importers/shared/trace_files.h"

namespace xsp::importers {

Result<Importer> importer_of(const std::filesystem::path& file) {
  XSP_TRY(PackedFile packed, PackedFile::open(file));
  std::string head(kHeadBytes, '\0');
  XSP_TRY(const size_t size, packed.read(head.data(), head.size()));
  head.resize(size);
  std::string known = ".xtrace";
  for (const Importer& importer : all_importers()) {
    if (importer.recognises(head)) return importer;
    known += ", " + importer.name;
  }
  return usage(file.string() + ": no trace of a known format (" + known +
               "): see xsp import --help");
}

Result<std::vector<ConvertedRun>> convert(const Importer& importer,
                                          const std::filesystem::path& file,
                                          const std::filesystem::path& folder) {
  TraceFiles files(folder);
  XSP_TRY(const uint64_t left_out, importer.read(file, files));
  XSP_TRY(auto runs, files.close(left_out));
  if (runs.empty()) {
    return corrupt(file.string() + ": no spans: is it a trace of another kind?");
  }
  return runs;
}

}  // namespace xsp::importers
