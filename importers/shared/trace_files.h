// TraceFiles writes spans of other tools as .xtrace files: one for each process.
#ifndef XSP_IMPORTERS_SHARED_TRACE_FILES_H_
#define XSP_IMPORTERS_SHARED_TRACE_FILES_H_

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "importers/shared/importer.h"
#include "shared/base/result.h"

namespace xsp::importers {

inline constexpr size_t kProcessesMax = 256;

class TraceFiles final : public SpanSink {
 public:
  // The folder exists.
  explicit TraceFiles(std::filesystem::path folder);
  ~TraceFiles() override;
  // Fails if the file cannot be written, or if there are too many processes or names.
  Status add(const ForeignSpan& span) override;
  // Completes the files, and returns their paths in the order of the processes' first spans. The
  // first file gets the loss of so many events that were no spans.
  Result<std::vector<std::filesystem::path>> close(uint64_t left_out);

 private:
  class File;

  std::filesystem::path folder_;
  std::map<uint32_t, File*> of_process_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace xsp::importers

#endif  // XSP_IMPORTERS_SHARED_TRACE_FILES_H_
