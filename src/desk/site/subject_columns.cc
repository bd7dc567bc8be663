#include "desk/site/subject_columns.h"

#include "desk/site/addresses.h"

namespace xsp::site {

SubjectColumns::SubjectColumns(const std::vector<const Entry*>& entries, const std::string& root,
                               bool has_model)
    : root_(root), has_model_(has_model) {
  if (entries.empty()) {
    lead_ = "<p class=\"lead\">No evaluation is known.</p>\n";
    return;
  }
  const Known& first = entries.front()->any();
  for (const Entry* entry : entries) {
    const Known& one = entry->any();
    has_framework_ = has_framework_ || one.framework != first.framework;
    has_system_ = has_system_ || system_cell(one).html != system_cell(first).html;
    has_scenario_ = has_scenario_ || entry->scenario != entries.front()->scenario;
  }
  std::string common;
  if (!has_framework_) common += " with " + escaped(first.framework);
  if (!has_system_) common += " on " + system_cell(first).html;
  if (!has_scenario_) common += " in the scenario " + escaped(entries.front()->scenario);
  if (!common.empty()) lead_ = "<p class=\"lead\">All figures were measured" + common + ".</p>\n";
}

std::vector<std::string> SubjectColumns::heads(const std::vector<std::string>& others) const {
  std::vector<std::string> all;
  if (has_model_) all.emplace_back("model");
  if (has_framework_) all.emplace_back("framework");
  if (has_system_) all.emplace_back("system");
  if (has_scenario_) all.emplace_back("scenario");
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<Cell> SubjectColumns::cells(const Entry& entry) const {
  const Known& one = entry.any();
  std::vector<Cell> all;
  if (has_model_) all.push_back(link_cell(one.model, root_ + model_page(one.model)));
  if (has_framework_) all.push_back(text_cell(one.framework));
  if (has_system_) all.push_back(system_cell(one));
  if (has_scenario_) all.push_back(text_cell(entry.scenario));
  return all;
}

Cell SubjectColumns::system_cell(const Known& one) const {
  return link_cell(one.system + ", " + one.device, root_ + system_page(one.fingerprint));
}

}  // namespace xsp::site
