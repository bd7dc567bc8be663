// The page of loads: what requests meet.
#include "desk/site/addresses.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

std::string load_table(const std::vector<Entry>& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    for (const auto& [batch, one] : entry.batches) {
      if (one->measured("rate") == nullptr) continue;
      std::vector<Cell> row = subject.cells(entry);
      for (const char* metric :
           {"rate", "latency.mean", "latency.p50", "latency.p90", "latency.p99", "queue.mean"}) {
        row.push_back(figure_cell(one->figure(metric)));
      }
      rows.push_back(std::move(row));
    }
  }
  std::string html = note_html(
      "What requests meet: the time from a request's arrival to its answer, "
      "with its wait in the queue.");
  if (rows.empty()) return html + "<p class=\"none\">not measured</p>\n";
  return html + table_html("load-table", "Requests by scenario",
                           subject.heads({"rate", "mean latency", "50th percentile", "90th", "99th",
                                          "mean wait in the queue"}),
                           rows);
}

}  // namespace

std::string loads_page(const Overall& of) {
  return page_html("Under load", kLoadsPage,
                   of.subject.lead() + load_table(of.entries, of.subject));
}

}  // namespace xsp::site
