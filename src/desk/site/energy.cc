// The page of energy and cost.
#include "desk/site/addresses.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

std::string energy_table(const std::vector<Entry>& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    for (const auto& [batch, one] : entry.batches) {
      const bool has_any = one->measured("energy.inference") != nullptr ||
                           one->measured("cost.million_inputs") != nullptr;
      if (!has_any) continue;
      std::vector<Cell> row = subject.cells(entry);
      row.push_back(batch_cell(batch));
      for (const char* metric :
           {"energy.inference", "energy.input", "power", "cost.million_inputs"}) {
        row.push_back(figure_cell(one->figure(metric)));
      }
      rows.push_back(std::move(row));
    }
  }
  std::string html = note_html(
      "Energy is counted by the device. Cost is that of a million inputs, "
      "in the currency of the price that the profile was given.");
  if (rows.empty()) return html + "<p class=\"none\">not measured</p>\n";
  return html + table_html("energy-table", "Energy and cost of an inference",
                           subject.heads({"batch", "energy of an inference", "of an input", "power",
                                          "cost of a million inputs"}),
                           rows);
}

}  // namespace

std::string energy_page(const Overall& of) {
  return page_html("Energy and cost", kEnergyPage,
                   of.subject.lead() + energy_table(of.entries, of.subject));
}

}  // namespace xsp::site
