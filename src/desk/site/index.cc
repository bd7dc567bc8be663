// The index: what each model is, where it is fast and what limits it, and the systems.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "desk/site/addresses.h"
#include "desk/site/chart.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

using Rows = std::vector<std::vector<Cell>>;

// The share of convolution in the kernels' time if there is a device, else in the layers'.
Cell convolution_cell(const Known& one) {
  const bool is_device = one.measured("convolution.kernel_share") != nullptr;
  return figure_cell(
      one.figure(is_device ? "convolution.kernel_share" : "convolution.latency_share"));
}

// The choice is as certain as the throughputs from which it is made.
Cell best_batch_cell(const Entry& entry) {
  Cell cell = batch_cell(entry.best().batch);
  std::vector<const Figure*> throughputs;
  for (const auto& [batch, one] : entry.batches) throughputs.push_back(one->measured("throughput"));
  cell.html += throughputs.size() > 1 ? doubt_html(throughputs) : "<small>the only one</small>";
  return cell;
}

std::string models_table(const std::vector<Known>& all, const std::vector<Entry>& entries,
                         const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    std::vector<Cell> row = subject.cells(entry);
    const Figure* accuracy = accuracy_of(all, entry.any().model);
    row.push_back(figure_cell(accuracy));
    if (accuracy != nullptr) row.back().html += "<small>" + escaped(accuracy->metric) + "</small>";
    row.push_back(figure_cell(entry.worked().figure("layers.weights")));
    const Known* online = entry.online();
    row.push_back(figure_cell(online == nullptr ? nullptr : online->figure("inference.latency")));
    row.push_back(figure_cell(entry.fastest().figure("throughput")));
    row.push_back(best_batch_cell(entry));
    row.push_back(convolution_cell(entry.worked()));
    rows.push_back(std::move(row));
  }
  return section_html(
             "models", "Models",
             "Latency is that of an inference at batch size 1. The best batch size is the "
             "smallest within 1 % of the highest throughput. Weights that several layers read "
             "count for each of them. The share of convolution is that "
             "in the time of the kernels at the batch size of the table <a href=\"#kernels\">"
             "Work on the device</a>, or of the layers on a processor.") +
         table_html("models-table", "Each model in each framework, on each system",
                    subject.heads({"accuracy", "weights read", "online latency",
                                   "highest throughput", "best batch", "convolution"}),
                    rows);
}

std::string kernels_table(const std::vector<Entry>& entries, const SubjectColumns& subject) {
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
      row.push_back(figure_cell(one.figure(metric)));
    }
    rows.push_back(std::move(row));
  }
  const std::string html = section_html(
      "kernels", "Work on the device",
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

std::string thirds_table(const std::vector<Entry>& entries, const SubjectColumns& subject) {
  Rows rows;
  for (const Entry& entry : entries) {
    const Known& one = entry.worked();
    if (one.measured("third.latency") == nullptr) continue;
    std::vector<Cell> row = subject.cells(entry);
    row.push_back(batch_cell(one.batch));
    for (const char* metric :
         {"third.latency", "third.kernels", "third.memory", "third.flops", "third.accesses"}) {
      row.push_back(figure_cell(one.figure(metric)));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return section_html(
             "thirds", "Where in the network",
             "The third of the layers, in their order, that has most of the layers' latency on "
             "the host, of their kernels' time, of the memory that they allocate, and of the "
             "flops and the memory accesses that were counted, or that their shapes tell if "
             "none were; and its share, of which a third of equal layers has 33 %.") +
         table_html("thirds-table", "Which third of the network dominates",
                    subject.heads({"batch", "latency", "kernels", "memory", "flops", "accesses"}),
                    rows);
}

// One chart for each device of each system, because each has its own roof.
std::string rooflines(const std::vector<Entry>& entries) {
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
  return section_html(
             "roofline", "Roofline over models",
             "Each model at the batch size of the table below, under the highest ceiling of "
             "arithmetic that one of them uses: models of slower arithmetic meet their own "
             "before. Flops and bytes are counted on a GPU, and follow from the layers' shapes "
             "on a processor.") +
         "<div class=\"charts\">" + html + "</div>\n";
}

std::string accuracy_charts(const std::vector<Known>& all, const std::vector<Entry>& entries) {
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
  return section_html(
             "accuracy", "Accuracy",
             "A model's accuracy is that of <code>xsp evaluate --accuracy</code>, on the data "
             "that its "
             "page names. Models with random weights have none.") +
         "<div class=\"charts\">" + chart_html(latency) + chart_html(throughput) + "</div>\n";
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
  return section_html(
             "systems", "Systems",
             "A system is a machine in one state of its hardware and software. Its fingerprint "
             "follows from the facts on its page: processor, GPU, driver, clocks, limits, "
             "kernel, container.") +
         table_html(
             "systems-table", "Systems, by fingerprint",
             {"system", "fingerprint", "operating system", "kernel", "GPU driver", "evaluations"},
             rows);
}

}  // namespace

std::string index_page(const Overall& of) {
  const auto& [all, entries, subject] = of;
  return page_html("Models, frameworks and systems", kIndexPage,
                   subject.lead() + models_table(all, entries, subject) +
                       accuracy_charts(all, entries) + rooflines(entries) +
                       kernels_table(entries, subject) + thirds_table(entries, subject) +
                       systems_table(all));
}

}  // namespace xsp::site
