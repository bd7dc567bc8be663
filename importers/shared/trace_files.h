// TraceFiles writes spans of other tools as .xtrace files: one for each run and process.
#ifndef XSP_IMPORTERS_SHARED_TRACE_FILES_H_
#define XSP_IMPORTERS_SHARED_TRACE_FILES_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>
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
  void add_run(const ForeignRun& run) override { described_[run.id] = run; }
  // Completes the files, and returns them by run, in the order of the processes' first spans. The
  // first file gets the loss of so many events that were no spans.
  Result<std::vector<ConvertedRun>> close(uint64_t left_out);

 private:
  class File;

  std::filesystem::path folder_;
  std::map<uint32_t, ForeignRun> described_;
  std::set<uint32_t> numbered_;                                // runs whose inferences have numbers
  std::map<std::pair<uint32_t, uint32_t>, File*> of_process_;  // by run and process
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace xsp::importers

#endif  // XSP_IMPORTERS_SHARED_TRACE_FILES_H_
