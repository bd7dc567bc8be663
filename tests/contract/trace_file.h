// An .xtrace file as a list of spans.
#ifndef XSP_TESTS_CONTRACT_TRACE_FILE_H_
#define XSP_TESTS_CONTRACT_TRACE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shared/trace/reader.h"

namespace xsp::contract {

struct Span {
  trace::Site site;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  int64_t iteration = -1;  // -1: not set
  std::map<std::string, double> counters;

  bool holds(const Span& inner) const {
    return start_ns <= inner.start_ns && inner.end_ns <= end_ns;
  }
};

struct TraceFile {
  bool is_complete = false;
  std::vector<Span> models;  // by start
  std::vector<Span> layers;  // by start, the longer first
  size_t others = 0;
  size_t open = 0;
  uint64_t lost = 0;
};

// Return a value of a site: "absent" and -1 if it has none of that key.
std::string attribute(const trace::Site& site, const std::string& key);
double counter(const trace::Site& site, const std::string& key);

// Fails the running test if the file cannot be read.
TraceFile read_trace(const std::filesystem::path& path);

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_TRACE_FILE_H_
