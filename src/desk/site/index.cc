// The index: tables and charts over all models.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "desk/site/chart.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"
#include "desk/site/subject_columns.h"

namespace xsp::site {
namespace {

using Entries = std::vector<Entry>;
using Rows = std::vector<std::vector<Cell>>;

std::string section(const char* id, const char* title, const std::string& text) {
  return fmt::format("<h2 id=\"{}\">{}</h2>\n<p class=\"note\">{}</p>\n", id, title, text);
}

Cell of(const Known* one, const std::string& metric) {
  return figure_cell(one == nullptr ? nullptr : [&]() -> const Figure* {
    const auto found = one->figures.find(metric);
    return found == one->figures.end() ? nullptr : &found->second;
  }());
}

// The share of convolution in the kernels' time if there is a device, else in the layers'.
Cell convolution_cell(const Known& one) {
  const bool is_device = one.measured("convolution.kernel_share") != nullptr;
  return of(&one, is_device ? "convolution.kernel_share" : "convolution.latency_share");
}

// The choice is as certain as the throughputs from which it is made.
Cell best_batch_cell(const Entry& entry) {
  Cell cell = batch_cell(entry.best().batch);
  std::vector<const Figure*> throughputs;
  for (const auto& [batch, one] : entry.batches) throughputs.push_back(one->measured("throughput"));
  cell.html += throughputs.size() > 1 ? doubt_html(throughputs) : "<small>the only one</small>";
  return cell;
}

std::string models_table(const std::vector<Known>& all, const Entries& entries,
                         const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    std::vector<Cell> row = subject.cells(entry);
    const Figure* accuracy = accuracy_of(all, entry.any().model);
    row.push_back(figure_cell(accuracy));
    if (accuracy != nullptr) row.back().html += "<small>" + escaped(accuracy->metric) + "</small>";
    row.push_back(of(&entry.worked(), "layers.weights"));
    row.push_back(of(entry.online(), "inference.latency"));
    row.push_back(of(&entry.fastest(), "throughput"));
    row.push_back(best_batch_cell(entry));
    row.push_back(convolution_cell(entry.worked()));
    rows.push_back(std::move(row));
  }
  return section("models", "Models",
                 "Latency is that of an inference at batch size 1. The best batch size is the "
                 "smallest within 1 % of the highest throughput. The share of convolution is that "
                 "in the time of the kernels at the batch size of the table <a href=\"#kernels\">"
                 "Work on the device</a>, or of the layers on a processor.") +
         table_html("models-table", "Each model in each framework, on each system",
                    subject.heads({"accuracy", "weights", "online latency", "highest throughput",
                                   "best batch", "convolution"}),
                    rows);
}

std::string kernels_table(const Entries& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    const Known& one = entry.worked();
    if (one.device == "cpu" && one.measured("kernels.latency") == nullptr) continue;
    std::vector<Cell> row = subject.cells(entry);
    row.push_back(batch_cell(one.batch));
    for (const char* metric :
         {"inference.latency", "kernels.share", "kernels.flops", "kernels.read", "kernels.written",
          "kernels.occupancy", "kernels.intensity", "kernels.rate", "kernels.bound",
          "bottleneck"}) {
      row.push_back(of(&one, metric));
    }
    rows.push_back(std::move(row));
  }
  const std::string html =
      section("kernels", "Work on the device",
              "Each model at the largest batch size at which its kernels were recorded. Flops and "
              "bytes are those that the device counted. The bound is that of the "
              "kernels alone; the bottleneck is what delays the whole inference most. On a "
              "processor there are no kernels, and no row.");
  if (rows.empty()) return html + "<p class=\"none\">not measured</p>\n";
  return html +
         table_html("kernels-table", "What the kernels of an inference do",
                    subject.heads({"batch", "latency", "kernels' share", "flops", "read", "written",
                                   "occupancy", "intensity", "rate", "bound", "bottleneck"}),
                    rows);
}

std::string thirds_table(const Entries& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    const Known& one = entry.worked();
    if (one.measured("third.latency") == nullptr) continue;
    std::vector<Cell> row = subject.cells(entry);
    row.push_back(batch_cell(one.batch));
    for (const char* metric :
         {"third.latency", "third.kernels", "third.memory", "third.flops", "third.accesses"}) {
      row.push_back(of(&one, metric));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return section("thirds", "Where in the network",
                 "The third of the layers, in their order, that has most of the layers' latency on "
                 "the host, of their kernels' time, of the memory that they allocate, and of the "
                 "flops and the memory accesses that were counted, or that their shapes tell if "
                 "none were; and its share, of which a third of equal layers has 33 %.") +
         table_html("thirds-table", "Which third of the network dominates",
                    subject.heads({"batch", "latency", "kernels", "memory", "flops", "accesses"}),
                    rows);
}

// One chart for each device of each system, because each has its own roof.
std::string rooflines(const Entries& entries) {
  std::map<std::string, Chart> charts;
  for (const Entry& entry : entries) {
    const Known& one = entry.worked();
    const Figure* intensity = one.measured("kernels.intensity");
    const Figure* rate = one.measured("kernels.rate");
    Point point;
    if (intensity != nullptr && rate != nullptr) {
      point.x = *intensity->value;
      point.y = *rate->value;
    } else {
      const Figure* flops = one.measured("layers.flops");
      const Figure* bytes = one.measured("layers.bytes");
      rate = one.measured("layers.rate");
      if (flops == nullptr || bytes == nullptr || rate == nullptr || *bytes->value <= 0) continue;
      point.x = *flops->value / *bytes->value;
      point.y = *rate->value;
    }
    if (point.x <= 0 || point.y <= 0) continue;
    point.label = fmt::format("{}, batch {}", one.model, catalogue::batch_text(one.batch));
    Chart& chart = charts[one.system + ", " + one.device + "\n" + one.fingerprint];
    chart.title = "Roofline: " + one.system + ", " + one.device;
    chart.x = {"arithmetic intensity", "flops_per_byte", true, false};
    chart.y = {"arithmetic", "flops_per_s", true, false};
    const Figure* flat = one.measured("ceiling.arithmetic");
    const Figure* slope = one.measured("ceiling.memory");
    if (flat != nullptr && slope != nullptr && (!chart.roof || *flat->value > chart.roof->flat)) {
      chart.roof = Roof{*slope->value, *flat->value};
    }
    chart.points.push_back(std::move(point));
  }
  std::string html;
  for (const auto& [name, chart] : charts) html += chart_html(chart);
  if (html.empty()) html = "<p class=\"none\">not measured</p>";
  return section("roofline", "Roofline over models",
                 "Each model at the batch size of the table below, under the highest ceiling of "
                 "arithmetic that one of them uses: models of slower arithmetic meet their own "
                 "before. Flops and bytes are counted on a GPU, and follow from the layers' shapes "
                 "on a processor.") +
         "<div class=\"charts\">" + html + "</div>\n";
}

std::string accuracy_charts(const std::vector<Known>& all, const Entries& entries) {
  Chart latency, throughput;
  latency.title = "Accuracy over online latency";
  latency.x = {"latency of an inference, batch 1", "ns", true, false};
  throughput.title = "Accuracy over the highest throughput";
  throughput.x = {"inputs per second", "per_s", true, false};
  latency.y = throughput.y = {"accuracy", "share", false, false};
  for (const Entry& entry : entries) {
    const Figure* accuracy = accuracy_of(all, entry.any().model);
    if (accuracy == nullptr) continue;
    Point point;
    point.y = *accuracy->value;
    point.low = accuracy->low;
    point.high = accuracy->high;
    point.label = entry.any().model;
    const Figure* time = entry.at(1, "inference.latency");
    if (time != nullptr) {
      point.x = *time->value;
      latency.points.push_back(point);
    }
    const Figure* rate = entry.fastest().measured("throughput");
    if (rate == nullptr) continue;
    point.x = *rate->value;
    throughput.points.push_back(point);
  }
  return section("accuracy", "Accuracy",
                 "A model's accuracy is that of <code>xsp evaluate --accuracy</code>, on the data "
                 "that its "
                 "page names. Models with random weights have none.") +
         "<div class=\"charts\">" + chart_html(latency) + chart_html(throughput) + "</div>\n";
}

std::string batch_table(const Entries& entries, const SubjectColumns& subject) {
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
  return section("batch", "Batch sizes",
                 "The gain of throughput over the smallest batch size that was measured, and below "
                 "it the throughput.") +
         table_html("batch-table", "Throughput by batch size", subject.heads(heads), rows);
}

std::string energy_table(const Entries& entries, const SubjectColumns& subject) {
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
        row.push_back(of(one, metric));
      }
      rows.push_back(std::move(row));
    }
  }
  std::string html = section("energy", "Energy and cost",
                             "Energy is counted by the device. Cost is that of a million inputs, "
                             "in the currency of the price that the profile was given.");
  if (rows.empty()) return html + "<p class=\"none\">not measured</p>\n";
  return html + table_html("energy-table", "Energy and cost of an inference",
                           subject.heads({"batch", "energy of an inference", "of an input", "power",
                                          "cost of a million inputs"}),
                           rows);
}

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

std::string frameworks_table(const std::vector<Known>& all) {
  Rows rows;
  for (const catalogue::Pair& pair : pairs_over(all, catalogue::Over::kFramework)) {
    const bool is_fair = pair.refused.empty();
    std::vector<Cell> row = {link_cell(pair.a->model, model_page(pair.a->model)),
                             text_cell(pair.a->framework), text_cell(pair.b->framework),
                             batch_cell(pair.a->batch)};
    row.push_back(of(pair.a, "inference.latency"));
    row.push_back(of(pair.b, "inference.latency"));
    std::string why;
    for (const std::string& one : pair.refused) why += (why.empty() ? "" : "; ") + one;
    for (const char* metric :
         {"inference.latency", "throughput", "kernels.share", "layers.flops"}) {
      row.push_back(is_fair ? ratio_cell(pair, metric) : text_cell("refused"));
    }
    row.push_back(refusal_cell(pair));
    rows.push_back(std::move(row));
  }
  std::string html =
      section("frameworks", "Framework against framework",
              "The same model, batch size and system; the second framework's figure over the "
              "first's. A pair that differs in more than the framework is refused, and the last "
              "column says in what. The latencies' intervals do not cover the spread between "
              "processes: <code>xsp diff</code> of the two files does.");
  if (rows.empty())
    return html + "<p class=\"none\">No model was measured in two frameworks.</p>\n";
  return html + table_html("frameworks-table", "Pairs of frameworks",
                           {"model", "first", "second", "batch", "latency of the first",
                            "of the second", "latency ratio", "throughput ratio",
                            "kernels' share ratio", "flops ratio", "differs besides"},
                           rows);
}

std::string load_table(const Entries& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    for (const auto& [batch, one] : entry.batches) {
      if (one->measured("rate") == nullptr) continue;
      std::vector<Cell> row = subject.cells(entry);
      for (const char* metric :
           {"rate", "latency.mean", "latency.p50", "latency.p90", "latency.p99", "queue.mean"}) {
        row.push_back(of(one, metric));
      }
      rows.push_back(std::move(row));
    }
  }
  std::string html = section("load", "Under load",
                             "What requests meet: the time from a request's arrival to its answer, "
                             "with its wait in the queue.");
  if (rows.empty()) return html + "<p class=\"none\">not measured</p>\n";
  return html + table_html("load-table", "Requests by scenario",
                           subject.heads({"rate", "mean latency", "50th percentile", "90th", "99th",
                                          "mean wait in the queue"}),
                           rows);
}

std::string systems_table(const std::vector<Known>& all) {
  std::map<std::string, std::pair<const Known*, size_t>> systems;
  for (const Known& one : all) {
    auto& [first, number] = systems[one.fingerprint];
    first = &one;
    ++number;
  }
  Rows rows;
  for (const auto& [fingerprint, known] : systems) {
    const auto fact = [&, one = known.first](const char* key) {
      const auto found = one->system_facts.find(key);
      return found == one->system_facts.end() ? text_cell("not known") : text_cell(found->second);
    };
    rows.push_back({link_cell(known.first->system, system_page(fingerprint)),
                    text_cell(fingerprint), fact("machine.os"), fact("machine.kernel"),
                    fact("gpu.driver_version"),
                    number_cell(static_cast<double>(known.second), "count")});
  }
  return section("systems", "Systems",
                 "A system is a machine in one state of its hardware and software. Its fingerprint "
                 "follows from the facts on its page: processor, GPU, driver, clocks, limits, "
                 "kernel, container.") +
         table_html(
             "systems-table", "Systems, by fingerprint",
             {"system", "fingerprint", "operating system", "kernel", "GPU driver", "evaluations"},
             rows);
}

}  // namespace

std::string index_page(const std::vector<Known>& all, const Entries& entries) {
  if (all.empty()) return page_html("Models", "", "<p class=\"lead\">No evaluation is known.</p>");
  std::vector<const Entry*> of;
  for (const Entry& entry : entries) of.push_back(&entry);
  const SubjectColumns subject(of, "", true);
  return page_html("Models, frameworks and systems", "",
                   subject.lead() + models_table(all, entries, subject) +
                       accuracy_charts(all, entries) + rooflines(entries) +
                       kernels_table(entries, subject) + thirds_table(entries, subject) +
                       batch_table(entries, subject) + energy_table(entries, subject) +
                       frameworks_table(all) + load_table(entries, subject) + systems_table(all));
}

}  // namespace xsp::site
