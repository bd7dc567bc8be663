// The table `facts`: the compared subjects, and where they differ.
#include "desk/compare/facts.h"

#include <algorithm>
#include <array>
#include <set>

#include "desk/compare/tables.h"
#include "shared/base/words.h"

namespace xsp::compare {
namespace {

using store::Database;
using store::Table;
using store::Value;

// The subject of a fact. The first entry that begins the fact's key applies.
struct Subject {
  const char* prefix;
  const char* name;
};
constexpr std::array kSubjects = {
    Subject{"model", "model"},
    Subject{"input.", "model"},
    Subject{"output.", "model"},
    Subject{"framework", "framework"},
    Subject{"option.", "framework"},
    Subject{"threads", "framework"},
    Subject{"batches", "framework"},
    Subject{"dataset.", "dataset"},
    Subject{"device", "device"},
    Subject{"gpu.", "device"},
    Subject{"cupti", "device"},
    Subject{"peak.", "device"},
    Subject{"machine.load", "state"},
    Subject{"machine.cpu_mhz", "state"},
    Subject{"machine.gpu_", "state"},
    Subject{"machine.other_load", "state"},
    Subject{"machine.stolen", "state"},
    Subject{"machine.", "machine"},
    Subject{"warning.", "warnings"},
    Subject{"note.", "warnings"},
    Subject{"not_measured.", "warnings"},
};

size_t subject_of(std::string_view key) {
  const auto found = std::find_if(kSubjects.begin(), kSubjects.end(),
                                  [&](const Subject& one) { return key.starts_with(one.prefix); });
  return static_cast<size_t>(found - kSubjects.begin());
}

}  // namespace

bool is_always_another(const std::string& key) {
  static const std::set<std::string> keys = {"command", "started_at", "ended_at", "model_path",
                                             "gpu.0.uuid"};
  return keys.count(key) != 0 || key.rfind("warning.", 0) == 0 || key.rfind("note.", 0) == 0 ||
         key.rfind("tag.", 0) == 0;
}

Result<Facts> facts_of(Database& database) {
  Facts facts;
  XSP_TRY(const Table table, database.query("SELECT key, value FROM evaluation"));
  for (const auto& row : table.rows) facts[text_of(row[0])] = text_of(row[1]);
  XSP_TRY(const Table runs,
          database.query("SELECT string_agg(DISTINCT CAST(threads AS VARCHAR), ', '), "
                         "array_to_string(list_sort(list(DISTINCT batch)), ', ') FROM run "
                         "WHERE status <> 'failed'"));
  if (!runs.rows.empty()) {
    const std::string threads = text_of(runs.rows[0][0]);
    const std::string batches = text_of(runs.rows[0][1]);
    if (!threads.empty()) facts["threads"] = threads;
    if (!batches.empty()) facts["batches"] = batches;
  }
  return facts;
}

std::string_view subject_of_fact(std::string_view key) {
  const size_t subject = subject_of(key);
  return subject < kSubjects.size() ? kSubjects[subject].name : "record";
}

namespace {

std::string value_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

// Returns the values of one key in words: "A has resnet50, B mobilenet_v2".
std::string in_words(const std::vector<Facts>& all, const std::string& key) {
  std::string text;
  for (size_t e = 0; e < all.size(); ++e) {
    const std::string value = value_of(all[e], key);
    text += (e == 0 ? "" : ", ") + letter_of(e) + (e == 0 ? " has " : " ") +
            (value.empty() ? "none" : value);
  }
  return text;
}

bool differs(const std::vector<Facts>& all, const std::string& key) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Facts& one) { return value_of(one, key) != value_of(all[0], key); });
}

Result<std::vector<Facts>> all_facts(Databases evaluations) {
  std::vector<Facts> all;
  for (Database* database : evaluations) {
    XSP_TRY(Facts facts, facts_of(*database));
    all.push_back(std::move(facts));
  }
  return all;
}

constexpr size_t kHashShown = 12;  // digits that tell two data sets apart

// The worker writes this text as the values of such an input (src/process/worker/values.cc).
constexpr const char* kOneSegment = "0, as of one segment";

}  // namespace

std::string inputs_of(const Facts& facts) {
  constexpr std::string_view kInput = "input.";
  std::string text;
  for (const auto& [key, value] : facts) {
    if (!key.starts_with(kInput)) continue;
    const auto values = facts.find("input_values." + key.substr(kInput.size()));
    if (values != facts.end() && values->second == kOneSegment) continue;
    text += (text.empty() ? "" : " ") + value;
  }
  return text;
}

Result<std::string> other_inputs_of(Databases evaluations) {
  XSP_TRY(const std::vector<Facts> all, all_facts(evaluations));
  std::vector<Facts> inputs, sizes;
  for (const Facts& facts : all) {
    inputs.push_back({{"inputs", inputs_of(facts)}});
    // "float32[1,3,224,224]" is of the size "3,224,224".
    std::string size;
    for (const std::string& input : split(inputs.back()["inputs"], ' ')) {
      const size_t batch_end = input.find(',');
      size += batch_end == std::string::npos ? "]" : input.substr(batch_end);
    }
    sizes.push_back({{"sizes", size}});
  }
  return differs(sizes, "sizes") ? in_words(inputs, "inputs") : "";
}

Result<std::string> unknown_batches_of(Databases evaluations) {
  XSP_TRY(const std::vector<Facts> all, all_facts(evaluations));
  std::string text;
  for (size_t e = 0; e < all.size(); ++e) {
    const std::string why = value_of(all[e], "not_measured.batch");
    // Inputs whose shapes are facts are the same in all calls, whatever of them is the batch. A
    // load may join several of them.
    const std::string joined = value_of(all[e], "scenario.max_batch");
    const bool are_same = !inputs_of(all[e]).empty() && (joined.empty() || joined == "1");
    if (!why.empty() && !are_same) text += (text.empty() ? "" : ", ") + letter_of(e) + ": " + why;
  }
  return text;
}

Result<std::vector<std::string>> warnings_of(Databases evaluations) {
  XSP_TRY(const std::vector<Facts> all, all_facts(evaluations));
  std::vector<std::string> warnings;
  if (differs(all, "model")) {
    warnings.push_back("the models differ: " + in_words(all, "model") +
                       ": their layers are matched as far as they go");
  }
  std::vector<Facts> inputs;
  for (const Facts& facts : all) inputs.push_back({{"inputs", inputs_of(facts)}});
  if (differs(inputs, "inputs")) {
    warnings.push_back("the inputs differ: " + in_words(inputs, "inputs") +
                       ": the inferences do not do the same work");
  }
  // A name tells nothing of the files: only their hash does.
  if (differs(all, "dataset.sha256")) {
    std::vector<Facts> sets;
    for (const Facts& facts : all) {
      std::string set = value_of(facts, "dataset.name");
      if (!set.empty()) set += " (" + value_of(facts, "dataset.sha256").substr(0, kHashShown) + ")";
      sets.push_back({{"set", std::move(set)}});
    }
    warnings.push_back("the data sets differ: " + in_words(sets, "set") +
                       ": their scores are not comparable");
  }
  for (size_t e = 0; e < all.size(); ++e) {
    for (const auto& [key, value] : all[e]) {
      if (key.rfind("warning.", 0) != 0) continue;
      warnings.push_back(letter_of(e) + " was measured with a warning: " + value);
    }
  }
  return warnings;
}

Result<Comparison> compare_facts(Databases evaluations) {
  XSP_TRY(const std::vector<Facts> all, all_facts(evaluations));
  std::set<std::pair<size_t, std::string>> keys;  // in the order of their subjects
  for (const Facts& facts : all) {
    for (const auto& [key, value] : facts) keys.emplace(subject_of(key), key);
  }
  TableBuilder table;
  table.column("subject", "text",
               "model, framework, dataset, device, machine, state, warnings, record.");
  table.column("fact", "text", "Its key in the table evaluation; threads, batches: of its runs.");
  table.column("differs", "bool", "Not all have the same; empty: it always differs.");
  for (size_t e = 0; e < all.size(); ++e) {
    table.column(named("value", e), "text", "Of " + letter_of(e) + "; empty: not known.");
  }
  for (const auto& [order, key] : keys) {
    std::vector<Value> cells = {std::string(subject_of_fact(key)), key};
    cells.push_back(is_always_another(key) ? Value(std::monostate{}) : Value(differs(all, key)));
    for (const Facts& facts : all) {
      const auto found = facts.find(key);
      cells.push_back(found == facts.end() ? Value(std::monostate{}) : Value(found->second));
    }
    table.row(std::move(cells));
  }
  return std::move(table).finish();
}

}  // namespace xsp::compare
