#include "desk/scenario/loadgen_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "shared/base/words.h"

namespace xsp::scenario {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSummary = "mlperf_log_summary.txt";
constexpr const char* kLogs[] = {kSummary, "mlperf_log_detail.txt", "mlperf_log_accuracy.json"};

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Returns "p99" for "99.00 percentile latency (ns)", "mean" for "Mean latency (ns)"; empty: the
// text is no latency's name.
std::string latency_name(const std::string& text) {
  const size_t space = text.find(' ');
  const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
  std::string first = text.substr(0, space);
  if (rest == "latency (ns)") return lower(first);
  // "99.0th percentile latency (ns)" is the one that the verdict is about.
  if (rest != "percentile latency (ns)" || first.ends_with("th")) return "";
  if (first.ends_with(".00")) first.resize(first.size() - 3);
  return "p" + first;
}

void add_fact(const std::string& name, const std::string& value, LoadgenSummary* summary) {
  constexpr std::string_view kSatisfied = " satisfied";
  if (name == "Result is") {
    summary->has_result = true;
    summary->is_valid = value == "VALID";
  } else if (name.size() > kSatisfied.size() && name.ends_with(kSatisfied)) {
    if (value != "Yes") {
      summary->unsatisfied.push_back(lower(name.substr(0, name.size() - kSatisfied.size())));
    }
  } else if (const std::string latency = latency_name(name); !latency.empty()) {
    double ns = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ns);
    if (error == std::errc()) summary->latencies[latency] = ns;
  }
}

}  // namespace

LoadgenSummary parse_loadgen_summary(std::string_view text) {
  LoadgenSummary summary;
  bool is_recommending = false;
  for (const std::string& line : split(std::string(text), '\n')) {
    std::string said = trimmed(line);
    if (said.ends_with('.')) said.pop_back();
    if (said.rfind("* ", 0) == 0 && is_recommending) {
      summary.recommendations.push_back(lower(said.substr(2, 1)) + said.substr(3));
      continue;
    }
    if (said == "Recommendations:" || said == "Early Stopping Result:") is_recommending = true;
    if (said.rfind("====", 0) == 0) is_recommending = false;
    const size_t colon = said.find(':');
    if (colon == std::string::npos) {
      const bool continues = is_recommending && !said.empty() && !summary.recommendations.empty();
      if (continues) summary.recommendations.back() += " " + said;
      continue;
    }
    add_fact(trimmed(said.substr(0, colon)), trimmed(said.substr(colon + 1)), &summary);
  }
  return summary;
}

Result<LoadgenSummary> read_loadgen_summary(const fs::path& folder) {
  std::ifstream file(folder / kSummary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open()) {
    return failed("LoadGen: it wrote no " + std::string(kSummary) + ": make room for its logs");
  }
  return parse_loadgen_summary(text.str());
}

std::string verdict_of(const LoadgenSummary& summary) {
  if (!summary.has_result) return "";
  if (summary.is_valid) return "LoadGen: VALID";
  std::string text = "LoadGen: INVALID: not satisfied: " + joined(summary.unsatisfied);
  for (const std::string& one : summary.recommendations) text += "; " + one;
  return text;
}

Result<fs::path> keep_loadgen_logs(const fs::path& folder, const fs::path& output) {
  fs::path kept = output;
  kept.replace_extension(".loadgen");
  std::error_code error;
  fs::create_directories(kept, error);
  for (const char* name : kLogs) {
    if (error) break;
    fs::copy_file(folder / name, kept / name, fs::copy_options::overwrite_existing, error);
  }
  if (!error) return kept;
  return failed(kept.string() + ": cannot be written: " + error.message() +
                ": name another output with -o");
}

}  // namespace xsp::scenario
