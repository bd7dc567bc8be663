// The page of frameworks: each against the others.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "desk/site/addresses.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

Cell ratio_cell(const catalogue::Pair& pair, const char* metric) {
  const Figure* a = pair.a->measured(metric);
  const Figure* b = pair.b->measured(metric);
  if (a == nullptr || b == nullptr || *a->value == 0) return not_measured();
  Cell cell = number_cell(*b->value / *a->value, "number");
  cell.html += doubt_html({a, b});
  return cell;
}

Cell refusal_cell(const catalogue::Pair& pair) {
  constexpr size_t kShown = 2;
  std::string all;
  for (const std::string& one : pair.refused) all += (all.empty() ? "" : "; ") + one;
  if (pair.refused.size() <= kShown) return text_cell(all);
  Cell cell;
  cell.html = fmt::format("<details><summary>{} facts, such as {}</summary>{}</details>",
                          pair.refused.size(), escaped(pair.refused.front()), escaped(all));
  return cell;
}

// The evaluations that a table shows of each model in each framework at a batch size. A pair takes
// those that suit each other, so that a model can have several in one table.
class Shown {
 public:
  explicit Shown(const std::vector<catalogue::Pair>& pairs) {
    for (const catalogue::Pair& pair : pairs) {
      for (const Known* one : {pair.a, pair.b}) evaluations_[key(*one)].insert(one->id);
    }
  }
  // Returns the latency, with its file where the table has others of it.
  Cell latency_cell(const Known& one) const {
    Cell cell = figure_cell(one.figure("inference.latency"));
    if (evaluations_.at(key(one)).size() > 1)
      cell.html += "<small>" + file_html(one.file) + "</small>";
    return cell;
  }

 private:
  using Key = std::tuple<std::string, std::string, int64_t>;
  static Key key(const Known& one) { return {one.model, one.framework, one.batch}; }
  std::map<Key, std::set<std::string>> evaluations_;
};

std::string frameworks_table(const std::vector<Known>& all) {
  Rows rows;
  const std::vector<catalogue::Pair> pairs = pairs_over(all, catalogue::Over::kFramework);
  const Shown shown(pairs);
  for (const catalogue::Pair& pair : pairs) {
    const bool is_fair = pair.refused.empty();
    std::vector<Cell> row = {link_cell(pair.a->model, model_page(pair.a->model)),
                             text_cell(pair.a->framework), text_cell(pair.b->framework),
                             batch_cell(pair.a->batch)};
    row.push_back(shown.latency_cell(*pair.a));
    row.push_back(shown.latency_cell(*pair.b));
    for (const char* metric :
         {"inference.latency", "throughput", "kernels.share", "layers.flops"}) {
      row.push_back(is_fair ? ratio_cell(pair, metric) : text_cell("refused"));
    }
    row.push_back(refusal_cell(pair));
    rows.push_back(std::move(row));
  }
  std::string html = note_html(
      "The same model, batch size and system; the second framework's figure over the "
      "first's. A pair that differs in more than the framework is refused, and the last "
      "column says in what. The latencies' intervals do not cover the spread between "
      "processes: <code>xsp diff</code> of the two files does. A pair takes the evaluations that "
      "differ least, and where a model has several in this table, their files stand with them.");
  if (rows.empty())
    return html + "<p class=\"none\">No model was measured in two frameworks.</p>\n";
  return html + table_html("frameworks-table", "Pairs of frameworks",
                           {"model", "first", "second", "batch", "latency of the first",
                            "of the second", "latency ratio", "throughput ratio",
                            "kernels' share ratio", "flops ratio", "differs besides"},
                           rows);
}

}  // namespace

std::string frameworks_page(const Overall& of) {
  return page_html("Framework against framework", kFrameworksPage,
                   of.subject.lead() + frameworks_table(of.all));
}

}  // namespace xsp::site
