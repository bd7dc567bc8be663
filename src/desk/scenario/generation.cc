#include "desk/scenario/generation.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <random>

#include "desk/scenario/figures.h"
#include "process/worker/protocol.h"
#include "shared/base/words.h"

namespace xsp::scenario {
namespace {

constexpr int64_t kTokensMax = 1'000'000;  // as in process/load/generation_server.cc

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_count(std::optional<int64_t> number) {
  return number && *number >= 1 && *number <= kTokensMax;
}

struct Range {
  int64_t least = 0;
  int64_t most = 0;
  int64_t draw(std::mt19937_64& random) const {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  }
};

Result<Range> parse_range(const std::string& option, const std::string& text) {
  const size_t dots = text.find("..");
  const auto least = number_of(text.substr(0, dots));
  const auto most = dots == std::string::npos ? least : number_of(text.substr(dots + 2));
  if (is_count(least) && is_count(most) && *least <= *most) return Range{*least, *most};
  return usage(option + " '" + text +
               "': not a number of tokens: write one from 1 to 1000000, or a range, such as "
               "64..256");
}

}  // namespace

Result<std::vector<TokenCounts>> parse_token_counts(std::string_view text,
                                                    const std::string& name) {
  std::vector<TokenCounts> counts;
  int line_number = 0;
  for (std::string line : split(std::string(text), '\n')) {
    ++line_number;
    for (char& c : line) {
      if (c == '\t' || c == ',' || c == '\r') c = ' ';
    }
    std::vector<std::string> fields = split(line, ' ');
    std::erase(fields, "");
    if (fields.empty() || fields[0][0] == '#') continue;
    const auto prompt = number_of(fields[0]);
    const auto output = fields.size() == 2 ? number_of(fields[1]) : std::nullopt;
    if (line_number == 1 && !prompt) continue;  // a heading
    if (!is_count(prompt) || !is_count(output)) {
      return usage(name + ":" + std::to_string(line_number) + ": '" + line.substr(0, 40) +
                   "' is not two numbers of tokens: write those of a prompt and of its answer");
    }
    counts.push_back({*prompt, *output});
  }
  if (counts.empty()) return usage(name + ": no lengths: write those of a request in a line");
  return counts;
}

Result<std::vector<TokenCounts>> draw_token_counts(const std::string& prompt,
                                                   const std::string& output, int64_t requests,
                                                   uint64_t seed) {
  XSP_TRY(const Range prompts, parse_range("--prompt-tokens", prompt));
  XSP_TRY(const Range outputs, parse_range("--output-tokens", output));
  std::mt19937_64 random(seed);
  std::vector<TokenCounts> counts;
  for (int64_t i = 0; i < requests; ++i) {
    const int64_t of_prompt = prompts.draw(random);
    counts.push_back({of_prompt, outputs.draw(random)});
  }
  return counts;
}

Result<std::vector<Generated>> read_tokens(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Generated> requests;
  for (std::string line; std::getline(file, line);) {
    std::vector<int64_t> numbers;
    for (const std::string& field : process::split_fields(line)) {
      const auto number = number_of(field);
      if (!number) return failed("worker: its file of tokens is not understood: rebuild xsp");
      numbers.push_back(*number);
    }
    if (numbers.size() < 6) return failed("worker: its file of tokens is incomplete");
    requests.push_back({numbers[0],
                        {numbers[1], numbers[2]},
                        numbers[3],
                        numbers[4],
                        {numbers.begin() + 5, numbers.end()}});
  }
  std::sort(requests.begin(), requests.end(),
            [](const Generated& a, const Generated& b) { return a.id < b.id; });
  return requests;
}

std::vector<experiment::ResultRow> rows_of_tokens(const std::vector<Generated>& requests,
                                                  const std::vector<int64_t>& arrivals_ns,
                                                  double seconds) {
  std::vector<double> first, between;
  double prompts = 0, outputs = 0, cache_sum = 0, cache_most = 0;
  // Both phases of a batch are shared by its requests, which begin at one time.
  std::map<int64_t, std::pair<int64_t, int64_t>> phases;
  for (size_t i = 0; i < requests.size(); ++i) {
    const Generated& one = requests[i];
    first.push_back(static_cast<double>(one.token_ns.front() - arrivals_ns[i]));
    for (size_t k = 1; k < one.token_ns.size(); ++k) {
      between.push_back(static_cast<double>(one.token_ns[k] - one.token_ns[k - 1]));
    }
    prompts += static_cast<double>(one.counts.prompt);
    outputs += static_cast<double>(one.token_ns.size());
    cache_sum += static_cast<double>(one.cache_bytes);
    cache_most = std::max(cache_most, static_cast<double>(one.cache_bytes));
    auto& [prefill_ns, decode_ns] = phases[one.begin_ns];
    prefill_ns = one.token_ns.front() - one.begin_ns;
    decode_ns = std::max(decode_ns, one.token_ns.back() - one.token_ns.front());
  }
  double prefill_s = 0, decode_s = 0;
  for (const auto& [begin_ns, phase] : phases) {
    prefill_s += static_cast<double>(phase.first) / 1e9;
    decode_s += static_cast<double>(phase.second) / 1e9;
  }
  const auto count = static_cast<double>(requests.size());
  std::vector<experiment::ResultRow> rows;
  add_times("first_token", first, &rows);
  add_times("between_tokens", between, &rows);
  rows.push_back(row_of("tokens_per_s", {outputs / seconds, {}}, "per_s"));
  rows.push_back(row_of("prefill.tokens_per_s", {prompts / prefill_s, {}}, "per_s"));
  if (decode_s > 0) {
    rows.push_back(row_of("decode.tokens_per_s", {(outputs - count) / decode_s, {}}, "per_s"));
  }
  rows.push_back(row_of("prompt_tokens.mean", {prompts / count, {}}, "count"));
  rows.push_back(row_of("output_tokens.mean", {outputs / count, {}}, "count"));
  rows.push_back(row_of("cache.mean", {cache_sum / count, {}}, "bytes"));
  rows.push_back(row_of("cache.max", {cache_most, {}}, "bytes"));
  return rows;
}

}  // namespace xsp::scenario
