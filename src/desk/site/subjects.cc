// The page of a model, and the page of a system.
#include <fmt/format.h>

#include <set>

#include "desk/site/addresses.h"
#include "desk/site/chart.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

std::string name_of(const Known& one) {
  return one.framework + ", " + one.system + ", " + one.device;
}

std::string facts_list(const std::map<std::string, std::string>& facts) {
  std::string html = "<dl>";
  for (const auto& [key, value] : facts) {
    html += "<dt>" + escaped(key) + "</dt><dd>" + escaped(value) + "</dd>";
  }
  return html + "</dl>\n";
}

std::string over_batch(const std::vector<const Entry*>& of, const char* metric, const char* title,
                       const char* unit) {
  Chart chart;
  chart.title = title;
  chart.x = {"batch size", "count", true, true};
  chart.y = {title, unit, false, false};
  for (const Entry* entry : of) {
    const size_t group = chart.groups.size();
    chart.groups.push_back(name_of(entry->any()) + ", " + entry->scenario);
    for (const auto& [batch, one] : entry->batches) {
      const Figure* figure = one->measured(metric);
      if (figure == nullptr || batch == catalogue::kBatchUnknown) continue;
      chart.points.push_back({static_cast<double>(batch), *figure->value, figure->low, figure->high,
                              chart.groups[group], group});
    }
  }
  chart.has_lines = true;
  return chart_html(chart);
}

// Every figure of a model: a row for each, a column for each evaluation.
std::string figures_table(const std::vector<const Entry*>& of) {
  std::vector<const Known*> columns;
  std::vector<std::string> heads = {"figure"};
  std::set<std::string> metrics;
  for (const Entry* entry : of) {
    for (const auto& [batch, one] : entry->batches) {
      columns.push_back(one);
      heads.push_back(fmt::format("{}, {}, batch {}", one->framework, entry->scenario,
                                  catalogue::batch_text(one->batch)));
      for (const auto& [metric, figure] : one->figures) metrics.insert(metric);
    }
  }
  Rows rows;
  for (const std::string& metric : metrics) {
    std::vector<Cell> row = {text_cell(metric)};
    for (const Known* one : columns) {
      row.push_back(figure_cell(one->figure(metric)));
    }
    rows.push_back(std::move(row));
  }
  return table_html("figures-table", "All figures, each as its evaluation shows it", heads, rows);
}

std::string evaluations_table(const std::vector<const Entry*>& of, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry* entry : of) {
    for (const auto& [batch, one] : entry->batches) {
      std::vector<Cell> row = subject.cells(*entry);
      row.push_back(batch_cell(batch));
      for (const char* metric :
           {"inference.latency", "inference.p99", "throughput", "bottleneck"}) {
        row.push_back(figure_cell(one->figure(metric)));
      }
      row.push_back(text_cell(one->started_at.empty() ? "not known" : one->started_at));
      row.push_back(file_cell(one->file));
      rows.push_back(std::move(row));
    }
  }
  const std::vector<std::string> heads = subject.heads(
      {"batch", "latency", "99th percentile", "throughput", "bottleneck", "measured", "file"});
  return table_html("evaluations-table", "The newest evaluation of each batch size", heads, rows);
}

// Shows how steady the machine was during each sweep, by the reference that was repeated.
std::string drift_html(const std::vector<catalogue::Drift>& drifts) {
  if (drifts.empty()) return {};
  Rows rows;
  for (const catalogue::Drift& one : drifts) {
    rows.push_back({text_cell(one.references.front().started_at), text_cell(one.what),
                    text_cell(one.device),
                    number_cell(static_cast<double>(one.references.size()), "count"),
                    number_cell(one.references.front().latency_ns, "ns"),
                    number_cell(one.references.back().latency_ns, "ns"),
                    number_cell(100 * one.spread(), "%")});
  }
  return "<h2>Drift</h2>\n" +
         table_html("drift",
                    "A reference task that is repeated during a sweep tells how much the machine "
                    "changed. Differences below the largest one may be the machine's.",
                    {"sweep of", "reference", "device", "repetitions", "first", "last",
                     "largest difference"},
                    rows);
}

}  // namespace

std::string model_page_text(const std::vector<Known>& all, const std::vector<const Entry*>& of) {
  const std::string& model = of.front()->any().model;
  const Figure* accuracy = accuracy_of(all, model);
  std::string body = "<p class=\"lead\">Accuracy: ";
  if (accuracy == nullptr) {
    body += "<span class=\"none\">not measured</span>";
  } else {
    body += escaped(accuracy->metric + " " + number_text(*accuracy->value, accuracy->unit));
    if (accuracy->low && accuracy->high) {
      body += escaped(" (" + number_text(*accuracy->low, accuracy->unit) + " to " +
                      number_text(*accuracy->high, accuracy->unit) + ")");
    }
  }
  const std::string address = model_page(model);
  const SubjectColumns subject(of, root_of(address), false);
  body += "</p>\n" + subject.lead() + evaluations_table(of, subject) + "<div class=\"charts\">" +
          over_batch(of, "throughput", "Throughput", "per_s") +
          over_batch(of, "inference.latency", "Latency of an inference", "ns") + "</div>\n" +
          "<h2>Figures</h2>\n" + figures_table(of) + "<h2>What the files say</h2>\n";
  for (const Entry* entry : of) {
    body += "<h3>" + escaped(name_of(entry->any()) + ", " + entry->scenario) + "</h3>\n" +
            facts_list(entry->any().facts);
  }
  return page_html(model, address, body);
}

std::string system_page_text(const std::vector<const Entry*>& of,
                             const std::vector<const Entry*>& others,
                             const std::vector<catalogue::Drift>& drifts) {
  const Known& one = of.front()->any();
  const std::string address = system_page(one.fingerprint);
  const std::string root = root_of(address);
  const SubjectColumns subject(of, root, true);
  std::string body = "<p class=\"lead\">Fingerprint <code>" + escaped(one.fingerprint) +
                     "</code>, which follows from these facts.</p>\n" +
                     facts_list(one.system_facts) + "<h2>Evaluations</h2>\n" + subject.lead() +
                     evaluations_table(of, subject) + drift_html(drifts) +
                     "<h2>Other systems</h2>\n";
  if (others.empty()) body += "<p class=\"note\">No other system is known.</p>\n";
  for (const Entry* other : others) {
    body += "<h3><a href=\"" + escaped(root + system_page(other->any().fingerprint)) + "\">" +
            escaped(other->any().system) + "</a></h3>\n<dl>";
    for (const auto& [key, mine, its] :
         catalogue::differences_of(one.system_facts, other->any().system_facts)) {
      body += "<dt>" + escaped(key) + "</dt><dd>" + escaped(mine) + " here, " + escaped(its) +
              " there</dd>";
    }
    body += "</dl>\n";
  }
  return page_html(one.system, address, body);
}

}  // namespace xsp::site
