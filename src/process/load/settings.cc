#include "process/load/settings.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "process/worker/protocol.h"

namespace xsp::process {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kSecondsMax = 1e8;
constexpr std::string_view kLoadgenPrefix = "loadgen.";

template <typename Number>
bool parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.good()) return usage(path + ": cannot be read: check its name");
  return text.str();
}

bool set_generator(const std::string& value, LoadSettings* settings) {
  const std::map<std::string, Generator> generators = {{"closed", Generator::kClosed},
                                                       {"server", Generator::kServer},
                                                       {"offline", Generator::kOffline},
                                                       {"replay", Generator::kReplay},
                                                       {"loadgen", Generator::kLoadgen}};
  const auto found = generators.find(value);
  if (found == generators.end()) return false;
  settings->generator = found->second;
  return true;
}

bool in(uint64_t value, uint64_t least, uint64_t most) { return value >= least && value <= most; }

bool set_scenario(const std::string& value, LoadgenSettings* settings) {
  const std::map<std::string, LoadgenScenario> scenarios = {{"single", LoadgenScenario::kSingle},
                                                            {"multi", LoadgenScenario::kMulti},
                                                            {"server", LoadgenScenario::kServer},
                                                            {"offline", LoadgenScenario::kOffline}};
  const auto found = scenarios.find(value);
  if (found == scenarios.end()) return false;
  settings->scenario = found->second;
  return true;
}

// Returns false if the value is invalid or the key is unknown. `key` is the part behind "loadgen.".
bool set_loadgen(const std::string& key, const std::string& value, LoadgenSettings* s) {
  if (key == "scenario") return set_scenario(value, s);
  if (key == "samples") return parse(value, &s->samples) && in(s->samples, 1, kRequestsMax);
  if (key == "latency_ns") return parse(value, &s->latency_ns) && s->latency_ns > 0;
  if (key == "latency_share") {
    return parse(value, &s->latency_share) && s->latency_share > 0 && s->latency_share < 1;
  }
  if (key == "accuracy") {
    s->is_accuracy = value == "1";
    return value == "0" || value == "1";
  }
  if (key != "logs") return false;
  s->logs = value;
  return !value.empty();
}

// Returns false if the value is invalid or the key is unknown.
bool set_value(const std::string& key, const std::string& value, LoadSettings* s) {
  if (key == "generator") return set_generator(value, s);
  if (key.rfind(kLoadgenPrefix, 0) == 0) {
    return set_loadgen(key.substr(kLoadgenPrefix.size()), value, &s->loadgen);
  }
  if (key == "clients") return parse(value, &s->clients) && in(s->clients, 1, kRequestsMax);
  if (key == "group") return parse(value, &s->group) && in(s->group, 1, kBatchMax);
  if (key == "rate") return parse(value, &s->rate) && s->rate > 0 && s->rate <= kNsPerSecond;
  if (key == "requests") return parse(value, &s->requests) && in(s->requests, 1, kRequestsMax);
  if (key == "time_ns") return parse(value, &s->time_ns) && s->time_ns >= 0;
  if (key == "instances") return parse(value, &s->instances) && in(s->instances, 1, kInstancesMax);
  if (key == "max_batch") return parse(value, &s->max_batch) && in(s->max_batch, 1, kBatchMax);
  if (key == "max_wait_ns") return parse(value, &s->max_wait_ns) && s->max_wait_ns >= 0;
  if (key == "seed") return parse(value, &s->seed);
  if (key == "spans") {
    s->records_requests = value == "1";
    return value == "0" || value == "1";
  }
  std::string* const file = key == "answers"   ? &s->answers
                            : key == "items"   ? &s->items
                            : key == "outputs" ? &s->outputs
                            : key == "lengths" ? &s->lengths
                            : key == "tokens"  ? &s->tokens
                                               : nullptr;
  if (file == nullptr) return false;
  *file = value;
  return !value.empty();
}

// LoadGen itself accepts such settings, and never ends, or runs another test than was asked for.
Status check_loadgen(const LoadSettings& settings) {
  const LoadgenSettings& loadgen = settings.loadgen;
  if (loadgen.logs.empty()) return usage("loadgen.logs: missing: name the folder of its logs");
  if (loadgen.scenario == LoadgenScenario::kServer) {
    if (settings.rate == 0) return usage("rate: missing: a server needs the requests per second");
    if (loadgen.latency_ns == 0) {
      return usage("loadgen.latency_ns: missing: a server's latency has a bound");
    }
  }
  if (settings.requests % settings.group != 0) {
    return usage("requests: not a multiple of the group");
  }
  if (loadgen.is_accuracy && settings.requests != loadgen.samples) {
    return usage("requests: the accuracy mode answers each sample once");
  }
  return Ok{};
}

Status check(const LoadSettings& settings) {
  if (settings.requests == 0) return usage("requests: missing: give how many the load has");
  if (settings.answers.empty()) return usage("answers: missing: name the file to write");
  if (settings.items.empty() != settings.outputs.empty()) {
    return usage("items: they need outputs, and outputs need items: name both files");
  }
  if (settings.lengths.empty() != settings.tokens.empty()) {
    return usage("lengths: they need tokens, and tokens need lengths: name both files");
  }
  if (!settings.lengths.empty() && settings.instances > 1) {
    return usage("instances: a generation has one instance, which answers all clients together");
  }
  if (settings.generator == Generator::kLoadgen) return check_loadgen(settings);
  if (settings.generator == Generator::kServer && settings.rate == 0) {
    return usage("rate: missing: a server needs the requests per second");
  }
  if (settings.generator == Generator::kReplay && settings.arrivals.empty()) {
    return usage("arrivals: missing: name the file of arrival times");
  }
  return Ok{};
}

}  // namespace

Result<std::vector<int64_t>> parse_arrivals(std::string_view text, const std::string& name) {
  std::vector<int64_t> arrivals;
  double first = 0, last = 0;
  const std::vector<std::string_view> lines = lines_of(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].front() == '#') continue;
    const std::string where = name + ":" + std::to_string(i + 1) + ": ";
    double seconds = 0;
    if (!parse(lines[i], &seconds) || !std::isfinite(seconds)) {
      if (i == 0) continue;  // a heading
      return usage(where + "'" + std::string(lines[i].substr(0, 40)) +
                   "' is not a number of seconds: write one arrival time in a line");
    }
    if (arrivals.empty()) first = last = seconds;
    if (seconds < last) {
      return usage(where + "it is earlier than the arrival before it: sort the arrival times");
    }
    if (seconds - first > kSecondsMax || arrivals.size() == kRequestsMax) {
      return usage(where + "too late, or too many arrivals: cut the file before this line");
    }
    last = seconds;
    arrivals.push_back(std::llround((seconds - first) * kNsPerSecond));
  }
  if (arrivals.empty()) return usage(name + ": no arrival times: write one in a line, in seconds");
  return arrivals;
}

Result<LoadSettings> parse_load_settings(std::string_view text) {
  LoadSettings settings;
  const std::vector<std::string_view> lines = lines_of(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> fields = split_fields(lines[i]);
    const std::string where = "line " + std::to_string(i + 1) + ": ";
    if (fields.size() != 2) return usage(where + "not a key and a value, separated by a tab");
    if (fields[0] == "arrivals") {
      XSP_TRY(const std::string content, read_text(fields[1]));
      XSP_TRY(settings.arrivals, parse_arrivals(content, fields[1]));
    } else if (!set_value(fields[0], fields[1], &settings)) {
      return usage(where + fields[0] + " '" + fields[1] + "': unknown, or not a valid value");
    }
  }
  XSP_CHECK_OK(check(settings));
  return settings;
}

}  // namespace xsp::process
