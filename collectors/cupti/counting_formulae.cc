#include "collectors/cupti/counting_formulae.h"

#include <algorithm>

namespace xsp::cupti {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

size_t index_of(std::vector<std::string>* metrics, const std::string& metric) {
  const auto found = std::find(metrics->begin(), metrics->end(), metric);
  if (found != metrics->end()) return static_cast<size_t>(found - metrics->begin());
  metrics->push_back(metric);
  return metrics->size() - 1;
}

bool is_here(const Formula& formula, const std::function<bool(const std::string&)>& has_metric) {
  return std::all_of(std::begin(formula.terms), std::end(formula.terms), [&](const Term& term) {
    return term.metric == nullptr || has_metric(term.metric);
  });
}

class Planner {
 public:
  explicit Planner(const std::function<bool(const std::string&)>& has_metric)
      : has_metric_(has_metric) {}

  // Adds one counter of the table. Returns false if the table has none of that name.
  bool add_known(std::string_view name) {
    if (name == kFlops) return add_flops();
    bool is_known = false;
    for (const Formula& formula : roofline_formulae()) {
      if (name != formula.counter) continue;
      is_known = true;
      if (is_planned(name)) return true;
      if (!is_here(formula, has_metric_)) continue;
      add(std::string(name), formula);
      return true;
    }
    if (is_known) add_absent(name);
    return is_known;
  }

  void add_roofline() {
    add_flops();
    for (const Formula& formula : roofline_formulae()) add_known(formula.counter);
  }

  bool add_metric(const std::string& name) {
    if (!has_metric_(name)) return false;
    if (!is_planned(name)) add(name, Formula{"", {{name.c_str(), 1}}});
    return true;
  }

  CounterPlan take() { return std::move(plan_); }

 private:
  bool is_planned(std::string_view name) const {
    return std::any_of(plan_.counters.begin(), plan_.counters.end(),
                       [&](const auto& counter) { return counter.name == name; });
  }

  void add_absent(std::string_view name) {
    if (std::find(plan_.absent.begin(), plan_.absent.end(), name) == plan_.absent.end()) {
      plan_.absent.emplace_back(name);
    }
  }

  void add(std::string name, const Formula& formula) {
    CounterPlan::Counter counter{std::move(name), {}};
    for (const Term& term : formula.terms) {
      if (term.metric == nullptr) break;
      counter.terms.push_back({index_of(&plan_.metrics, term.metric), term.factor});
    }
    plan_.counters.push_back(std::move(counter));
  }

  bool add_flops() {
    if (is_planned(kFlops)) return true;
    CounterPlan::Counter all{kFlops, {}};
    std::string_view counted;
    for (const Formula& formula : roofline_formulae()) {
      if (!ends_with(formula.counter, "_flops") || counted == formula.counter) continue;
      if (!is_here(formula, has_metric_)) continue;
      counted = formula.counter;
      for (const Term& term : formula.terms) {
        if (term.metric == nullptr) break;
        all.terms.push_back({index_of(&plan_.metrics, term.metric), term.factor});
      }
    }
    if (all.terms.empty()) {
      add_absent(kFlops);
    } else {
      plan_.counters.push_back(std::move(all));
    }
    return true;
  }

  const std::function<bool(const std::string&)>& has_metric_;
  CounterPlan plan_;
};

}  // namespace

// Instructions per thread, by operation, from CUPTI's instrumentation of the kernel's SASS. A fused
// multiply-add counts as two operations. Each instruction of half precision computes on a pair of
// numbers. (Nsight Compute's roofline of half precision has the same factors.)
#define XSP_SASS(op) "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum"
// Operations on the tensor path, as the hardware counts them: a fused multiply-add counts as two.
// They include the warp-group instructions of Hopper (HGMMA, QGMMA, IGMMA).
#define XSP_TENSOR(source) "sm__ops_path_tensor_src_" source ".sum"

const std::vector<Formula>& roofline_formulae() {
  // Requests of the multiprocessors to the L2 cache, in sectors. lts__t_sectors_op_* would also
  // count requests of one half of the cache to the other.
  constexpr double kSectorBytes = 32;
  static const std::vector<Formula> formulae = {
      {"fp64_flops", {{XSP_SASS("dadd"), 1}, {XSP_SASS("dmul"), 1}, {XSP_SASS("dfma"), 2}}},
      {"fp32_flops", {{XSP_SASS("fadd"), 1}, {XSP_SASS("fmul"), 1}, {XSP_SASS("ffma"), 2}}},
      {"fp16_flops", {{XSP_SASS("hadd"), 2}, {XSP_SASS("hmul"), 2}, {XSP_SASS("hfma"), 4}}},
      {"tensor_fp16_flops", {{XSP_TENSOR("fp16"), 1}}},
      {"tensor_fp16_flops", {{XSP_TENSOR("fp16_dst_fp16"), 1}, {XSP_TENSOR("fp16_dst_fp32"), 1}}},
      {"tensor_bf16_flops", {{XSP_TENSOR("bf16_dst_fp32"), 1}}},
      {"tensor_half_flops",
       {{XSP_TENSOR("fp16_bf16_tf32_dst_fp32"), 1}, {XSP_TENSOR("fp16_dst_fp16"), 1}}},
      {"tensor_tf32_flops", {{XSP_TENSOR("tf32_dst_fp32"), 1}}},
      {"tensor_fp8_flops", {{XSP_TENSOR("fp8"), 1}}},
      {"tensor_fp8_flops", {{XSP_TENSOR("fp8_dst_fp16"), 1}, {XSP_TENSOR("fp8_dst_fp32"), 1}}},
      {"tensor_fp8_flops",
       {{XSP_TENSOR("fp4_fp6_fp8_dst_fp16"), 1}, {XSP_TENSOR("fp4_fp6_fp8_dst_fp32"), 1}}},
      {"tensor_fp64_flops", {{XSP_TENSOR("fp64"), 1}}},
      {"tensor_int8_ops", {{XSP_TENSOR("int8"), 1}}},
      {"dram_read_bytes", {{"dram__bytes_read.sum", 1}}},
      {"dram_write_bytes", {{"dram__bytes_write.sum", 1}}},
      {"l2_read_bytes", {{"lts__t_sectors_srcunit_tex_op_read.sum", kSectorBytes}}},
      {"l2_write_bytes", {{"lts__t_sectors_srcunit_tex_op_write.sum", kSectorBytes}}},
      {"occupancy_pct", {{"sm__warps_active.avg.pct_of_peak_sustained_active", 1}}},
      {"sm_throughput_pct", {{"sm__throughput.avg.pct_of_peak_sustained_elapsed", 1}}},
      {"dram_throughput_pct", {{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 1}}},
      {"l2_throughput_pct", {{"lts__throughput.avg.pct_of_peak_sustained_elapsed", 1}}},
      {"tensor_pipe_pct", {{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 1}}},
      {"replay_duration_ns", {{"gpu__time_duration.sum", 1}}},
  };
  return formulae;
}

#undef XSP_SASS
#undef XSP_TENSOR

CounterPlan plan_counters(const std::vector<std::string>& names,
                          const std::function<bool(const std::string&)>& has_metric,
                          std::vector<std::string>* unknown) {
  Planner planner(has_metric);
  for (const std::string& name : names) {
    if (name == kRoofline) {
      planner.add_roofline();
    } else if (!planner.add_known(name) && !planner.add_metric(name)) {
      unknown->push_back(name);
    }
  }
  return planner.take();
}

bool needs_instrumented_code(const CounterPlan& plan, const CounterPlan::Counter& counter) {
  return std::any_of(counter.terms.begin(), counter.terms.end(), [&](const auto& term) {
    return plan.metrics[term.metric].find("__sass_") != std::string::npos;
  });
}

std::vector<double> evaluate(const CounterPlan& plan, const std::vector<double>& metrics) {
  std::vector<double> values;
  values.reserve(plan.counters.size());
  for (const CounterPlan::Counter& counter : plan.counters) {
    double value = 0;
    for (const CounterPlan::Weighted& term : counter.terms) {
      value += term.factor * metrics[term.metric];
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace xsp::cupti
