// Reads Chrome's trace events in JSON, as `xsp export --to chrome` and many other programs write
// them.
//
// Spans are the events of the phases X (complete), and B and E (begin and end on one thread). A
// level is that of `args.level`, or follows from the category that profilers of GPUs write; else it
// is application. Device, stream and correlation id are taken from `args`. Times are microseconds,
// with the nanoseconds as decimals, since baseTimeNanoseconds, if the file has that.
//
// PyTorch's profiler (Kineto) gives each device a process of its own: its spans move to that of
// their launch.
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "importers/shared/importer.h"
#include "importers/shared/json_events.h"
#include "shared/base/levels.h"

namespace xsp::importers {
namespace {

namespace json = simdjson::ondemand;

constexpr size_t kOpenMax = 1 << 20;  // begun events that have not ended
// The year 2065 in UNIX time. The sum of a base, a start and a duration is still an int64_t.
constexpr int64_t kNanosecondsMax = 3000000000000000000;

struct Category {
  std::string_view name;
  uint32_t level;
};
constexpr Category kCategories[] = {
    {"kernel", XSP_LEVEL_KERNEL},     {"gpu_memcpy", XSP_LEVEL_KERNEL},
    {"gpu_memset", XSP_LEVEL_KERNEL}, {"cuda_runtime", XSP_LEVEL_API},
    {"cuda_driver", XSP_LEVEL_API},   {"cpu_op", XSP_LEVEL_LAYER},
};

// The bits of a thread above these are its lane: see desk/correlate/rules.h.
constexpr int kLaneBits = 22;

// The time of a user's annotation on a stream. Kineto does not always name the stream in `args`.
constexpr std::string_view kDeviceAnnotation = "gpu_user_annotation";

// Returns 0 if the category does not tell.
uint32_t level_of_category(std::string_view category) {
  for (const Category& known : kCategories) {
    if (known.name == category) return known.level;
  }
  return level_named(category);
}

// An event as it is written.
struct Event {
  char phase = 0;
  std::string category;
  std::optional<int64_t> start_ns;
  std::optional<int64_t> duration_ns;
  uint32_t track = 0;  // the thread as it is written: events of the phases B and E share it
  bool is_on_device = false;
  ForeignSpan span;

  ForeignRun described() const {
    ForeignRun run;
    run.id = span.run;
    for (const auto& [key, value] : span.attributes) {
      if (key == "levels") run.levels = value;
      if (key == "counters_of_run") run.counters = value;
      if (key == "framework") run.framework = value;
      if (key == "framework_version") run.framework_version = value;
      if (key == "run_device") run.device = value;
      int batch = 0;
      const char* end = value.data() + value.size();
      if (key == "batch" && std::from_chars(value.data(), end, batch).ec == std::errc() &&
          batch > 0) {
        run.batch = batch;
      }
    }
    return run;
  }
};

template <typename T>
T value_or(simdjson::simdjson_result<T> result, T otherwise) {
  T value = otherwise;
  return std::move(result).get(value) == simdjson::SUCCESS ? value : otherwise;
}

// The event that describes a run, as exporters/chrome.cc writes it. Other tools write none, so that
// their spans are of one run, whatever they call `run`.
constexpr std::string_view kRunEvent = "xsp_run";

// The digits of a decimal number, which may have an exponent: 1.25e3 has 125, and 4 before the dot.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  int64_t before_dot = 0;  // may be negative, or more than there are digits
};

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal number;
  size_t at = 0;
  const auto take_digits = [&] {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') number.digits += text[at++];
  };
  if (at < text.size() && text[at] == '-') {
    number.is_negative = true;
    ++at;
  }
  take_digits();
  number.before_dot = static_cast<int64_t>(number.digits.size());
  if (at < text.size() && text[at] == '.') {
    ++at;
    take_digits();
  }
  if (number.digits.empty()) return std::nullopt;
  if (at == text.size()) return number;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  ++at;
  if (at < text.size() && text[at] == '+') ++at;
  int exponent = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + at, end, exponent);
  if (error != std::errc() || rest != end) return std::nullopt;
  number.before_dot += exponent;
  return number;
}

// Reads microseconds as nanoseconds, exactly: a double has too few digits for UNIX time.
std::optional<int64_t> nanoseconds_of(std::string_view text) {
  while (!text.empty() && (text.back() <= ' ' || text.back() == '"')) text.remove_suffix(1);
  if (!text.empty() && text.front() == '"') text.remove_prefix(1);
  const std::optional<Decimal> number = decimal_of(text);
  if (!number) return std::nullopt;
  constexpr int64_t kShift = 3;  // from microseconds
  const int64_t wanted = number->before_dot + kShift;
  const auto digit = [&](int64_t i) {
    const bool is_written = i >= 0 && i < static_cast<int64_t>(number->digits.size());
    return is_written ? number->digits[static_cast<size_t>(i)] - '0' : 0;
  };
  int64_t all = 0;
  for (int64_t i = 0; i < wanted; ++i) {
    if (all > (kNanosecondsMax - digit(i)) / 10) return std::nullopt;
    all = all * 10 + digit(i);
    // Zeros follow a zero, whatever the exponent.
    if (all == 0 && i >= static_cast<int64_t>(number->digits.size())) break;
  }
  if (digit(wanted) >= 5) ++all;  // the first digit that is left out rounds
  return number->is_negative ? -all : all;
}

// A process or a thread may be named by a number or by a text.
uint32_t number_of_place(json::value value) {
  int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return static_cast<uint32_t>(number);
  const std::string_view text = value_or(value.get_string(), std::string_view());
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) {
    return static_cast<uint32_t>(number);
  }
  return static_cast<uint32_t>(std::hash<std::string_view>()(text) & 0x3fffff);
}

std::optional<int64_t> integer_of(json::value value) {
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

void read_facts(json::value value, bool are_counters, ForeignSpan* span) {
  json::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return;
  for (auto field : object) {
    const std::string key(value_or(field.unescaped_key(), std::string_view()));
    if (are_counters) {
      span->counters.emplace_back(key, value_or(field.value().get_double(), std::nan("")));
    } else {
      span->attributes.emplace_back(key, value_or(field.value().get_string(), std::string_view()));
    }
  }
}

// Takes an argument that has a meaning of its own. Returns false for any other.
bool take_known(std::string_view key, json::value value, Event* event) {
  ForeignSpan& span = event->span;
  if (key == "level") {
    span.level = level_named(value_or(value.get_string(), std::string_view()));
    return span.level != 0;
  }
  if (key == "attributes" || key == "counters") {
    read_facts(value, key == "counters", &span);
    return true;
  }
  if (key == "type") {
    span.type = value_or(value.get_string(), std::string_view());
    return !span.type.empty();
  }
  if (key == "span" || key == "parent") return true;  // found anew
  if (key == "iteration") {
    span.iteration = integer_of(value);
    return true;
  }
  if (key == "open") {
    span.is_open = value_or(value.get_bool(), false);
    return span.is_open;
  }
  if (key != "run" && key != "thread" && key != "device" && key != "stream" && key != "correlation")
    return false;
  const std::optional<int64_t> number = integer_of(value);
  if (!number || *number < 0) return true;
  const auto small = static_cast<uint32_t>(*number);
  if (key == "run") span.run = small;
  if (key == "thread") span.thread = small;
  if (key == "device") span.device = small;
  if (key == "stream") span.stream = small;
  if (key == "correlation") span.correlation = static_cast<uint64_t>(*number);
  return true;
}

void read_arguments(json::value value, Event* event) {
  json::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return;
  for (auto field : object) {
    const std::string key(value_or(field.unescaped_key(), std::string_view()));
    json::value argument;
    if (field.value().get(argument) != simdjson::SUCCESS) return;
    if (take_known(key, argument, event)) continue;
    std::string_view text;
    if (argument.get_string().get(text) != simdjson::SUCCESS &&
        simdjson::to_json_string(argument).get(text) != simdjson::SUCCESS) {
      return;
    }
    event->span.attributes.emplace_back(key, text);
  }
}

class EventParser {
 public:
  // Returns nothing if the text is malformed.
  std::optional<Event> parse(std::string* text) {
    text->reserve(text->size() + simdjson::SIMDJSON_PADDING);
    json::document document;
    json::object object;
    if (parser_.iterate(*text).get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    Event event;
    std::optional<uint32_t> thread;
    for (auto field : object) {
      std::string_view key;
      json::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
          field.value().get(value) != simdjson::SUCCESS) {
        return std::nullopt;
      }
      if (key == "ph") {
        const std::string_view phase = value_or(value.get_string(), std::string_view());
        event.phase = phase.empty() ? '\0' : phase[0];
      } else if (key == "name") {
        event.span.name = value_or(value.get_string(), std::string_view());
      } else if (key == "cat") {
        event.category = value_or(value.get_string(), std::string_view());
      } else if (key == "ts") {
        event.start_ns = nanoseconds_of(value.raw_json_token());
      } else if (key == "dur") {
        event.duration_ns = nanoseconds_of(value.raw_json_token());
      } else if (key == "pid") {
        event.span.process = number_of_place(value);
      } else if (key == "tid") {
        thread = number_of_place(value);
      } else if (key == "args") {
        read_arguments(value, &event);
      }
    }
    complete(thread, &event);
    return event;
  }

 private:
  static void complete(std::optional<uint32_t> thread, Event* event) {
    ForeignSpan& span = event->span;
    const bool has_level = span.level != 0;
    if (!has_level) span.level = level_of_category(event->category);
    if (span.level == 0) span.level = XSP_LEVEL_APPLICATION;
    if (!has_level && span.type.empty()) span.type = event->category;
    event->track = thread.value_or(0);
    // A runtime's call may name the stream that it is for.
    const bool names_place = span.level != XSP_LEVEL_API && (span.stream || span.device);
    const bool is_of_stream = names_place || event->category == kDeviceAnnotation;
    event->is_on_device = is_of_stream || span.level == XSP_LEVEL_KERNEL;
    // The track of a stream is no thread.
    if (span.thread == 0 && !is_of_stream) span.thread = event->track;
  }

  json::parser parser_;
};

class ChromeReader {
 public:
  ChromeReader(std::filesystem::path file, SpanSink& sink) : file_(std::move(file)), sink_(sink) {}

  Result<uint64_t> read() {
    XSP_CHECK_OK(each_event([this](const Event& event) -> Status {
      if (is_of_host(event)) hosts_.insert(event.span.process);
      return Ok{};
    }));
    // With one host, every launch is there.
    if (hosts_.size() > 1) XSP_CHECK_OK(find_launches());
    left_out_ = 0;
    XSP_CHECK_OK(each_event([this](Event& event) { return take(event); }));
    left_out_ += open_count_;
    return left_out_;
  }

 private:
  struct Launch {
    uint64_t correlation = 0;
    uint32_t process = 0;
    auto operator<=>(const Launch&) const = default;
  };

  static bool is_span(const Event& event) {
    return event.phase == 'X' || event.phase == 'B' || event.phase == 'E';
  }

  // A process is a host if it launches or has layers. Others have only annotations, or what a
  // profiler tells of itself.
  static bool is_of_host(const Event& event) {
    return is_span(event) && !event.is_on_device &&
           (event.span.level > XSP_LEVEL_APPLICATION || event.span.correlation != 0);
  }

  Status find_launches() {
    XSP_CHECK_OK(each_event([this](const Event& event) -> Status {
      const ForeignSpan& span = event.span;
      if (is_of_host(event) && span.correlation != 0) {
        launches_.push_back({span.correlation, span.process});
      }
      return Ok{};
    }));
    std::sort(launches_.begin(), launches_.end());
    launches_.erase(std::unique(launches_.begin(), launches_.end()), launches_.end());
    return Ok{};
  }

  // A launch and its executions are found only in one process. A run that xsp exported has them
  // there. Several hosts may have used one correlation id: then the span stays where it is.
  uint32_t process_of(const Event& event) const {
    const uint32_t own = event.span.process;
    if (!event.is_on_device || event.span.run != 0 || hosts_.count(own) > 0) return own;
    if (hosts_.size() == 1) return *hosts_.begin();
    const auto correlation = event.span.correlation;
    const auto is_before = [](const Launch& one, auto wanted) { return one.correlation < wanted; };
    const auto first = std::lower_bound(launches_.begin(), launches_.end(), correlation, is_before);
    if (first == launches_.end() || first->correlation != correlation) return own;
    const auto next = first + 1;
    const bool is_one = next == launches_.end() || next->correlation != correlation;
    return is_one ? first->process : own;
  }

  template <typename Take>
  Status each_event(Take take) {
    XSP_TRY(JsonEvents events, JsonEvents::open(file_, "traceEvents"));
    std::string text;
    for (;;) {
      XSP_TRY(const bool has_one, events.next(&text));
      if (!has_one) break;
      std::optional<Event> event = parser_.parse(&text);
      if (!event) {
        ++left_out_;
        continue;
      }
      XSP_CHECK_OK(take(*event));
    }
    const auto base = events.numbers().find("baseTimeNanoseconds");
    if (base == events.numbers().end()) return Ok{};
    const std::string& digits = base->second;
    std::from_chars(digits.data(), digits.data() + digits.size(), base_ns_);
    if (base_ns_ < 0 || base_ns_ > kNanosecondsMax) base_ns_ = 0;
    return Ok{};
  }

  Status take(Event& event) {
    // Names of threads and arrows are facts that the spans have themselves.
    constexpr std::string_view kSilent = "Mstf";
    if (event.phase == 'M' && event.span.name == kRunEvent && event.span.run > 0) {
      runs_.insert(event.span.run);
      sink_.add_run(event.described());
    }
    if (!is_span(event)) {
      if (kSilent.find(event.phase) == std::string_view::npos) ++left_out_;
      return Ok{};
    }
    // An event of the phase X must have a duration: without one it is no event of 0 ns.
    if (!event.start_ns || (event.phase == 'X' && !event.duration_ns)) {
      ++left_out_;
      return Ok{};
    }
    choose_run(&event.span);
    event.span.start_ns = base_ns_ + *event.start_ns;
    event.span.duration_ns = event.duration_ns.value_or(0);
    auto* stack = event.phase == 'X' ? nullptr : &open_[{event.span.process, event.track}];
    event.span.process = process_of(event);
    if (event.is_on_device && event.span.run == 0) set_apart(&event);
    if (event.phase == 'X') return add(event.span);
    return event.phase == 'B' ? begin(std::move(event), stack) : end(event, stack);
  }

  // Only xsp's numbers of inferences, and its mark of a span that never ended, have these meanings.
  void choose_run(ForeignSpan* span) const {
    const bool is_described = runs_.count(span->run) > 0;
    if (!is_described) {
      span->run = 0;
      if (span->is_open) span->attributes.emplace_back("open", "true");
      span->is_open = false;
    }
    if (!is_described || span->level != XSP_LEVEL_MODEL) span->iteration.reset();
    // The attribute counts from the first of a trace, warm-up included.
    if (span->iteration) {
      std::erase_if(span->attributes, [](const auto& one) { return one.first == "iteration"; });
    }
  }

  // An annotation of a stream counts as a span of the host. It launches nothing. On a lane of its
  // stream it contains no kernel, and meets no annotation of another stream.
  static void set_apart(Event* event) {
    ForeignSpan& span = event->span;
    if (span.level != XSP_LEVEL_APPLICATION) return;
    span.correlation = 0;
    if (span.thread == 0) span.thread = (1 + span.stream.value_or(event->track) % 511) << kLaneBits;
  }

  Status begin(Event event, std::vector<ForeignSpan>* stack) {
    if (++open_count_ > kOpenMax) {
      return corrupt(file_.string() + ": more than a million events that never end");
    }
    stack->push_back(std::move(event.span));
    return Ok{};
  }

  Status end(const Event& event, std::vector<ForeignSpan>* stack) {
    if (stack->empty()) {
      ++left_out_;
      return Ok{};
    }
    ForeignSpan span = std::move(stack->back());
    stack->pop_back();
    --open_count_;
    span.duration_ns = event.span.start_ns - span.start_ns;
    return add(span);
  }

  // A span that ends before it begins is left out.
  Status add(const ForeignSpan& span) {
    if (span.duration_ns >= 0) return sink_.add(span);
    ++left_out_;
    return Ok{};
  }

  std::filesystem::path file_;
  SpanSink& sink_;
  EventParser parser_;
  std::set<uint32_t> hosts_;
  std::vector<Launch> launches_;  // in order, each once; only with several hosts
  std::set<uint32_t> runs_;       // those that are described
  int64_t base_ns_ = 0;
  uint64_t left_out_ = 0;
  size_t open_count_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<ForeignSpan>> open_;  // process and track
};

// The list of events may come after other members, so that any JSON of the right shape counts.
bool recognises(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (head[first] == '{') return true;
  return head[first] == '[' && head.find('{', first) != std::string_view::npos;
}

Result<uint64_t> read(const std::filesystem::path& file, SpanSink& sink) {
  return ChromeReader(file, sink).read();
}

}  // namespace

std::vector<Importer> chrome_importers() {
  return {{"chrome", "trace events in JSON (.json, .json.gz): as chrome://tracing opens them",
           recognises, read}};
}

}  // namespace xsp::importers
