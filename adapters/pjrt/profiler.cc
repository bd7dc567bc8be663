#include "adapters/pjrt/profiler.h"

#include <algorithm>
#include <map>
#include <utility>

#include "formats/wire/wire.h"
#include "formats/wire/wire_fields.h"
#include "xsp/adapter.hpp"

namespace xsp::pjrt {

// Declares the extension's functions (xla/backends/profiler/plugin/profiler_c_api.h), which take
// pointers to structs that begin with their size.
struct ProfilerApi {
  struct Error;
  struct OfError {
    size_t struct_size;
    void* priv;
    Error* error;
    const char* message;
    size_t message_size;
  };
  struct OfProfiler {
    size_t struct_size;
    void* profiler;
  };
  struct Create {
    size_t struct_size;
    const char* options;
    size_t options_size;
    void* profiler;
  };
  struct Collect {
    size_t struct_size;
    void* profiler;
    uint8_t* buffer;
    size_t buffer_bytes;
  };

  size_t struct_size;
  void* priv;
  void (*error_destroy)(OfError*);
  void (*error_message)(OfError*);
  void* error_get_code;
  Error* (*create)(Create*);
  Error* (*destroy)(OfProfiler*);
  Error* (*start)(OfProfiler*);
  Error* (*stop)(OfProfiler*);
  Error* (*collect_data)(Collect*);
};

namespace {

using Message = formats::wire::Fields;
using Bytes = std::span<const uint8_t>;

std::string take_error(const ProfilerApi& api, ProfilerApi::Error* error) {
  if (error == nullptr) return "";
  ProfilerApi::OfError args{sizeof args, nullptr, error, nullptr, 0};
  api.error_message(&args);
  std::string text = one_line(std::string_view(args.message, args.message_size));
  ProfilerApi::OfError release{offsetof(ProfilerApi::OfError, message), nullptr, error, nullptr, 0};
  api.error_destroy(&release);
  return text.empty() ? "it says not why" : text;
}

// Holds the names to which a plane refers by number.
struct Names {
  std::map<int64_t, std::string> events;
  std::map<int64_t, std::string> stats;
};

// Reads an entry of XPlane.event_metadata or stat_metadata: the number and its name.
std::pair<int64_t, std::string> read_name(Bytes entry) {
  std::pair<int64_t, std::string> result;
  for (Message message(entry); message.next();) {
    if (message.is(1)) result.first = message.integer();
    if (!message.is(2)) continue;
    for (Message metadata(message.body()); metadata.next();) {
      if (metadata.is(2)) result.second = valid_utf8(metadata.text());
    }
  }
  return result;
}

// Reads an XStat: its name, and its value if that is text.
std::pair<std::string, std::string> read_stat(Bytes stat, const Names& names) {
  std::pair<std::string, std::string> result;
  const auto named = [&names](int64_t id) {
    const auto found = names.stats.find(id);
    return found == names.stats.end() ? std::string() : found->second;
  };
  for (Message message(stat); message.next();) {
    if (message.is(1)) result.first = named(message.integer());
    if (message.is(5)) result.second = valid_utf8(message.text());
    if (message.is(7)) result.second = named(message.integer());
  }
  return result;
}

DeviceEvent read_event(Bytes event, const Names& names, int64_t line_start_ns) {
  DeviceEvent result;
  int64_t offset_ps = 0, duration_ps = 0;
  for (Message message(event); message.next();) {
    if (message.is(1)) {
      const auto found = names.events.find(message.integer());
      if (found != names.events.end()) result.name = found->second;
    }
    if (message.is(2)) offset_ps = message.integer();
    if (message.is(3)) duration_ps = message.integer();
    if (message.is(4)) {
      auto [key, value] = read_stat(message.body(), names);
      if (key == "hlo_op") result.hlo_op = std::move(value);
    }
  }
  result.start_ns = line_start_ns + offset_ps / 1000;
  result.end_ns = line_start_ns + (offset_ps + duration_ps) / 1000;
  return result;
}

void read_line(Bytes line, const Names& names, std::vector<DeviceEvent>* events) {
  std::string name;
  int64_t start_ns = 0;
  for (Message message(line); message.next();) {
    if (message.is(2)) name = valid_utf8(message.text());
    if (message.is(3)) start_ns = message.integer();
  }
  // Other lines are derived from these: "XLA Ops", "Steps", "Source code".
  if (name.find("Stream") == std::string::npos) return;
  for (Message message(line); message.next();) {
    if (!message.is(4)) continue;
    events->push_back(read_event(message.body(), names, start_ns));
    events->back().line = name;
  }
}

void read_plane(Bytes plane, std::vector<DeviceEvent>* events) {
  Names names;
  std::string name;
  for (Message message(plane); message.next();) {
    if (message.is(2)) name = message.text();
    if (message.is(4)) names.events.insert(read_name(message.body()));
    if (message.is(5)) names.stats.insert(read_name(message.body()));
  }
  if (name.rfind("/device:", 0) != 0) return;
  for (Message message(plane); message.next();) {
    if (message.is(3)) read_line(message.body(), names, events);
  }
}

// Writes ProfileOptions (tsl/profiler/protobuf/profiler_options.proto) that enable the device only.
std::string options() {
  std::string text;
  formats::wire::put_integer(&text, 5, 1);  // version
  formats::wire::put_integer(&text, 3, 1);  // device_tracer_level
  return text;
}

}  // namespace

std::vector<DeviceEvent> read_space(Bytes space) {
  std::vector<DeviceEvent> events;
  for (Message message(space); message.next();) {
    if (message.is(1)) read_plane(message.body(), &events);
  }
  std::stable_sort(events.begin(), events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
    return a.start_ns < b.start_ns;
  });
  return events;
}

Profiler::~Profiler() {
  if (profiler_ == nullptr) return;
  ProfilerApi::OfProfiler args{sizeof args, profiler_};
  if (is_on_) (void)take_error(*plugin_.profiler, plugin_.profiler->stop(&args));
  (void)take_error(*plugin_.profiler, plugin_.profiler->destroy(&args));
}

std::string Profiler::start() {
  const std::string text = options();
  ProfilerApi::Create create{sizeof create, text.data(), text.size(), nullptr};
  std::string problem = take_error(*plugin_.profiler, plugin_.profiler->create(&create));
  if (!problem.empty()) return problem;
  profiler_ = create.profiler;
  ProfilerApi::OfProfiler args{sizeof args, profiler_};
  problem = take_error(*plugin_.profiler, plugin_.profiler->start(&args));
  is_on_ = problem.empty();
  return problem;
}

std::string Profiler::collect(std::vector<uint8_t>* space) {
  ProfilerApi::OfProfiler args{sizeof args, profiler_};
  std::string problem = take_error(*plugin_.profiler, plugin_.profiler->stop(&args));
  is_on_ = false;
  if (!problem.empty()) return problem;
  ProfilerApi::Collect collect{sizeof collect, profiler_, nullptr, 0};
  problem = take_error(*plugin_.profiler, plugin_.profiler->collect_data(&collect));
  if (!problem.empty() || collect.buffer_bytes == 0) return problem;
  // Given a buffer, some versions fill it, and others point to their own.
  if (collect.buffer == nullptr) {
    space->resize(collect.buffer_bytes);
    collect.buffer = space->data();
    problem = take_error(*plugin_.profiler, plugin_.profiler->collect_data(&collect));
    if (!problem.empty()) return problem;
  }
  if (collect.buffer != space->data()) {
    space->assign(collect.buffer, collect.buffer + collect.buffer_bytes);
  }
  return "";
}

}  // namespace xsp::pjrt
