#include "adapters/mxnet/profile.h"

#include <cstdlib>
#include <string_view>

namespace xsp::mxnet {
namespace {

struct Event {
  std::string name;
  std::string category;
  char phase = ' ';
  int64_t time_us = 0;
};

// Parses `"key": "value",` or `"key": 12`; the value is returned without its quotes.
bool field_of(std::string_view line, std::string_view* key, std::string_view* value) {
  const size_t begin = line.find('"');
  const size_t end = begin == std::string_view::npos ? begin : line.find("\": ", begin + 1);
  if (end == std::string_view::npos) return false;
  *key = line.substr(begin + 1, end - begin - 1);
  *value = line.substr(end + 3);
  while (!value->empty() && (value->back() == ',' || value->back() == '\r'))
    value->remove_suffix(1);
  if (value->size() >= 2 && value->front() == '"' && value->back() == '"') {
    *value = value->substr(1, value->size() - 2);
  }
  return true;
}

// Reads the fields up to the next closing brace.
bool next_event(std::istream& file, Event* event) {
  *event = {};
  std::string line;
  while (std::getline(file, line)) {
    if (line.find('}') != std::string::npos) return true;
    std::string_view key, value;
    if (!field_of(line, &key, &value)) continue;
    if (key == "name") event->name = value;
    if (key == "cat") event->category = value;
    if (key == "ph" && !value.empty()) event->phase = value[0];
    if (key == "ts") event->time_us = std::strtoll(std::string(value).c_str(), nullptr, 10);
  }
  return false;
}

}  // namespace

bool next_operator(std::istream& file, OperatorEvent* event) {
  Event begin, end;
  while (next_event(file, &begin)) {
    if (begin.phase != 'B' || begin.category != "operator") continue;
    if (!next_event(file, &end)) return false;
    if (end.phase != 'E' || end.name != begin.name) continue;
    *event = {begin.name, begin.time_us, end.time_us};
    return true;
  }
  return false;
}

}  // namespace xsp::mxnet
