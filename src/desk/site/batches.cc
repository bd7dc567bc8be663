// The page of batch sizes: what each gains.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "desk/site/addresses.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

std::string batch_table(const std::vector<Entry>& entries, const SubjectColumns& subject) {
  std::set<int64_t> sizes;
  for (const Entry& entry : entries) {
    if (entry.batches.size() < 2) continue;
    for (const auto& [batch, one] : entry.batches) {
      if (batch != catalogue::kBatchUnknown) sizes.insert(batch);
    }
  }
  Rows rows;
  for (const Entry& entry : entries) {
    const Figure* first = entry.any().measured("throughput");
    if (entry.batches.size() < 2 || first == nullptr || *first->value <= 0) continue;
    std::vector<Cell> row = subject.cells(entry);
    for (const int64_t batch : sizes) {
      const Figure* figure = entry.at(batch, "throughput");
      if (figure == nullptr) {
        row.push_back(not_measured());
        continue;
      }
      const double ratio = *figure->value / *first->value;
      Cell cell = number_cell(ratio, "number");
      cell.html += "<small>" + escaped(number_text(*figure->value, "per_s")) + "</small>";
      cell.html += doubt_html({figure, first});
      // The colour has the ratio's logarithm: full at 16 times, and none at once.
      const double share = std::clamp(std::log2(std::max(ratio, 1.0)) / 4, 0.0, 1.0);
      cell.style = fmt::format("--tint:{:.0f}%", 45 * share);
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> heads;
  for (const int64_t batch : sizes) heads.push_back("batch " + std::to_string(batch));
  return note_html(
             "The gain of throughput over the smallest batch size that was measured, and below "
             "it the throughput.") +
         table_html("batch-table", "Throughput by batch size", subject.heads(heads), rows);
}

}  // namespace

std::string batches_page(const Overall& of) {
  return page_html("Batch sizes", kBatchesPage,
                   of.subject.lead() + batch_table(of.entries, of.subject));
}

}  // namespace xsp::site
