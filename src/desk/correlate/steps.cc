#include "desk/correlate/steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "xsp/xsp.h"

namespace xsp::correlate {
namespace {

constexpr int64_t kNoNumber = INT64_MIN;
constexpr std::array<std::string_view, 4> kKindNames = {"", "model", "optimizer", "mark"};

// Returns the XSP_STEP_* of a site that stands for steps, or 0 for any other site.
uint32_t step_kind(const trace::Site& site) {
  if (site.level != XSP_LEVEL_APPLICATION || site.type != "step") return 0;
  for (const auto& [key, value] : site.attributes) {
    if (key != "step_of") continue;
    const auto* found = std::find(kKindNames.begin(), kKindNames.end(), value);
    return found == kKindNames.end() ? 0 : static_cast<uint32_t>(found - kKindNames.begin());
  }
  return 0;
}

class StepFinder {
 public:
  explicit StepFinder(const trace::Reader& reader) : reader_(reader) {
    for (const trace::Site& site : reader.sites()) {
      if (site.id >= kinds_.size()) kinds_.resize(site.id + size_t{1}, kNeither);
      const uint32_t kind = step_kind(site);
      if (site.id >= levels_.size()) levels_.resize(site.id + size_t{1});
      levels_[site.id] = XSP_LEVEL_BIT(site.level);
      kinds_[site.id] = kind != 0 ? kind : site.level == XSP_LEVEL_MODEL ? kModel : kNeither;
    }
    const auto& keys = reader.keys();
    const auto key = std::find(keys.begin(), keys.end(), "iteration");
    iteration_key_ = key == keys.end() ? 0 : static_cast<uint32_t>(key - keys.begin());
  }

  TraceSteps find() {
    trace::SpanBatch batch;
    for (size_t stream = 0; stream < reader_.streams().size(); ++stream) {
      for (size_t chunk = 0; chunk < reader_.streams()[stream].chunk_count; ++chunk) {
        if (reader_.read(stream, chunk, &batch).ok()) add(batch);
      }
    }
    return finish();
  }

 private:
  static constexpr uint32_t kNeither = 0;
  static constexpr uint32_t kModel = 100;

  void add(const trace::SpanBatch& batch) {
    size_t value = 0;
    for (uint32_t i = 0; i < batch.size(); ++i) {
      if (batch.site[i] < levels_.size()) levels_found_ |= levels_[batch.site[i]];
      const uint32_t kind = batch.site[i] < kinds_.size() ? kinds_[batch.site[i]] : kNeither;
      if (kind == kNeither) continue;
      const Step step = {batch.start_ns[i], batch.end_ns[i]};
      if (kind != kModel) {
        steps_[kind].push_back(step);
        continue;
      }
      ModelCall call = {step.start_ns, step.end_ns, batch.thread[i], kNoNumber};
      while (value < batch.values.size() && batch.values[value].span < i) ++value;
      for (; value < batch.values.size() && batch.values[value].span == i; ++value) {
        const trace::SpanValue& one = batch.values[value];
        if (one.key == iteration_key_ && one.kind == XSP_VALUE_INT) call.iteration = one.as_int;
      }
      calls_.push_back(call);
    }
  }

  static void number(std::vector<ModelCall>* calls) {
    std::vector<int64_t> numbers;
    for (const ModelCall& one : *calls) numbers.push_back(one.iteration);
    std::sort(numbers.begin(), numbers.end());
    const bool is_numbered = (numbers.empty() || numbers[0] != kNoNumber) &&
                             std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
    for (size_t i = 0; !is_numbered && i < calls->size(); ++i) {
      (*calls)[i].iteration = static_cast<int64_t>(i);
    }
  }

  TraceSteps finish() {
    TraceSteps found;
    std::sort(calls_.begin(), calls_.end(), [](const ModelCall& a, const ModelCall& b) {
      if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
      return a.end_ns > b.end_ns;
    });
    std::map<uint32_t, int64_t> end_of_thread;
    for (const ModelCall& one : calls_) {
      const auto [end, is_new] = end_of_thread.try_emplace(one.thread, INT64_MIN);
      if (one.end_ns <= end->second) continue;  // inside another call
      end->second = one.end_ns;
      steps_[0].push_back({one.start_ns, one.end_ns});
      found.calls.push_back(one);
    }
    number(&found.calls);
    found.levels = levels_found_;
    uint32_t kind = XSP_STEP_MARK;
    while (kind > 0 && steps_[kind].empty()) --kind;
    found.steps = std::move(steps_[kind]);
    if (!found.steps.empty()) found.kind = std::max<uint32_t>(kind, XSP_STEP_MODEL);
    std::sort(found.steps.begin(), found.steps.end(),
              [](const Step& a, const Step& b) { return a.start_ns < b.start_ns; });
    return found;
  }

  const trace::Reader& reader_;
  std::vector<uint32_t> kinds_;   // kind of each site: XSP_STEP_*, kModel or kNeither
  std::vector<uint32_t> levels_;  // bit of each site's level
  uint32_t levels_found_ = 0;
  uint32_t iteration_key_ = 0;
  std::array<std::vector<Step>, 4> steps_;  // steps of each kind; 0: outermost calls of a model
  std::vector<ModelCall> calls_;
};

}  // namespace

TraceSteps find_steps(const trace::Reader& reader) { return StepFinder(reader).find(); }

}  // namespace xsp::correlate
