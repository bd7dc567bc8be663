// Reads arbitrary bytes as a file of Chrome's trace events, by `xsp import`'s importer.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "importers/shared/importer.h"
#include "tests/fuzz/require.h"
#include "xsp/xsp.h"

namespace {

using xsp::importers::ForeignSpan;

class Checked : public xsp::importers::SpanSink {
 public:
  xsp::Status add(const ForeignSpan& span) override {
    require(span.level <= XSP_LEVEL_KERNEL);
    require(span.duration_ns >= 0);
    ++spans_;
    return xsp::Ok{};
  }
  void add_run(const xsp::importers::ForeignRun& run) override { require(run.id > 0); }
  uint64_t spans_ = 0;
};

// Returns the path of a file in memory with these bytes; each call replaces the last one's.
std::filesystem::path file_of(const uint8_t* data, size_t size) {
  static const int file = memfd_create("events", MFD_CLOEXEC);
  require(ftruncate(file, 0) == 0);
  require(pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const xsp::importers::Importer chrome = xsp::importers::all_importers().front();
  Checked spans;
  const auto left_out = chrome.read(file_of(data, size), spans);
  if (!left_out.ok()) {
    require(!left_out.error().text.empty());
    return 0;
  }
  // An event takes at least two bytes.
  require(spans.spans_ + *left_out <= size / 2);
  return 0;
}
