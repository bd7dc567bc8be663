#include "desk/catalogue/fair.h"

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "desk/catalogue/drift.h"
#include "desk/compare/facts.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

using Facts = std::map<std::string, std::string>;

Facts facts_of(const store::Value& json) {
  Facts facts;
  const auto object = nlohmann::json::parse(store::text_of(json), nullptr, false);
  if (!object.is_object()) return facts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) facts[key] = value.get<std::string>();
  }
  return facts;
}

Figure figure_of(const std::vector<store::Value>& row) {
  Figure one;
  one.metric = store::text_of(row[1]);
  one.value = store::maybe_double(row[2]);
  one.word = store::text_of(row[3]);
  one.low = store::maybe_double(row[4]);
  one.high = store::maybe_double(row[5]);
  one.unit = store::text_of(row[6]);
  one.levels = store::text_of(row[7]);
  one.doubt = store::text_of(row[8]);
  one.note = store::text_of(row[9]);
  return one;
}

// The contents of a model's file differ between frameworks, and say nothing about its work.
bool is_of_file(const std::string& key) {
  return key == "model_bytes" || key == "scenario.verdict";
}

// Frameworks name the inputs and outputs in their own ways, so only the inputs' types and shapes
// count.
Facts without_names(const Facts& facts) {
  Facts all;
  for (const auto& [key, value] : facts) {
    if (is_of_file(key)) continue;
    if (key.starts_with("output.") || key.starts_with("input_values.")) continue;
    if (!key.starts_with("input.")) all[key] = value;
  }
  if (std::string inputs = compare::inputs_of(facts); !inputs.empty()) {
    all["inputs"] = std::move(inputs);
  }
  return all;
}

void add_differences(const Facts& a, const Facts& b, std::string_view left_out,
                     std::vector<std::string>* differences) {
  for (const Difference& one : differences_of(a, b)) {
    if (compare::subject_of_fact(one.key) == left_out) continue;
    differences->push_back(one.key + ": " + one.first + ", " + one.second);
  }
}

const std::string& subject(const Known& one, Over over) {
  if (over == Over::kFramework) return one.framework;
  return over == Over::kSystem ? one.fingerprint : one.model;
}

}  // namespace

const Figure* Known::figure(const std::string& metric) const {
  const auto found = figures.find(metric);
  return found == figures.end() ? nullptr : &found->second;
}

const Figure* Known::measured(const std::string& metric) const {
  const Figure* one = figure(metric);
  return one != nullptr && (one->value || !one->word.empty()) ? one : nullptr;
}

Result<std::vector<Known>> load(Catalogue& catalogue) {
  XSP_TRY(const store::Table evaluations,
          catalogue.query("SELECT e.id, e.model, e.framework, e.system, s.name, e.scenario, "
                          "e.device, e.batch, e.started_at, e.file, e.facts, s.facts "
                          "FROM evaluation e JOIN system s ON e.system = s.fingerprint "
                          "WHERE e.task IS NULL OR e.task NOT LIKE $1 ORDER BY e.model, "
                          "e.framework, e.system, e.scenario, e.device, e.batch, "
                          "e.started_at DESC, e.id",
                          {std::string("%/") + kReferencePrefix + "%"}));
  std::vector<Known> all;
  std::map<std::string, size_t> places;
  for (const auto& row : evaluations.rows) {
    Known one;
    one.id = store::text_of(row[0]);
    one.model = store::text_of(row[1]);
    one.framework = store::text_of(row[2]);
    one.fingerprint = store::text_of(row[3]);
    one.system = store::text_of(row[4]);
    one.scenario = store::text_of(row[5]);
    one.device = store::text_of(row[6]);
    one.batch = store::int_of(row[7]);
    one.started_at = store::text_of(row[8]);
    one.file = store::text_of(row[9]);
    one.facts = facts_of(row[10]);
    one.system_facts = facts_of(row[11]);
    places[one.id] = all.size();
    all.push_back(std::move(one));
  }
  XSP_TRY(const store::Table figures,
          catalogue.query("SELECT evaluation, metric, value, word, low, high, unit, levels, "
                          "doubt, note FROM result"));
  for (const auto& row : figures.rows) {
    const auto place = places.find(store::text_of(row[0]));
    if (place == places.end()) continue;  // another writer added it in between
    Figure one = figure_of(row);
    std::string metric = one.metric;
    all[place->second].figures.emplace(std::move(metric), std::move(one));
  }
  return all;
}

std::vector<Difference> differences_of(const Facts& first, const Facts& second) {
  std::set<std::string> keys;
  for (const auto& [key, value] : first) keys.insert(key);
  for (const auto& [key, value] : second) keys.insert(key);
  std::vector<Difference> differences;
  for (const std::string& key : keys) {
    const auto one = first.find(key);
    const auto other = second.find(key);
    Difference difference{key, one == first.end() ? "none" : one->second,
                          other == second.end() ? "none" : other->second};
    if (difference.first != difference.second) differences.push_back(std::move(difference));
  }
  return differences;
}

Result<Over> over_of(const std::string& name) {
  if (name == "framework") return Over::kFramework;
  if (name == "system") return Over::kSystem;
  if (name == "model") return Over::kModel;
  return usage("--over: '" + name + "' is unknown: give framework, system or model");
}

std::vector<std::string> unasked_differences(const Known& a, const Known& b, Over over) {
  std::vector<std::string> differences;
  const auto differ = [&](const char* name, const std::string& one, const std::string& other) {
    if (one != other) differences.push_back(std::string(name) + ": " + one + ", " + other);
  };
  if (over != Over::kModel) differ("model", a.model, b.model);
  if (over != Over::kFramework) differ("framework", a.framework, b.framework);
  differ("scenario", a.scenario, b.scenario);
  differ("batch", batch_text(a.batch), batch_text(b.batch));
  if (over != Over::kSystem) {
    differ("device", a.device, b.device);
    add_differences(a.system_facts, b.system_facts, "", &differences);
  }
  const char* left_out = over == Over::kModel       ? "model"
                         : over == Over::kFramework ? "framework"
                                                    : "";
  Facts one = without_names(a.facts);
  Facts other = without_names(b.facts);
  // Options and threads are the framework's; the inputs are the model's.
  if (over == Over::kModel) {
    one.erase("inputs");
    other.erase("inputs");
  }
  add_differences(one, other, left_out, &differences);
  return differences;
}

std::vector<Pair> pairs_over(const std::vector<Known>& all, Over over) {
  // Evaluations of different groups are not even refused: nobody would compare them.
  using Group = std::tuple<std::string, std::string, int64_t>;
  std::map<Group, std::map<std::string, std::vector<const Known*>>> groups;
  for (const Known& one : all) {
    const std::string& same = over == Over::kModel ? one.framework : one.model;
    groups[{same, one.scenario, one.batch}][subject(one, over)].push_back(&one);
  }
  std::vector<Pair> pairs;
  for (const auto& [group, subjects] : groups) {
    for (auto a = subjects.begin(); a != subjects.end(); ++a) {
      for (auto b = std::next(a); b != subjects.end(); ++b) {
        std::optional<Pair> best;
        for (const Known* one : a->second) {
          for (const Known* other : b->second) {
            if (best && best->refused.empty()) break;
            Pair pair{one, other, unasked_differences(*one, *other, over)};
            if (!best || pair.refused.size() < best->refused.size()) best = std::move(pair);
          }
        }
        pairs.push_back(std::move(*best));
      }
    }
  }
  return pairs;
}

}  // namespace xsp::catalogue
