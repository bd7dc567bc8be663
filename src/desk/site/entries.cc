#include "desk/site/entries.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace xsp::site {
namespace {

constexpr double kNearHighest = 0.99;  // as in analyses/a01_model_information.sql

double throughput_of(const Known& one) {
  const Figure* figure = one.measured("throughput");
  return figure == nullptr ? 0 : figure->value.value_or(0);
}

// Returns what was asked of a load; nothing if it is none. What LoadGen and a bound say of it is an
// answer, and the size of its batches is no setting where it is known.
std::map<std::string, std::string> settings_of(const Known& one) {
  constexpr std::string_view kSettings = "scenario.";
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : one.facts) {
    if (!key.starts_with(kSettings) || key == "scenario.verdict" || key == "scenario.loadgen" ||
        (key == "scenario.max_batch" && one.batch != catalogue::kBatchUnknown)) {
      continue;
    }
    std::string name = key.substr(kSettings.size());
    std::replace(name.begin(), name.end(), '_', ' ');
    settings[name] = value;
  }
  return settings;
}

// Names each entry's scenario, and the settings that are not the same for all loads of its model in
// that scenario.
void name_scenarios(std::vector<Entry>* entries) {
  std::map<std::pair<std::string, std::string>, std::vector<Entry*>> groups;
  for (Entry& entry : *entries) {
    groups[{entry.any().model, entry.any().scenario}].push_back(&entry);
  }
  for (const auto& [group, members] : groups) {
    std::map<std::string, std::set<std::string>> values;
    for (const Entry* entry : members) {
      for (const auto& [name, value] : settings_of(entry->any())) values[name];
    }
    for (auto& [name, known] : values) {
      for (const Entry* entry : members) {
        const auto settings = settings_of(entry->any());
        const auto found = settings.find(name);
        known.insert(found == settings.end() ? "" : found->second);
      }
    }
    for (Entry* entry : members) {
      entry->scenario = entry->any().scenario;
      for (const auto& [name, value] : settings_of(entry->any())) {
        if (values[name].size() > 1) entry->scenario += ", " + name + " " + value;
      }
    }
  }
}

}  // namespace

const Figure* Entry::at(int64_t batch, const std::string& metric) const {
  const auto found = batches.find(batch);
  return found == batches.end() ? nullptr : found->second->measured(metric);
}

const Known* Entry::online() const {
  const auto found = batches.find(1);
  return found == batches.end() ? nullptr : found->second;
}

const Known& Entry::best() const {
  bool is_one_file = true;
  for (const auto& [batch, one] : batches) is_one_file = is_one_file && one->file == any().file;
  if (is_one_file) {
    for (const auto& [batch, one] : batches) {
      if (one->measured("best_batch.peak") != nullptr) return *one;
    }
  }
  const double highest = throughput_of(fastest());
  for (const auto& [batch, one] : batches) {
    if (throughput_of(*one) >= kNearHighest * highest) return *one;
  }
  return any();
}

const Known& Entry::worked() const {
  const Known* largest = &best();
  for (const auto& [batch, one] : batches) {
    if (one->measured("kernels.latency") != nullptr) largest = one;
  }
  return *largest;
}

const Known& Entry::fastest() const {
  const Known* most = &any();
  for (const auto& [batch, one] : batches) {
    if (throughput_of(*one) > throughput_of(*most)) most = one;
  }
  return *most;
}

std::vector<Entry> entries_of(const std::vector<Known>& all) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string,
                         std::map<std::string, std::string>>;
  std::map<Key, Entry> entries;
  for (const Known& one : all) {
    Entry& entry = entries[{one.model, one.framework, one.fingerprint, one.device, one.scenario,
                            settings_of(one)}];
    entry.batches.emplace(one.batch, &one);  // the newest comes first
  }
  std::vector<Entry> list;
  for (auto& [key, entry] : entries) list.push_back(std::move(entry));
  name_scenarios(&list);
  return list;
}

const Figure* accuracy_of(const std::vector<Known>& all, const std::string& model) {
  const Figure* first = nullptr;
  for (const Known& one : all) {
    if (one.model != model) continue;
    if (const Figure* top1 = one.measured("top1")) return top1;
    for (const auto& [metric, figure] : one.figures) {
      const bool is_score = figure.unit == "share" && metric.find('.') == std::string::npos;
      if (first == nullptr && is_score && figure.value) first = &figure;
    }
  }
  return first;
}

}  // namespace xsp::site
