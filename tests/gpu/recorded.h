// The correlated content of a trace, for tests that check all of it.
#ifndef XSP_TESTS_GPU_RECORDED_H_
#define XSP_TESTS_GPU_RECORDED_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "desk/correlate/correlate.h"
#include "shared/base/result.h"
#include "shared/trace/reader.h"

namespace xsp::gpu_test {

struct Span {
  correlate::Span found;
  std::string name;
  std::string type;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  // Attributes of its site.
  std::map<std::string, std::string> attributes;
  std::map<std::string, double> counters;
};

struct Recorded {
  std::vector<Span> spans;
  std::map<uint64_t, size_t> by_id;
  correlate::Facts facts;
  std::vector<trace::Loss> losses;
  bool is_complete = false;

  const Span* parent(const Span& span) const {
    const auto found = by_id.find(span.found.parent_id);
    return found == by_id.end() ? nullptr : &spans[found->second];
  }
  const Span* of_id(uint64_t id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : &spans[found->second];
  }
};

// Reads the whole of a small trace.
Result<Recorded> read_recorded(const std::string& path);

}  // namespace xsp::gpu_test

#endif  // XSP_TESTS_GPU_RECORDED_H_
