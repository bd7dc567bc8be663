// Helpers for the tests of the recording: scratch files, a recording, and all spans of a file.
#ifndef XSP_PROCESS_RECORD_TESTING_H_
#define XSP_PROCESS_RECORD_TESTING_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shared/trace/reader.h"
#include "xsp/xsp.h"

namespace xsp::process {

// If one of several threads forks, neither ThreadSanitizer nor qemu-user can follow a child that
// starts threads.
#if defined(__SANITIZE_THREAD__) || defined(XSP_EMULATED)
inline constexpr bool kForksWithThreads = false;
#else
inline constexpr bool kForksWithThreads = true;
#endif

inline xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "model");
inline xsp_site layer_site = XSP_SITE(XSP_LEVEL_LAYER, "layer");
// Emits this many spans of a model, each with a layer's span in it.
inline void emit_nested(int count) {
  for (int i = 0; i < count; ++i) {
    xsp_span a = xsp_begin(&model_site);
    xsp_span b = xsp_begin(&layer_site);
    xsp_end(&b);
    xsp_end(&a);
  }
}

// A folder that no other test uses; it is removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string form = (std::filesystem::temp_directory_path() / "xsp_test_XXXXXX").string();
    folder_ = mkdtemp(form.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name = "a.xtrace") const { return (folder_ / name).string(); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

inline int start(const std::string& path, uint32_t ring_bytes = 0, uint64_t file_bytes = 0,
                 uint32_t levels = 0) {
  xsp_options options = {};
  options.struct_size = sizeof options;
  options.path = path.c_str();
  options.ring_bytes = ring_bytes;
  options.file_bytes = file_bytes;
  options.levels = levels;
  return xsp_start(&options);
}

inline xsp_counts counts() {
  xsp_counts result = {};
  result.struct_size = sizeof result;
  xsp_get_counts(&result);
  return result;
}

struct ReadValue {
  std::string key;
  trace::SpanValue value;
};

struct ReadSpan {
  std::string name;
  std::string type;
  uint32_t level = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  uint64_t correlation_id = 0;
  uint32_t device = 0;
  uint32_t stream = 0;
  bool is_given = false;
  std::vector<ReadValue> values;
};

// Reads all spans of a file, stream by stream in the order of the chunks. Fails the test if one
// chunk is unreadable.
inline std::vector<ReadSpan> read_spans(const trace::Reader& reader) {
  std::vector<ReadSpan> spans;
  trace::SpanBatch batch;
  for (size_t s = 0; s < reader.streams().size(); ++s) {
    for (size_t c = 0; c < reader.streams()[s].chunk_count; ++c) {
      const Status status = reader.read(s, c, &batch);
      EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text);
      const size_t first = spans.size();
      for (size_t i = 0; i < batch.size(); ++i) {
        const trace::Site& site = reader.sites().at(batch.site[i] - 1);
        spans.push_back({site.name,
                         site.type,
                         site.level,
                         batch.start_ns[i],
                         batch.end_ns[i],
                         batch.thread[i],
                         batch.correlation_id[i],
                         batch.device[i],
                         batch.stream[i],
                         reader.streams()[s].given_times,
                         {}});
      }
      for (trace::SpanValue& value : batch.values) {
        spans[first + value.span].values.push_back({reader.keys().at(value.key), value});
      }
    }
  }
  return spans;
}

// Counts the spans that can be read from a file, which may be large.
inline uint64_t count_spans(const trace::Reader& reader) {
  uint64_t count = 0;
  trace::SpanBatch batch;
  for (size_t s = 0; s < reader.streams().size(); ++s) {
    for (size_t c = 0; c < reader.streams()[s].chunk_count; ++c) {
      const Status status = reader.read(s, c, &batch);
      EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text);
      count += batch.size();
    }
  }
  return count;
}

inline trace::Reader open_trace(const std::string& path) {
  Result<trace::Reader> reader = trace::Reader::open(path);
  if (!reader.ok()) {
    ADD_FAILURE() << reader.error().text;
    abort();
  }
  return std::move(reader).value();
}

// Returns the count of a loss that the library itself reports; 0 if there is no such loss.
inline uint64_t loss(const trace::Reader& reader, const std::string& cause,
                     const std::string& source = "trace") {
  for (const trace::Loss& loss : reader.losses()) {
    if (loss.source == source && loss.cause == cause) return loss.count;
  }
  return 0;
}

inline std::string all_losses(const trace::Reader& reader) {
  std::string text;
  for (const trace::Loss& loss : reader.losses()) {
    text += loss.source + "/" + loss.cause + "=" + std::to_string(loss.count) + " ";
  }
  return text;
}

// Returns whether any other thread of this process is running.
inline bool has_running_thread() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const size_t state = stat.rfind(')') + 2;
    if (state < stat.size() && stat[state] != 'S') return true;
  }
  return false;
}

// Waits until no other thread runs. It is called before a fork: AddressSanitizer's allocator has
// locks that a fork copies in their current state, and a thread that starts or ends may hold one.
inline void settle() {
#ifdef XSP_SANITIZED
  for (int i = 0; i < 1000 && has_running_thread(); ++i) usleep(1000);
#endif
}

// Runs `body` in a child process, which exits with the body's result and does not run the
// destructors of the parent's tests. Returns the status that waitpid() reports.
inline int in_child(const std::function<int()>& body) {
  settle();
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// Returns whether the child exited normally with 0.
inline bool is_success(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_TESTING_H_
