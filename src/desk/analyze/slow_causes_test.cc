#include "desk/analyze/slow_causes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "desk/analyze/slow_rows.h"

namespace xsp::analyze {
namespace {

using slow::Call;
using slow::kNone;
using slow::Operation;
using slow::RawRows;
using slow::Span;
using slow::starts_with;
using slow::Step;

// Matches 'Linear', 'MaxPool2d', but not 'aten::add' or 'AddmmBackward0'.
bool is_module(const Span& span) {
  if (!span.type || span.type->find("::") != std::string::npos) return false;
  const size_t digits = span.type->find_last_not_of("0123456789");
  const bool is_numbered = digits != std::string::npos && digits + 1 < span.type->size();
  if (!is_numbered) return true;
  const std::string word = "Backward";
  return digits + 1 < word.size() ||
         span.type->compare(digits + 1 - word.size(), word.size(), word) != 0;
}

class Slow : RawRows {
 public:
  Slow(store::Database& database, int64_t how_many) : RawRows(database), how_many_(how_many) {}

  Result<SlowCauses> compute() {
    XSP_CHECK_OK(read());
    for (Operation& operation : operations_)
      by_process_[operation.span->process].push_back(&operation);
    find_periods();
    std::set<int64_t> processes;
    for (const SlowPeriod& period : result_.periods) processes.insert(period.process);
    for (const int64_t process : processes) reach(process);
    judge_operators();
    for (const int64_t process : processes) {
      find_gaps(process);
      for (SlowPeriod& period : result_.periods) {
        if (period.process == process) tell(period);
      }
    }
    return std::move(result_);
  }

 private:
  // ---- The periods ----

  void find_periods() {
    std::map<int64_t, std::vector<Step>> found;
    for (const Step& step : is_profile_ ? inferences_ : steps_) found[step.process].push_back(step);
    for (auto& [process, steps] : found) {
      std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::tie(a.start, a.number) < std::tie(b.start, b.number);
      });
      choose(is_profile_ ? steps : where_work_is_done(busiest_thread(steps)));
    }
  }

  static std::vector<Step> busiest_thread(const std::vector<Step>& steps) {
    std::map<int64_t, int> count;
    for (const Step& step : steps) ++count[step.thread];
    int64_t busiest = steps[0].thread;
    for (const auto& [thread, n] : count) {
      if (n > count[busiest] || (n == count[busiest] && thread < busiest)) busiest = thread;
    }
    std::vector<Step> kept;
    for (const Step& step : steps) {
      if (step.thread == busiest) kept.push_back(step);
    }
    return kept;
  }

  // Returns periods from the first operation of a step to the first one of the next step.
  std::vector<Step> where_work_is_done(const std::vector<Step>& steps) {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> begins(steps.size(), kNever);
    bool launches = false;
    for (const Operation* operation : by_process_[steps[0].process]) {
      if (!operation->call) continue;
      for (size_t i = steps.size(); i-- > 0;) {
        const bool is_empty = steps[i].own_end <= steps[i].start;
        if (is_empty || steps[i].start > operation->call->start) continue;
        if (steps[i].own_end <= operation->call->start) break;
        begins[i] = std::min(begins[i], operation->span->start);
        launches = true;
        break;
      }
    }
    if (!launches) {
      std::vector<Step> whole;
      std::copy_if(steps.begin(), steps.end(), std::back_inserter(whole),
                   [](const Step& step) { return step.is_whole; });
      return whole;
    }
    int64_t latest = std::numeric_limits<int64_t>::min();
    for (int64_t& begin : begins) {
      if (begin == kNever) continue;
      latest = begin = std::max(begin, latest);
    }
    std::vector<Step> periods;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (begins[i] == kNever || begins[i + 1] == kNever || begins[i + 1] <= begins[i]) continue;
      if (steps[i + 1].number != steps[i].number + 1) continue;
      Step period = steps[i];
      period.start = begins[i];
      period.end = begins[i + 1];
      periods.push_back(period);
    }
    return periods;
  }

  void choose(const std::vector<Step>& steps) {
    int best = 3;
    for (const Step& step : steps) best = std::min(best, step.part);
    std::vector<Step> kept;
    std::vector<int64_t> lengths;
    for (const Step& step : steps) {
      if (step.part != best || step.end <= step.start) continue;
      kept.push_back(step);
      lengths.push_back(step.end - step.start);
    }
    if (kept.empty()) return;
    std::sort(lengths.begin(), lengths.end());
    const size_t n = lengths.size();
    const double twice_median = static_cast<double>(lengths[(n - 1) / 2] + lengths[n / 2]);
    const auto is_far = [&](int64_t length) {
      return static_cast<double>(length) > 10 * twice_median;
    };
    const auto far = std::count_if(lengths.begin(), lengths.end(), is_far);
    if (far * 50 <= static_cast<int64_t>(n)) {
      kept.erase(std::remove_if(kept.begin(), kept.end(),
                                [&](const Step& step) { return is_far(step.end - step.start); }),
                 kept.end());
    }
    const auto count = static_cast<int64_t>(kept.size());
    const int64_t first = std::max<int64_t>(0, (count - how_many_) / 2);
    const int64_t last = std::min(count, first + how_many_);
    for (int64_t i = first; i < last; ++i) {
      const Step& step = kept[static_cast<size_t>(i)];
      result_.periods.push_back({step.process, step.thread, step.start, step.end, 0});
    }
  }

  // ---- The examined stretch of a process ----

  struct Stretch {
    int64_t from = 0, until = 0, thread = kNone;
    std::map<int64_t, std::vector<const Span*>> spans;  // by thread, in order of their start
  };

  // The stretch extends by the longest period before the first and after the last period, and then
  // to the edge of the next operation.
  void reach(int64_t process) {
    Stretch stretch;
    int64_t first = std::numeric_limits<int64_t>::max(), last = 0, longest = 0;
    for (const SlowPeriod& period : result_.periods) {
      if (period.process != process) continue;
      if (period.start_ns < first) stretch.thread = period.thread;
      first = std::min(first, period.start_ns);
      last = std::max(last, period.end_ns);
      longest = std::max(longest, period.end_ns - period.start_ns);
    }
    int64_t before = std::numeric_limits<int64_t>::min();
    int64_t after = std::numeric_limits<int64_t>::max();
    for (const Operation* operation : by_process_[process]) {
      const Span& span = *operation->span;
      if (span.end <= first - longest) before = std::max(before, span.end);
      if (span.start >= last + longest) after = std::min(after, span.start);
    }
    const bool has_before = before != std::numeric_limits<int64_t>::min();
    const bool has_after = after != std::numeric_limits<int64_t>::max();
    stretch.from = has_before ? before : first - longest;
    stretch.until = has_after ? after : last + longest;
    for (const Span& span : spans_) {
      if (span.process != process || span.device != kNone || span.is_open) continue;
      if (span.end == span.start || span.start >= stretch.until || span.end <= stretch.from)
        continue;
      stretch.spans[span.thread].push_back(&span);
    }
    for (auto& [thread, spans] : stretch.spans) {
      std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
        return std::tuple(a->start, -a->end, a->level, a->id) <
               std::tuple(b->start, -b->end, b->level, b->id);
      });
    }
    for (const Operation* operation : by_process_[process]) {
      const Span& span = *operation->span;
      has_device_ = has_device_ || (span.start <= stretch.until && span.end > stretch.from);
    }
    stretches_[process] = std::move(stretch);
  }

  // Finds the sites whose operators launch nothing and take more than 50 us on the host on average.
  void judge_operators() {
    std::set<int64_t> launching;
    std::map<int64_t, std::pair<double, int64_t>> own;
    for (const auto& [process, stretch] : stretches_) {
      std::map<int64_t, const Span*> by_id;
      for (const auto& [thread, spans] : stretch.spans) {
        for (const Span* span : spans) by_id[span->id] = span;
      }
      for (const auto& [id, span] : by_id) {
        if (span->level == 3) {
          has_layers_ = true;
          own[span->site].first += static_cast<double>(span->self_ns);
          ++own[span->site].second;
        }
        const auto parent = by_id.find(span->parent);
        const bool launches =
            span->level == 5 && span->is({"launch", "graph_launch", "copy", "memset"});
        if (launches && parent != by_id.end()) launching.insert(parent->second->site);
      }
    }
    for (const auto& [site, sum] : own) {
      const bool is_long = sum.first > 50000.0 * static_cast<double>(sum.second);
      if (is_long && launching.count(site) == 0) computing_.insert(site);
    }
  }

  // ---- The host ----

  // Returns the innermost of a thread's open spans at a moment, which is the one that began last.
  const Span* innermost(int64_t process, int64_t thread, int64_t at) {
    const std::vector<const Span*>& spans = stretches_[process].spans[thread];
    auto span =
        std::upper_bound(spans.begin(), spans.end(), at,
                         [](int64_t moment, const Span* one) { return moment < one->start; });
    while (span != spans.begin()) {
      if ((*--span)->end <= at) continue;
      return (*span)->is({"step", "process"}) ? nullptr : *span;
    }
    return nullptr;
  }

  // Returns the blocking call in which a thread is; of several, the one that ends last.
  const Span* blocking(int64_t process, int64_t thread, int64_t at) {
    const Span* found = nullptr;
    for (const Span* span : stretches_[process].spans[thread]) {
      const bool blocks = span->level == 5 && span->is({"synchronization", "copy", "allocation"});
      if (!blocks || span->start > at || span->end <= at) continue;
      if (found == nullptr || span->end > found->end) found = span;
    }
    return found;
  }

  static std::string call_cause(const Span& call) {
    if (call.is({"launch", "graph_launch", "memset"})) return "launch";
    if (call.is({"copy"})) return "copy preparation";
    if (call.is({"synchronization"})) return "synchronisation";
    if (call.is({"allocation"})) return "allocation";
    if (!call.is({"overhead"})) return "framework";
    return call.name == "command buffer is full" ? "launch" : "recording";
  }

  std::string host_cause(const Span* span) {
    if (span == nullptr) return "host code";
    const auto found = phase_of_.find(span->site);
    const std::string phase = found == phase_of_.end() ? "" : found->second;
    if (phase == "data" || (span->type && starts_with(*span->type, "enumerate(DataLoader)"))) {
      return "data";
    }
    if (span->level == 5) return call_cause(*span);
    if (span->level == 1 && phase == "gc") return "garbage collection";
    if (span->level == 1) return phase == "backward" ? "framework" : "host code";
    const bool is_module_call = span->level == 2 || (span->level == 3 && is_module(*span));
    if (in_python_ && is_module_call) return "host code";
    if (span->level == 2 && (has_device_ || has_layers_)) return "framework";
    if (!has_device_) return is_profile_ && is_on_gpu_ ? "unknown" : "compute";
    return span->level == 3 && computing_.count(span->site) != 0 ? "host code" : "framework";
  }

  // Returns whether an inference of a profiled model begins or ends in (a, b].
  bool has_boundary(int64_t process, int64_t a, int64_t b) const {
    return is_profile_ &&
           std::any_of(result_.periods.begin(), result_.periods.end(), [&](const SlowPeriod& one) {
             const auto is_within = [&](int64_t at) { return at > a && at <= b; };
             return one.process == process && (is_within(one.start_ns) || is_within(one.end_ns));
           });
  }

  // ---- The gaps of the device ----

  void find_gaps(int64_t process) {
    gaps_.clear();
    const Stretch& stretch = stretches_[process];
    std::optional<int64_t> covered;
    const auto gap = [&](const Operation* next, int64_t until) {
      const int64_t from = covered.value_or(stretch.from);
      if (from < until && from < stretch.until && until > stretch.from) {
        explain(process, from, std::min(until, stretch.until), covered.has_value(), next);
      }
    };
    for (const Operation* operation : by_process_[process]) {
      gap(operation, operation->span->start);
      covered = std::max(covered.value_or(operation->span->end), operation->span->end);
    }
    gap(nullptr, stretch.until);
  }

  struct Told {
    int64_t start, end;
    std::string cause;
    const Span* span;
  };

  // Explains the gap [a, b), moment by moment.
  void explain(int64_t process, int64_t a, int64_t b, bool ran_dry, const Operation* next) {
    const auto add = [&](int64_t start, int64_t end, const std::string& cause, int64_t thread,
                         const Span* span) {
      if (end > start) {
        gaps_.push_back(
            {process, 0, start, end, false, cause, thread, span == nullptr ? kNone : span->id});
      }
    };
    const Call* call = next != nullptr && next->call ? &*next->call : nullptr;
    if (call != nullptr && call->end <= a) return add(a, b, "device", kNone, nullptr);
    const int64_t thread = call == nullptr ? stretches_[process].thread : call->first->thread;
    const int64_t c = call == nullptr ? b : std::clamp(call->start, a, b);
    const Span* block = ran_dry ? blocking(process, thread, a) : nullptr;
    const int64_t e = block == nullptr ? a : std::min(block->end, c);
    const std::string waits =
        block != nullptr && block->is({"allocation"}) ? "allocation" : "synchronisation";
    add(a, e, waits, thread, block);

    // Each elementary interval is joined with the one before if nothing changed.
    std::set<int64_t> edges = {e, c};
    for (const Span* span : stretches_[process].spans[thread]) {
      for (const int64_t edge : {span->start, span->end}) {
        if (edge > e && edge < c) edges.insert(edge);
      }
    }
    std::vector<Told> told;
    for (auto edge = edges.begin(); std::next(edge) != edges.end(); ++edge) {
      const Span* span = innermost(process, thread, *edge);
      if (!told.empty() && told.back().span == span) {
        told.back().end = *std::next(edge);
      } else {
        told.push_back({*edge, *std::next(edge), host_cause(span), span});
      }
    }
    if (call != nullptr && c < b) told.push_back({c, b, call_cause(*call->first), call->first});

    // The call delayed the launching by the time that it had blocked before the queue ran dry.
    int64_t delay = block == nullptr || has_boundary(process, a, b) ? 0 : a - block->start;
    for (const Told& one : told) {
      const int64_t length = one.end - one.start;
      static const std::set<std::string> kLaunching = {"framework", "launch", "copy preparation",
                                                       "synchronisation"};
      const bool is_launching =
          kLaunching.count(one.cause) != 0 || (one.cause == "host code" && length < 100'000);
      const int64_t delayed = is_launching ? std::min(delay, length) : 0;
      delay -= delayed;
      add(one.start, one.start + delayed, waits, thread, block);
      add(one.start + delayed, one.end, one.cause, thread, one.span);
    }
  }

  // ---- One period ----

  void tell(SlowPeriod& period) {
    std::vector<const Operation*> near;
    std::set<int64_t> edges = {period.start_ns, period.end_ns};
    for (const Operation* operation : by_process_[period.process]) {
      const Span& span = *operation->span;
      if (span.start >= period.end_ns || span.end <= period.start_ns) continue;
      near.push_back(operation);
      for (const int64_t edge : {span.start, span.end}) {
        if (edge > period.start_ns && edge < period.end_ns) edges.insert(edge);
      }
    }
    for (auto edge = edges.begin(); std::next(edge) != edges.end(); ++edge) {
      const int64_t start = *edge, end = *std::next(edge);
      std::vector<const Operation*> running[4];  // by kind, in the order in which they began
      for (const Operation* operation : near) {
        const Span& span = *operation->span;
        if (span.start > start) break;
        if (span.end > start) running[operation->kind].push_back(operation);
      }
      bool is_hidden = false;
      for (const int kind : {1, 2, 3}) {
        for (const Operation* operation : running[kind]) {
          const Span& span = *operation->span;
          const char* const names[] = {
              "", products_.count(span.name) != 0 ? "compute" : "other kernels", "communication",
              "copy"};
          push({period.process, period.start_ns, start, end, is_hidden, names[kind], kNone,
                span.id});
          is_hidden = true;
        }
      }
      if (is_hidden) period.busy_ns += end - start;
    }
    for (SlowPiece gap : gaps_) {
      gap.period_ns = period.start_ns;
      gap.start_ns = std::max(gap.start_ns, period.start_ns);
      gap.end_ns = std::min(gap.end_ns, period.end_ns);
      if (gap.end_ns > gap.start_ns) push(gap);
    }
  }

  void push(const SlowPiece& piece) { result_.pieces.push_back(piece); }

  int64_t how_many_;
  bool has_device_ = false;
  std::map<int64_t, std::vector<Operation*>> by_process_;
  std::map<int64_t, Stretch> stretches_;
  std::set<int64_t> computing_;
  bool has_layers_ = false;
  std::vector<SlowPiece> gaps_;
  SlowCauses result_;
};

}  // namespace

Result<SlowCauses> slow_causes(store::Database& database, int64_t how_many) {
  return Slow(database, how_many).compute();
}

}  // namespace xsp::analyze
