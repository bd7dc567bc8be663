// The oracle applies rules.h word by word, in quadratic time. The tests compare the correlation
// with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "desk/correlate/testing.h"
#include "shared/base/testing.h"
#include "xsp/xsp.h"

namespace xsp::correlate {

namespace {

// Returns whether a span on p's thread and lane may contain one on c's.
bool reaches(const TestSpan& p, const TestSpan& c) {
  const uint32_t own = p.thread % (1u << 22), lane = p.thread / (1u << 22);
  return own == c.thread % (1u << 22) && (p.thread == c.thread || (lane == 0 && p.level < c.level));
}

bool given(const TestTrace& trace, const TestSpan& span) {
  return trace.streams()[span.stream].given_times;
}

// Returns whether `p` contains `c`. The level of c is that of p or deeper.
bool contains(const TestTrace& trace, const TestSpan& p, const TestSpan& c, int64_t tolerance) {
  const bool inside = c.start_ns >= p.start_ns && c.end_ns <= p.end_ns;
  if (p.level == c.level) {
    const bool instant = c.start_ns == c.end_ns;
    const bool at_end_point = c.start_ns == p.start_ns || c.start_ns == p.end_ns;
    return inside && !(instant && at_end_point);
  }
  if (inside) return true;
  if (!given(trace, p) && !given(trace, c)) return false;
  const int64_t middle = (c.end_ns - c.start_ns) / 2 + c.start_ns;
  return p.start_ns - c.start_ns <= tolerance && c.end_ns - p.end_ns <= tolerance &&
         middle >= p.start_ns && middle <= p.end_ns;
}

// Returns the indices of spans in the order of ends.
std::vector<size_t> order_of_ends(const std::vector<TestSpan>& spans) {
  std::vector<size_t> order(spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const TestSpan &a = spans[x], &b = spans[y];
    return std::tuple(a.end_ns, -a.start_ns, -int{a.level}, a.stream) <
           std::tuple(b.end_ns, -b.start_ns, -int{b.level}, b.stream);
  });
  return order;
}

int64_t union_of(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t sum = 0, until = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    if (end <= until) continue;
    sum += end - std::max(start, until);
    until = end;
  }
  return sum;
}

class Oracle {
 public:
  Oracle(const TestTrace& trace, int64_t tolerance)
      : trace_(trace), tolerance_(tolerance), order_(order_of_ends(trace.spans())) {}

  std::vector<Span> run() {
    result_.resize(order_.size());
    parent_.assign(order_.size(), kNone);
    for (size_t i = 0; i < order_.size(); ++i) {
      if (at(i).device == 0 && at(i).correlation_id != 0) launches_[at(i).correlation_id] = i;
    }
    for (size_t i = 0; i < order_.size(); ++i) parent_[i] = parent_of(i);
    for (size_t i = 0; i < order_.size(); ++i) fill(i);
    for (size_t i = 0; i < order_.size(); ++i) set_self(i);
    set_ordinals();
    return result_;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  const TestSpan& at(size_t i) const { return trace_.spans()[order_[i]]; }

  size_t launch_of(size_t i) const {
    const auto found = launches_.find(at(i).correlation_id);
    return found == launches_.end() ? kNone : found->second;
  }

  size_t parent_of(size_t i) const {
    const TestSpan& child = at(i);
    const bool is_launched = child.device != 0 && child.correlation_id != 0;
    for (size_t k = 0; is_launched && child.level > 3 && k < order_.size(); ++k) {
      const TestSpan& p = at(k);
      if (p.level == 3 && p.device == child.device && p.device_stream == child.device_stream &&
          p.correlation_id == child.correlation_id && contains(trace_, p, child, 0))
        return k;
    }
    if (is_launched && launch_of(i) != kNone) {
      return child.level == 3 ? model_above(launch_of(i)) : launch_of(i);
    }
    for (size_t k = 0; k < order_.size(); ++k) {
      const TestSpan& p = at(k);
      if (k == i || p.device != 0 || !reaches(p, child) || p.level > child.level) continue;
      if (p.level == child.level && k < i) continue;
      if (contains(trace_, p, child, tolerance_)) return k;
    }
    return kNone;
  }

  size_t model_above(size_t i) const {
    while (i != kNone && at(i).level != 2) i = parent_of(i);
    return i;
  }

  void fill(size_t i) {
    Span& span = result_[i];
    span.id = i + 1;
    span.site = static_cast<uint32_t>(order_[i] + 1);
    span.parent_id = parent_[i] == kNone ? 0 : parent_[i] + 1;
    for (size_t k = i; k != kNone && at(i).device == 0; k = parent_[k]) {
      if (k != i && at(k).level != at(i).level) break;
      span.depth += k == i ? 0 : 1;
    }
    bool found_iteration = false;
    for (size_t k = i; k != kNone; k = parent_[k]) {
      if (at(k).level == 2 && span.model_id == 0) span.model_id = k + 1;
      if (at(k).level == 3 && span.layer_id == 0) span.layer_id = k + 1;
      if (at(k).level == 2 && !found_iteration && at(k).iteration != kNoIteration) {
        span.iteration = at(k).iteration;
        found_iteration = true;
      }
    }
  }

  void set_self(size_t i) {
    std::vector<std::pair<int64_t, int64_t>> covered;
    for (size_t k = 0; k < order_.size(); ++k) {
      if (parent_[k] != i || at(k).device != 0) continue;
      const int64_t start = std::max(at(k).start_ns, at(i).start_ns);
      const int64_t end = std::min(at(k).end_ns, at(i).end_ns);
      if (end > start) covered.push_back({start, end});
    }
    result_[i].self_ns = at(i).end_ns - at(i).start_ns - union_of(covered);
  }

  // Counts by the meaning of "order of starts" in a tree: a span comes later if the other is around
  // it or ended before it.
  void set_ordinals() {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (result_[i].model_id == 0) continue;
      result_[i].ordinal = 0;
      if (at(i).level == 2) continue;
      for (size_t k = 0; k < order_.size(); ++k) {
        if (k == i || at(k).level != at(i).level || result_[k].model_id != result_[i].model_id)
          continue;
        const bool around = k > i && is_above(k, i);
        const bool before = k < i && !is_above(i, k);
        result_[i].ordinal += around || before ? 1 : 0;
      }
    }
  }

  // Returns whether k is an ancestor of i and all spans between them have the same level.
  bool is_above(size_t k, size_t i) const {
    if (at(i).device != 0) return false;
    for (size_t p = i; p != kNone && at(p).level == at(i).level; p = parent_[p]) {
      if (p == k) return true;
    }
    return false;
  }

  const TestTrace& trace_;
  const int64_t tolerance_;
  const std::vector<size_t> order_;
  std::map<uint64_t, size_t> launches_;
  std::vector<size_t> parent_;
  std::vector<Span> result_;
};

}  // namespace

std::vector<Span> ask_oracle(const TestTrace& trace, int64_t tolerance_ns) {
  return Oracle(trace, tolerance_ns).run();
}

uint64_t count_doubts(const TestTrace& trace, int64_t tolerance_ns) {
  uint64_t count = 0;
  for (const TestSpan& s : trace.spans()) {
    bool in_doubt = false;
    for (const TestSpan& p : trace.spans()) {
      if (s.device != 0 || p.device != 0 || !reaches(p, s) || p.level >= s.level) continue;
      const bool overlap = s.start_ns < p.end_ns && p.start_ns < s.end_ns;
      const bool inside_out = s.start_ns <= p.start_ns && p.end_ns <= s.end_ns;
      in_doubt |= overlap && !inside_out && !contains(trace, p, s, tolerance_ns);
    }
    count += in_doubt ? 1 : 0;
  }
  return count;
}

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(limit));
  }
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

// Makes random intervals at random levels on a few threads: many have equal ends or no duration.
std::vector<TestSpan> make_anything(Random& random, size_t count, int64_t range) {
  std::vector<TestSpan> spans;
  for (size_t i = 0; i < count; ++i) {
    TestSpan span;
    span.start_ns = random.below(range);
    span.end_ns = span.start_ns + random.below(random.one_in(3) ? 3 : range / 2 + 1);
    span.level = static_cast<uint8_t>(1 + random.below(6));
    span.thread = static_cast<uint32_t>(1 + random.below(2) + (random.below(3) << 22));
    span.stream = static_cast<size_t>(random.below(3));
    if (span.level == 2 && random.one_in(2)) span.iteration = random.below(100);
    spans.push_back(span);
  }
  return spans;
}

// Makes a properly nested tree of one thread. Returns where it ends.
int64_t grow(Random& random, int64_t start, int level, size_t limit, uint32_t thread,
             std::vector<TestSpan>* spans) {
  int64_t now = start + random.below(5);
  while (!random.one_in(4) && spans->size() < limit) {
    if (level >= 6) {
      now += random.below(20);
      continue;
    }
    const int next = level + static_cast<int>(random.below(2)) + (level == 0 ? 1 : 0);
    now = grow(random, now, next, limit, thread, spans) + random.below(3);
  }
  now += random.below(10);
  if (level > 0) {
    TestSpan span;
    span.start_ns = start;
    span.end_ns = now;
    span.level = static_cast<uint8_t>(level);
    span.thread = thread;
    span.stream = thread;
    if (level == 2) span.iteration = static_cast<int64_t>(spans->size());
    spans->push_back(span);
  }
  return now;
}

std::vector<TestSpan> make_forest(Random& random, size_t limit, uint32_t threads) {
  std::vector<TestSpan> spans;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    int64_t now = random.below(10);
    const size_t until = limit * (thread + 1) / threads;
    while (spans.size() < until) {
      now = grow(random, now, 0, until, thread, &spans) + 1;
    }
  }
  return spans;
}

// Makes layers as another profiler would report them: truncated, shifted, and in their own stream.
void blur_layers(Random& random, int64_t unit, size_t stream, std::vector<TestSpan>* spans) {
  for (TestSpan& span : *spans) {
    if (span.level != 3) continue;
    const int64_t duration = (span.end_ns - span.start_ns) / unit * unit;
    span.start_ns = span.start_ns / unit * unit + random.below(unit) - unit / 2;
    span.end_ns = span.start_ns + duration;
    span.stream = stream;
  }
}

// Sorts the streams that emit spans as these happen: such streams are in the order of ends.
void order_streams(const std::vector<bool>& shuffled, std::vector<TestSpan>* spans) {
  std::stable_sort(spans->begin(), spans->end(), [&](const TestSpan& a, const TestSpan& b) {
    if (a.stream != b.stream) return a.stream < b.stream;
    return !shuffled[a.stream] && a.end_ns < b.end_ns;
  });
}

void launch_some(Random& random, std::vector<TestSpan>* spans) {
  uint64_t correlation_id = 0;
  const size_t count = spans->size();
  for (size_t i = 0; i < count; ++i) {
    if ((*spans)[i].level != 5) continue;
    TestSpan execution = (*spans)[i];
    if (!random.one_in(5)) (*spans)[i].correlation_id = ++correlation_id;
    execution.correlation_id = random.one_in(5) ? 0 : correlation_id;
    execution.level = 6;
    execution.device = 1;
    execution.start_ns += random.below(100);
    execution.end_ns = execution.start_ns + random.below(50);
    execution.stream = 3;
    if (execution.correlation_id == 0 || correlation_id != 0) spans->push_back(execution);
  }
}

// Adds launches of graphs: layers one after another on a device's streams, with kernels inside
// them.
void launch_graphs(Random& random, std::vector<TestSpan>* spans) {
  uint64_t correlation_id = 1000;
  const size_t count = spans->size();
  for (size_t i = 0; i < count; ++i) {
    if ((*spans)[i].level != 5 || random.one_in(2)) continue;
    (*spans)[i].correlation_id = ++correlation_id;
    int64_t now[2] = {(*spans)[i].start_ns, (*spans)[i].start_ns + random.below(5)};
    for (int64_t layers = random.below(4); layers > 0; --layers) {
      TestSpan span;
      span.level = 6;
      span.device = 1;
      span.device_stream = static_cast<uint32_t>(random.below(2));
      span.correlation_id = correlation_id;
      span.stream = 3;
      int64_t& end_ns = now[span.device_stream];
      const int64_t start_ns = end_ns + random.below(3);
      for (int64_t kernels = 1 + random.below(3); kernels > 0; --kernels) {
        span.start_ns = std::max(start_ns, end_ns);
        span.end_ns = end_ns = span.start_ns + random.below(6);
        spans->push_back(span);
      }
      span.level = 3;
      span.start_ns = start_ns;
      if (!random.one_in(5)) spans->push_back(span);
    }
  }
}

std::string show(const TestTrace& trace) {
  std::string text;
  for (const TestSpan& s : trace.spans()) {
    text += "[" + std::to_string(s.start_ns) + "," + std::to_string(s.end_ns) + "] level " +
            std::to_string(s.level) + " thread " + std::to_string(s.thread) + " stream " +
            std::to_string(s.stream) + " correlation " + std::to_string(s.correlation_id) +
            (s.device != 0 ? " device, stream " + std::to_string(s.device_stream) : "") + "\n";
  }
  return text;
}

// Makes the ids equal to the positions in the order of ends.
void renumber(std::vector<Span>* spans) {
  std::map<uint64_t, uint64_t> positions = {{0, 0}};
  for (const Span& span : *spans) positions.emplace(span.id, positions.size());
  EXPECT_EQ(positions.size(), spans->size() + 1) << "ids are not unique";
  for (Span& span : *spans) {
    for (uint64_t* id : {&span.id, &span.parent_id, &span.model_id, &span.layer_id}) {
      EXPECT_TRUE(positions.count(*id)) << *id << " is no span's id";
      *id = positions[*id];
    }
  }
}

Facts compare(const TestTrace& trace, const Options& options, bool compare_self) {
  auto result = correlate(trace, options);
  EXPECT_TRUE(result.ok());
  if (!result.ok()) return {};
  std::vector<Span>& found = result->spans;
  renumber(&found);
  const std::vector<Span> expected = ask_oracle(trace, options.tolerance_ns);
  EXPECT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const Span &a = found[i], &b = expected[i];
    const auto of = [&](const Span& s) {
      return std::tuple(s.site, s.parent_id, s.model_id, s.layer_id, s.depth, s.iteration,
                        s.ordinal, compare_self ? s.self_ns : 0);
    };
    if (of(a) == of(b)) continue;
    ADD_FAILURE() << "span " << b.id << " (number " << index_of(b) << "): parent " << a.parent_id
                  << " expected " << b.parent_id << ", model " << a.model_id << " " << b.model_id
                  << ", layer " << a.layer_id << " " << b.layer_id << ", depth " << a.depth << " "
                  << b.depth << ", ordinal " << a.ordinal << " " << b.ordinal << ", self "
                  << a.self_ns << " " << b.self_ns << ", number " << index_of(a) << "\n"
                  << show(trace);
    break;
  }
  return result->facts;
}

Options small_options(Random& random) {
  Options options;
  options.window = size_t{64} << random.below(3);
  options.block_spans = static_cast<size_t>(1 + random.below(4));
  options.piece_spans = static_cast<size_t>(20 + random.below(100));
  options.tolerance_ns = random.below(4);
  options.iteration_key = kIterationKey;
  return options;
}

TEST(Oracle, AnythingAtAllInOneWindow) {
  for (uint64_t seed = 0; seed < random_cases(1500) && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const int64_t range = random.one_in(2) ? 30 : 300;
    auto spans = make_anything(random, static_cast<size_t>(1 + random.below(40)), range);
    const std::vector<bool> shuffled = {false, random.one_in(2), random.one_in(2)};
    order_streams(shuffled, &spans);
    TestTrace trace(std::move(spans), {false, true, random.one_in(2)}, 7);
    Options options = small_options(random);
    options.window = 256;
    const Facts facts = compare(trace, options, false);
    const uint64_t doubts = count_doubts(trace, options.tolerance_ns);
    EXPECT_LE(facts.ambiguous, doubts) << show(trace);
    EXPECT_TRUE(options.tolerance_ns > 0 || doubts == 0 || facts.overlapping > 0) << show(trace);
  }
}

TEST(Oracle, NestedSpansInAWindowMuchSmallerThanTheTrace) {
  for (uint64_t seed = 0; seed < random_cases(600) && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    auto spans = make_forest(random, 400, static_cast<uint32_t>(1 + random.below(3)));
    // A frame around the whole program.
    if (random.one_in(2)) spans.push_back({0, 100000, 1, 0, 0, 0, 0, kNoIteration});
    order_streams({false, false, false}, &spans);
    TestTrace trace(std::move(spans), {false, false, false}, 50);
    const Facts facts = compare(trace, small_options(random), true);
    EXPECT_EQ(facts.ambiguous, 0u);
    EXPECT_EQ(facts.clipped, 0u);
    EXPECT_EQ(facts.overlapping, 0u);
  }
}

TEST(Oracle, BlurredLayersOfAnotherProfiler) {
  uint64_t clipped = 0;
  for (uint64_t seed = 0; seed < random_cases(600) && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    auto spans = make_forest(random, 150, static_cast<uint32_t>(1 + random.below(2)));
    blur_layers(random, 4, 2, &spans);
    const std::vector<bool> shuffled = {false, false, random.one_in(2)};
    order_streams(shuffled, &spans);
    TestTrace trace(std::move(spans), {false, false, true}, 30);
    Options options = small_options(random);
    options.window = 512;
    options.tolerance_ns = 6;
    clipped += compare(trace, options, false).clipped;
  }
  EXPECT_GT(clipped, random_cases(500));
}

TEST(Oracle, LaunchesAndWhatTheyLaunched) {
  for (uint64_t seed = 0; seed < random_cases(600) && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    auto spans = make_forest(random, 200, 2);
    launch_some(random, &spans);
    order_streams({false, false, false, random.one_in(2)}, &spans);
    TestTrace trace(std::move(spans), {false, false, false, true}, 40);
    Options options = small_options(random);
    options.window = 1024;
    compare(trace, options, true);
  }
}

TEST(Oracle, GraphsAndTheirLayers) {
  for (uint64_t seed = 0; seed < random_cases(200) && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    auto spans = make_forest(random, 120, 2);
    launch_graphs(random, &spans);
    order_streams({false, false, false, random.one_in(2)}, &spans);
    TestTrace trace(std::move(spans), {false, false, false, true}, 40);
    Options options = small_options(random);
    options.window = 2048;
    compare(trace, options, true);
  }
}

}  // namespace
}  // namespace xsp::correlate
