#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "desk/scenario/scenario.h"
#include "shared/base/words.h"

namespace xsp::scenario {

Result<int64_t> parse_duration(std::string_view what, std::string_view text) {
  static const std::map<std::string_view, double> units = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  constexpr double kNsMax = 1e15;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = units.find(std::string_view(end, text.data() + text.size()));
  if (error == std::errc() && unit != units.end() && number >= 0 &&
      number * unit->second <= kNsMax) {
    return std::llround(number * unit->second);
  }
  return usage(std::string(what) + " '" + std::string(text) +
               "': not a duration: write a number and ns, us, ms or s, such as 2ms");
}

Result<Bound> parse_bound(std::string_view text) {
  const auto wrong = usage("--bound '" + std::string(text) +
                           "': not a percentile and a duration: write it such as p99=10ms");
  const size_t equals = text.find('=');
  if (text.empty() || text[0] != 'p' || equals == std::string_view::npos) return wrong;
  double percent = 0;
  const std::string_view digits = text.substr(1, equals - 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong;
  if (!(percent > 0 && percent < 100)) return wrong;
  XSP_TRY(const int64_t ns, parse_duration("--bound", text.substr(equals + 1)));
  if (ns == 0) return wrong;
  return Bound{percent / 100, static_cast<double>(ns)};
}

std::vector<std::string> scenario_names() {
  return {"single", "multi", "server", "offline", "closed", "replay", "max-rate", "generation"};
}

namespace {

// Refuses an option that the scenario would leave unused.
Status check_used(const Scenario& scenario) {
  struct Option {
    const char* name;
    bool is_given;
    std::vector<std::string> scenarios;
  };
  const Scenario defaults;
  const Option options[] = {
      {"--rate", scenario.rate > 0, {"server"}},
      {"--clients", scenario.clients > 1, {"closed", "multi", "generation"}},
      {"--arrivals", !scenario.arrivals.empty(), {"replay"}},
      {"--lengths", !scenario.lengths.empty(), {"generation"}},
      {"--prompt-tokens", scenario.prompt_tokens != defaults.prompt_tokens, {"generation"}},
      {"--output-tokens", scenario.output_tokens != defaults.output_tokens, {"generation"}}};
  for (const Option& option : options) {
    const auto& names = option.scenarios;
    if (!option.is_given || std::find(names.begin(), names.end(), scenario.name) != names.end()) {
      continue;
    }
    return usage(std::string(option.name) + ": the scenario '" + scenario.name +
                 "' does not use it: leave it out, or choose --scenario " + joined(names, " or "));
  }
  return Ok{};
}

// LoadGen accepts settings that never end, or that end before the requests have come.
Status check_loadgen(const Scenario& scenario) {
  const std::vector<std::string> known = {"single", "multi", "server", "offline"};
  if (std::find(known.begin(), known.end(), scenario.name) == known.end()) {
    return usage("--generator loadgen: it has no scenario '" + scenario.name + "': choose one of " +
                 joined(known) + ", or leave --generator out");
  }
  if (scenario.name == "multi" && scenario.requests % scenario.clients != 0) {
    return usage("--requests " + std::to_string(scenario.requests) +
                 ": LoadGen's queries all have " + std::to_string(scenario.clients) +
                 " requests: give a multiple of --clients");
  }
  if (scenario.name != "server") return Ok{};
  if (!scenario.bound) {
    return usage("--bound: missing: LoadGen's server has one, such as --bound p99=10ms");
  }
  const double seconds = static_cast<double>(scenario.requests) / scenario.rate;
  if (scenario.time_s > 0 && seconds > scenario.time_s) {
    return usage("--max-time: the requests come in about " +
                 std::to_string(std::llround(std::ceil(seconds))) +
                 " s, and LoadGen's server cannot end before: allow more, or give fewer " +
                 "--requests");
  }
  return Ok{};
}

}  // namespace

Result<std::vector<TokenCounts>> token_counts_of(const Scenario& scenario) {
  if (scenario.lengths.empty()) {
    return draw_token_counts(scenario.prompt_tokens, scenario.output_tokens, scenario.requests,
                             scenario.seed);
  }
  std::ifstream file(scenario.lengths, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open()) return usage(scenario.lengths + ": cannot be read: check its name");
  return parse_token_counts(text.str(), scenario.lengths);
}

Status check(const Scenario& scenario) {
  const std::string& name = scenario.name;
  const std::vector<std::string> names = scenario_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return usage("--scenario '" + name + "': unknown: it is one of " + joined(names));
  }
  if (name == "server" && scenario.rate <= 0) {
    return usage("--rate: missing: a server needs the requests per second, such as --rate 100");
  }
  if (name == "replay" && scenario.arrivals.empty()) {
    return usage("--arrivals: missing: a replay needs the file of the arrival times");
  }
  if (name == "generation") XSP_CHECK_OK(token_counts_of(scenario));
  if (name != "generation" && !scenario.fewer_clients.empty()) {
    return usage(
        "--clients: a curve over several numbers of clients is that of a generation: "
        "give one number");
  }
  if (name == "generation" && scenario.instances > 1) {
    return usage(
        "--instances: one instance answers all clients of a generation together: leave it out");
  }
  if (name == "max-rate" && !scenario.bound) {
    return usage("--bound: missing: max-rate needs what it must keep, such as --bound p99=10ms");
  }
  XSP_CHECK_OK(check_used(scenario));
  if (scenario.generator == kLoadgen) XSP_CHECK_OK(check_loadgen(scenario));
  if (scenario.max_wait_ns > 0 && scenario.max_batch == 1) {
    return usage("--max-wait: nothing to wait for: give the largest batch with --max-batch");
  }
  return Ok{};
}

}  // namespace xsp::scenario
