#include "process/worker/options.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "shared/base/levels.h"
#include "shared/base/words.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr int64_t kDimensionMax = int64_t{1} << 40;

template <typename Number>
bool parse_number(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<uint32_t> parse_levels(std::string_view text) {
  uint32_t levels = 0;
  for (const std::string& name : split(text, ',')) {
    const uint32_t level = level_named(name);
    if (level == 0) {
      return usage("level '" + name + "': unknown: the levels are " + kLevelChoice);
    }
    levels |= XSP_LEVEL_BIT(level);
  }
  return levels;
}

Status set_option(std::string_view key, const std::string& value, WorkerOptions* options) {
  const auto wrong = [&](const char* why) {
    return usage(std::string(key) + " " + value + ": " + why);
  };
  if (key == "--adapter") {
    options->adapter = value;
  } else if (key == "--collector") {
    options->collectors.push_back(value);
  } else if (key == "--counters") {
    options->counters = split(value, ',');
  } else if (key == "--replay") {
    constexpr std::string_view kModes[] = {"auto", "kernel", "application"};
    const auto mode = std::find(std::begin(kModes), std::end(kModes), value);
    if (mode == std::end(kModes)) return wrong("not a way of replay");
    options->replay = static_cast<uint32_t>(mode - std::begin(kModes));
  } else if (key == "--model") {
    options->model = value;
  } else if (key == "--device") {
    options->device = value;
  } else if (key == "--trace") {
    options->trace = value;
  } else if (key == "--pipeline") {
    options->pipeline = value;
  } else if (key == "--scratch") {
    options->scratch = value;
  } else if (key == "--levels") {
    XSP_TRY(options->levels, parse_levels(value));
  } else if (key == "--batch") {
    int64_t batch = 0;
    if (!parse_number(value, &batch) || batch < 1 || batch > kDimensionMax) {
      return wrong("not a batch size: give a number from 1");
    }
    options->batch = batch;
  } else if (key == "--threads") {
    if (!parse_number(value, &options->threads)) return wrong("not a number of threads");
  } else if (key == "--seed") {
    if (!parse_number(value, &options->seed)) return wrong("not a number");
  } else if (key == "--input") {
    XSP_TRY(InputOption input, parse_input_option(value));
    options->inputs.push_back(std::move(input));
  } else if (key == "--option") {
    const size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) return wrong("not key=value");
    options->options.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  } else {
    return usage(std::string(key) + ": unknown option: see worker_protocol.h");
  }
  return Ok{};
}

}  // namespace

uint32_t dtype_of_name(std::string_view name) {
  for (uint32_t dtype = 1; dtype <= XSP_BFLOAT16; ++dtype) {
    if (dtype_bytes(dtype) != 0 && name == dtype_name(dtype)) return dtype;
  }
  return 0;
}

std::string shape_text(const int64_t* dimensions, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) {
    text += (i == 0 ? "" : ",") + (dimensions[i] < 0 ? "?" : std::to_string(dimensions[i]));
  }
  return text + "]";
}

Result<InputOption> parse_input_option(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return usage("input '" + std::string(text) + "': " + std::string(why) +
                 ": write name=1x3x224x224, name=batchx128:int64, name=@file.npy or name==value");
  };
  // An input's name may hold '=' and ':'; neither a shape nor a type nor a value does.
  const size_t at = text.find("=@");
  const size_t twice = text.rfind("==");
  if (at == std::string_view::npos && twice != std::string_view::npos) {
    InputOption input;
    input.name = std::string(text.substr(0, twice));
    input.value = std::string(text.substr(twice + 2));
    double number = 0;
    if (input.name.empty()) return wrong("no name");
    if (!parse_number(input.value, &number)) return wrong("its value is not a number");
    return input;
  }
  const size_t equals = at != std::string_view::npos ? at : text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return wrong("no name");
  InputOption input;
  input.name = std::string(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 1);
  if (at != std::string_view::npos) {
    input.file = std::string(rest.substr(1));
    if (input.file.empty()) return wrong("no file name");
    return input;
  }
  const size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    input.dtype = dtype_of_name(rest.substr(colon + 1));
    if (input.dtype == 0) return wrong("unknown type");
    rest = rest.substr(0, colon);
  }
  if (rest == "scalar") return input;
  while (true) {
    const std::string_view number = rest.substr(0, rest.find('x'));
    int64_t dimension = 0;
    const bool is_batch = number == "batch";
    if (is_batch) dimension = kBatchDimension;
    const bool is_size = !is_batch && parse_number(number, &dimension) && dimension >= 0 &&
                         dimension <= kDimensionMax;
    if (!is_batch && !is_size) return wrong("not a shape");
    if (input.dimensions.size() == XSP_RANK_MAX) return wrong("too many dimensions");
    input.dimensions.push_back(dimension);
    if (number.size() == rest.size()) return input;
    rest.remove_prefix(number.size() + 1);
  }
}

Result<WorkerOptions> parse_worker_options(const std::vector<std::string>& arguments) {
  WorkerOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--probe" || flag == "--names" || flag == "--watch" || flag == "--reuse") {
      options.probe |= flag == "--probe";
      options.names |= flag == "--names";
      options.watch |= flag == "--watch";
      options.reuse |= flag == "--reuse";
      continue;
    }
    if (i + 1 == arguments.size()) return usage(arguments[i] + ": its value is missing");
    XSP_CHECK_OK(set_option(arguments[i], arguments[i + 1], &options));
    ++i;
  }
  const bool asks_plugin = options.probe || options.names || options.watch;
  if (asks_plugin && !options.collectors.empty()) return options;
  if (options.probe && !options.adapter.empty()) return options;
  if (options.adapter.empty()) return usage("--adapter: missing");
  if (options.model.empty()) return usage("--model: missing");
  if (options.trace.empty()) return usage("--trace: missing");
  if (options.scratch.empty()) return usage("--scratch: missing");
  if (options.levels == 0) return usage("--levels: missing");
  return options;
}

std::string given_shapes(const std::vector<InputOption>& inputs) {
  std::string text;
  for (const InputOption& input : inputs) {
    if (!input.file.empty() || !input.value.empty()) continue;
    text += "input " + input.name + " " + (input.dtype == 0 ? "float32" : dtype_name(input.dtype));
    for (size_t i = 0; i < input.dimensions.size(); ++i) {
      const int64_t size = input.dimensions[i];
      text += (i == 0 ? " " : ",") + (size == kBatchDimension ? "batch" : std::to_string(size));
    }
    text += "\n";
  }
  return text;
}

}  // namespace xsp::process
