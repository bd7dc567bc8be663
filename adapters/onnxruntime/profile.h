// Reads ONNX Runtime's own profile of a session, event by event.
//
// The file is JSON with one event per line, in the order in which they ended; times are
// microseconds since the profile's start, rounded down. It may be as large as 1 GB, and is never
// held in memory. A run's nodes come before the event "model_run" of that run. After 1,000,000
// events the runtime drops the rest.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_PROFILE_H_
#define XSP_ADAPTERS_ONNXRUNTIME_PROFILE_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace xsp::ort {

// Describes a node's execution. Its texts are valid until the next event.
struct NodeEvent {
  std::string_view name;
  std::string_view op_type;
  std::string_view provider;
  std::string_view node_index;
  std::string_view input_shapes;   // JSON: [{"float":[1,3,224,224]},...]
  std::string_view output_shapes;  // likewise
  int64_t parameter_bytes = -1;    // -1: not reported, here and below
  int64_t activation_bytes = -1;
  int64_t output_bytes = -1;
  int64_t allocated_bytes = -1;
  uint32_t thread = 0;
  int64_t start_us = 0;
  int64_t duration_us = 0;
};

class ProfileReader {
 public:
  enum class Event { kNode, kRun, kOther, kUnreadable, kEnd };

  explicit ProfileReader(const std::string& path);
  ~ProfileReader();

  bool is_open() const { return file_.is_open(); }
  Event next(NodeEvent* node);

 private:
  struct Parser;
  bool parse();  // parses line_ into the document
  std::ifstream file_;
  std::string line_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_PROFILE_H_
