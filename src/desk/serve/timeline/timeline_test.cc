// Tests that the timeline's tiles hold every span at every zoom, and that its answers are right.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "desk/serve/timeline/items.h"
#include "desk/serve/timeline/names.h"
#include "desk/serve/timeline/run.h"
#include "desk/serve/timeline/span.h"

namespace xsp::serve {
namespace {

using nlohmann::json;
using store::Database;

// Two hundred inferences of one millisecond. Each has a model, ten layers, in each layer twenty
// calls of 100 ns to 2 us in two rows, and a kernel that continues after its inference. A frame
// encloses them all.
constexpr const char* kRun = R"sql(
INSERT INTO run BY NAME SELECT 7 AS run_id, 'model,layer,library,kernel' AS levels, 1 AS batch,
  'cuda:0' AS device, 0 AS warmup_iterations, 200 AS iterations, 'ok' AS status;
INSERT INTO run BY NAME SELECT 8 AS run_id, 'model' AS levels, 1 AS batch, 'cuda:0' AS device,
  0 AS warmup_iterations, 1 AS iterations, 'ok' AS status;
INSERT INTO span BY NAME SELECT 8 AS run_id, 1 AS span_id, 2 AS level, 'net' AS name, 0 AS
  iteration,
  1000 AS start_ns, 400000 AS duration_ns, 1 AS process, 1 AS thread, 1 AS model_id, 1 AS site_id,
  0 AS depth, 0 AS self_ns, false AS is_open;
INSERT INTO span BY NAME
  SELECT 7 AS run_id, i * 1000 + k + 2 AS span_id,
    CASE WHEN k = 0 THEN 1 WHEN k <= 10 THEN i * 1000 + 2 WHEN k > 400 THEN i * 1000 + k - 400 + 2
         ELSE i * 1000 + (k - 11) // 20 + 3 END AS parent_id,
    CASE WHEN k = 0 THEN 2 WHEN k <= 10 THEN 3 WHEN k > 400 THEN 6 ELSE 4 END AS level,
    CASE WHEN k = 0 THEN 'net' WHEN k <= 10 THEN concat('conv', k) WHEN k > 400 THEN 'Gemm<float>'
         ELSE 'call' END AS name,
    CASE WHEN k = 0 THEN NULL WHEN k <= 10 THEN 'Conv' WHEN k > 400 THEN 'kernel' END AS type,
    i AS iteration, 1700000000000000000 + i * 1000000
      + CASE WHEN k = 0 THEN 0 WHEN k <= 10 THEN (k - 1) * 90000 + 10
             WHEN k > 400 THEN 500 + (k - 401) * 100000 ELSE (k - 11) // 2 * 9000 + 20 END AS
               start_ns,
    CASE WHEN k = 0 THEN 900100 + hash(i) % 99 WHEN k <= 10 THEN 89000 WHEN k > 400 THEN 99500
         WHEN k % 2 = 0 THEN 2000 ELSE 100 + hash(k) % 1900 END AS duration_ns,
    1 AS process, CASE WHEN k > 400 THEN NULL ELSE 5 END AS thread,
    CASE WHEN k > 400 THEN 0 END AS device, CASE WHEN k > 400 THEN 7 END AS stream,
    CASE WHEN k > 400 THEN i * 10 + k - 400 WHEN k BETWEEN 11 AND 20 THEN i * 10 + k - 10 END AS
      correlation_id,
    i * 1000 + 2 AS model_id, 10 + least(k, 11) AS site_id, CASE WHEN k BETWEEN 11 AND 400 THEN k
      % 2 ELSE 0 END AS depth,
    1 AS self_ns, false AS is_open
  FROM range(200) t(i), (SELECT unnest(list_concat(range(211), range(401, 411)))) u(k)
  ORDER BY start_ns + duration_ns;
INSERT INTO span BY NAME SELECT 7 AS run_id, 1 AS span_id, 1 AS level, 'main' AS name,
  1700000000000000000 AS start_ns, 201000000 AS duration_ns, 1 AS process, 5 AS thread, 3 AS
    site_id,
  0 AS depth, 0 AS self_ns, false AS is_open;
INSERT INTO span_attribute VALUES (7, 3, 'shape', '[1,2]');
INSERT INTO span_counter VALUES (7, 3, 'flops', 12);
)sql";
constexpr int64_t kSpans = 200 * 221 + 1;

class TimelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Database::in_memory();
    ASSERT_TRUE(made.ok()) << made.error().text;
    database_.emplace(std::move(made).value());
    const Status filled = database_->execute(kRun);
    ASSERT_TRUE(filled.ok()) << filled.error().text;
  }
  TimelineRun load(int64_t run) {
    auto loaded = TimelineRun::load(*database_, run);
    EXPECT_TRUE(loaded.ok()) << loaded.error().text;
    return std::move(loaded).value();
  }
  TimelineTile tile(const TimelineRun& run, int64_t zoom, int64_t number) {
    auto made = run.tile(*database_, zoom, number);
    EXPECT_TRUE(made.ok()) << made.error().text;
    return std::move(made).value();
  }
  std::optional<Database> database_;
};

// Counts the spans of the tiles of a stretch, each in the tile where it starts, by lane and row.
std::map<std::pair<int, int>, int64_t> counted(const TimelineTile& tile, const TimelineWindow& in) {
  std::map<std::pair<int, int>, int64_t> counts;
  for (const TimelineItem& item : tile.items.items) {
    if (item.start_ns >= in.start_ns) counts[{item.lane, item.row}] += item.count;
  }
  return counts;
}

TEST_F(TimelineTest, EveryZoomCountsEverySpanOnce) {
  const TimelineRun run = load(7);
  EXPECT_EQ(run.spans(), kSpans);
  std::map<std::pair<int, int>, int64_t> first;
  for (const int64_t zoom : {0, 1, 4, 7}) {
    std::map<std::pair<int, int>, int64_t> all;
    int64_t busy = 0;
    for (int64_t number = 0; number < int64_t{1} << zoom; ++number) {
      const TimelineWindow window = run.window(zoom, number);
      const TimelineTile one = tile(run, zoom, number);
      for (const auto& [row, count] : counted(one, window)) all[row] += count;
      for (const TimelineItem& item : one.items.items) {
        if (item.start_ns >= window.start_ns) busy += item.busy_ns;
      }
    }
    if (zoom == 0) first = all;
    EXPECT_EQ(all, first) << "zoom " << zoom;
    int64_t sum = 0;
    for (const auto& [row, count] : all) sum += count;
    EXPECT_EQ(sum, kSpans) << "zoom " << zoom;
    auto total = database_->query("SELECT sum(duration_ns)::BIGINT FROM span WHERE run_id = 7");
    EXPECT_EQ(busy, std::get<int64_t>(total->rows[0][0])) << "zoom " << zoom;
  }
}

TEST_F(TimelineTest, TheSummaryWaitsForTheFirstCoarseTile) {
  const TimelineRun run = load(7);
  const size_t before = run.bytes();
  tile(run, run.max_zoom(), 0);
  EXPECT_EQ(run.bytes(), before);
  tile(run, 0, 0);
  const size_t after = run.bytes();
  EXPECT_GT(after, before);
  tile(run, 1, 0);
  EXPECT_EQ(run.bytes(), after);
}

TEST_F(TimelineTest, ATileIsBoundedAndInOrder) {
  const TimelineRun run = load(7);
  int64_t rows = 0;
  for (const TimelineLane& lane : run.lanes()) rows += lane.rows;
  for (int64_t zoom = 0; zoom <= run.max_zoom(); zoom += 3) {
    const TimelineTile one = tile(run, zoom, 0);
    EXPECT_LE(one.items.items.size(), static_cast<size_t>(2 * rows * (run.cells() + 1)));
    for (size_t i = 1; i < one.items.items.size(); ++i) {
      const TimelineItem& a = one.items.items[i - 1];
      const TimelineItem& b = one.items.items[i];
      EXPECT_LE(std::tie(a.lane, a.row, a.start_ns), std::tie(b.lane, b.row, b.start_ns));
    }
  }
}

TEST_F(TimelineTest, LanesAreLevelsThreadsAndStreams) {
  const TimelineRun run = load(7);
  std::vector<std::string> titles;
  for (const TimelineLane& lane : run.lanes()) titles.push_back(lane.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"Application · thread 5", "Model · thread 5",
                                              "Layers · thread 5", "Library · thread 5",
                                              "Kernels · device 0 · stream 7"}));
  EXPECT_EQ(run.lanes()[3].rows, 2);
  EXPECT_EQ(run.lanes()[4].spans, 2000);
  EXPECT_EQ(run.iterations().total, 200);
  EXPECT_FALSE(run.lane_of(4, 1, 99, std::nullopt, std::nullopt).has_value());
}

TEST_F(TimelineTest, LanesOfWhatRanBeforeTheInferencesComeLast) {
  const Status more = database_->execute(R"sql(
      INSERT INTO span BY NAME SELECT 7 AS run_id, 900000 + t AS span_id, 4 AS level, 'compile' AS
        name, 1700000000000000000 - (t - 50) * 1000 - 5000 AS start_ns, 1000 AS duration_ns,
        1 AS process, t AS thread, 900 AS site_id, 0 AS depth, 0 AS self_ns, false AS is_open
        FROM range(50, 53) r(t);
      INSERT INTO span BY NAME SELECT 7 AS run_id, 900099 AS span_id, 4 AS level, 'load' AS name,
        1700000000000700000 AS start_ns, 1000 AS duration_ns, 1 AS process, 60 AS thread,
        901 AS site_id, 0 AS depth, 0 AS self_ns, false AS is_open)sql");
  ASSERT_TRUE(more.ok()) << more.error().text;
  const TimelineRun run = load(7);
  std::vector<std::string> titles;
  for (const TimelineLane& lane : run.lanes()) titles.push_back(lane.title);
  EXPECT_EQ(titles,
            (std::vector<std::string>{
                "Application · thread 5", "Model · thread 5", "Layers · thread 5",
                "Library · thread 5", "Library · thread 60", "Kernels · device 0 · stream 7",
                "Library · thread 50", "Library · thread 51", "Library · thread 52"}));
  for (size_t i = 0; i < run.lanes().size(); ++i) {
    const TimelineLane& lane = run.lanes()[i];
    EXPECT_EQ(run.lane_of(lane.level, lane.process, lane.thread, lane.device, lane.stream), i);
  }
}

TEST_F(TimelineTest, ASpanThatCrossesTilesIsInEachOfThem) {
  const TimelineRun run = load(7);
  const int64_t zoom = 12;
  const int64_t last = 200'000'000 / (run.axis_ns() >> zoom);
  for (const int64_t number : {int64_t{0}, last / 2, last}) {
    const TimelineTile one = tile(run, zoom, number);
    ASSERT_FALSE(one.items.items.empty());
    EXPECT_EQ(one.items.texts.text(one.items.items[0].name), "main");
    EXPECT_EQ(one.items.items[0].span_id, 1);
    EXPECT_EQ(one.items.items[0].duration_ns(), 201'000'000);
  }
}

TEST_F(TimelineTest, FineTilesShowEverySpanAndAreComplete) {
  const TimelineRun run = load(7);
  int64_t zoom = 0;
  while (zoom < run.max_zoom() && !tile(run, zoom, 0).is_complete) ++zoom;
  ASSERT_LT(zoom, run.max_zoom());
  EXPECT_FALSE(tile(run, 0, 0).is_complete);
  std::set<int64_t> seen;
  const TimelineWindow window = run.window(zoom, 0);
  for (const TimelineItem& item : tile(run, zoom, 0).items.items) {
    EXPECT_EQ(item.count, 1);
    EXPECT_TRUE(seen.insert(item.span_id).second);
  }
  auto wanted = database_->query(
      "SELECT count(*) FROM span WHERE run_id = 7 AND start_ns < 1700000000000000000 + " +
      std::to_string(window.end_ns()));
  EXPECT_EQ(static_cast<int64_t>(seen.size()), std::get<int64_t>(wanted->rows[0][0]));
}

TEST_F(TimelineTest, RefusesWhatIsNotThere) {
  const auto unknown = TimelineRun::load(*database_, 99);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kNotAvailable);
  const TimelineRun run = load(7);
  EXPECT_EQ(run.tile(*database_, -1, 0).error().code, Code::kUsage);
  EXPECT_EQ(run.tile(*database_, run.max_zoom() + 1, 0).error().code, Code::kUsage);
  EXPECT_EQ(run.tile(*database_, 2, 4).error().code, Code::kUsage);
  EXPECT_EQ(run.tile(*database_, 2, -1).error().code, Code::kUsage);
  EXPECT_TRUE(run.tile(*database_, run.max_zoom(), 0).ok());
  EXPECT_EQ(spans_json(*database_, run, {123456789}).error().code, Code::kNotAvailable);
}

TEST_F(TimelineTest, ARunWithoutSpansHasAnEmptyTile) {
  ASSERT_TRUE(
      database_->execute("INSERT INTO run(run_id, levels, status) VALUES (9, 'model', 'failed')")
          .ok());
  const TimelineRun run = load(9);
  EXPECT_TRUE(run.lanes().empty());
  const TimelineTile one = tile(run, 0, 0);
  EXPECT_TRUE(one.items.items.empty());
  EXPECT_TRUE(one.is_complete);
  EXPECT_FALSE(run.latency_ns().has_value());
}

TEST_F(TimelineTest, SaysHowMuchDeeperLevelsSlowTheModel) {
  const TimelineRun run = load(7);
  ASSERT_TRUE(run.latency_ns() && run.undisturbed_ns());
  EXPECT_NEAR(*run.latency_ns(), 900'150, 50);
  EXPECT_EQ(*run.undisturbed_ns(), 400'000);
  ASSERT_TRUE(run.iterations().representative.has_value());
  auto median = database_->query(
      "SELECT quantile_disc(duration_ns, 0.5) FROM span WHERE run_id = 7 AND level = 2");
  EXPECT_EQ(run.iterations().representative_duration_ns, std::get<int64_t>(median->rows[0][0]));
}

TEST_F(TimelineTest, ASpanIsToldWithItsAncestorsDescendantsAndLaunch) {
  const TimelineRun run = load(7);
  const auto told = spans_json(*database_, run, {3, 403, 1});
  ASSERT_TRUE(told.ok()) << told.error().text;
  const json& layer = (*told)[0];
  EXPECT_EQ(layer["name"], "conv1");
  EXPECT_EQ(layer["start_ns"], 10);
  EXPECT_EQ(layer["attributes"], json::parse(R"([{"key": "shape", "value": "[1,2]"}])"));
  EXPECT_EQ(layer["counters"][0]["value"], 12);
  ASSERT_EQ(layer["ancestors"].size(), 2u);
  EXPECT_EQ(layer["ancestors"][0]["name"], "net");
  EXPECT_EQ(layer["ancestors"][1]["name"], "main");
  EXPECT_EQ(layer["total_children"], 21);  // twenty calls, and a kernel
  EXPECT_EQ(layer["total_descendants"], 21);
  const json& kernel = (*told)[1];
  ASSERT_EQ(kernel["correlated"].size(), 1u);
  EXPECT_EQ(kernel["correlated"][0]["span"], 13);
  EXPECT_EQ(kernel["correlated"][0]["role"], "launch");
  const json& frame = (*told)[2];
  EXPECT_EQ(frame["total_children"], 200);
  EXPECT_EQ(frame["descendants_are_children"], true);
  // Spans that are told together are told as each alone is.
  for (const size_t i : {0, 1, 2}) {
    const auto alone = spans_json(*database_, run, {(*told)[i]["span"].get<int64_t>()});
    ASSERT_TRUE(alone.ok()) << alone.error().text;
    EXPECT_EQ((*alone)[0], (*told)[i]);
  }
}

TEST_F(TimelineTest, SearchFindsNamesInOrderAndPages) {
  const TimelineRun run = load(7);
  const auto all = search_json(*database_, run, "gemm<", 0, std::nullopt);
  ASSERT_TRUE(all.ok()) << all.error().text;
  EXPECT_EQ((*all)["total"], 2000);
  EXPECT_EQ((*all)["first"], 0);
  ASSERT_EQ((*all)["matches"].size(), kMaxMatches);
  EXPECT_EQ((*all)["matches"][0]["start_ns"], 500);
  const auto next = search_json(*database_, run, "Gemm", 150'000'000, std::nullopt);
  EXPECT_EQ((*next)["first"], 1500);
  const auto back = search_json(*database_, run, "Gemm", 0, 150'000'000);
  EXPECT_EQ((*back)["first"], 500);
  EXPECT_LT((*back)["matches"].back()["start_ns"], 150'000'000);
  const auto none = search_json(*database_, run, "%", 0, std::nullopt);
  EXPECT_EQ((*none)["total"], 0);
}

// Returns the time of each name in a stretch, and that of each lane's outermost spans.
std::pair<std::map<std::string, int64_t>, std::map<int64_t, int64_t>> times(const json& answer) {
  std::map<std::string, int64_t> names;
  for (const json& one : answer["names"]) names[one["name"]] += one["time_ns"].get<int64_t>();
  std::map<int64_t, int64_t> lanes;
  for (const json& one : answer["lanes"]) lanes[one["lane"]] = one["time_ns"];
  return {names, lanes};
}

TEST_F(TimelineTest, TheTimesOfNamesInTwoPartsAddUpToThoseOfTheWhole) {
  const TimelineRun run = load(7);
  const auto whole = names_json(*database_, run, 0, 10'000'000);
  ASSERT_TRUE(whole.ok()) << whole.error().text;
  const auto [names, lanes] = times(*whole);
  EXPECT_EQ((*whole)["total_names"], 14);  // main, net, ten layers, call and the kernel
  EXPECT_EQ(names.at("main"), 10'000'000);
  EXPECT_EQ(names.at("conv3"), 10 * 89'000);
  EXPECT_EQ(names.at("Gemm<float>"), 100 * 99'500);
  for (const int64_t cut : {1'000, 4'444'444, 9'000'000}) {
    const auto first = names_json(*database_, run, 0, cut);
    const auto second = names_json(*database_, run, cut, 10'000'000);
    ASSERT_TRUE(first.ok() && second.ok());
    auto [sums, lane_sums] = times(*first);
    const auto [others, other_lanes] = times(*second);
    for (const auto& [name, time_ns] : others) sums[name] += time_ns;
    for (const auto& [lane, time_ns] : other_lanes) lane_sums[lane] += time_ns;
    EXPECT_EQ(sums, names) << "cut at " << cut;
    EXPECT_EQ(lane_sums, lanes) << "cut at " << cut;
  }
  const json& most = (*whole)["names"][0];
  EXPECT_EQ(most["name"], "main");
  EXPECT_EQ(most["spans"], 1);
  EXPECT_EQ(most["mean_ns"], 201'000'000);  // of the whole span
}

TEST_F(TimelineTest, AWatchedProgramRepeatsItsSteps) {
  ASSERT_TRUE(database_
                  ->execute(R"sql(
    INSERT INTO evaluation VALUES ('recorded_by', 'run');
    INSERT INTO site_attribute VALUES (7, 60, 'step_of', 'mark');
    INSERT INTO span BY NAME SELECT 7 AS run_id, 950000 + s AS span_id, 1 AS level, 'step' AS name,
      'step' AS type, 1700000000000000000 + s * 20000000 AS start_ns,
      CASE WHEN s = 7 THEN 15000000 ELSE 19000000 + s END AS duration_ns, 1 AS process,
      5 AS thread, 60 AS site_id, 1 AS depth, 0 AS self_ns, false AS is_open
      FROM range(10) t(s);)sql")
                  .ok());
  const TimelineRun run = load(7);
  const TimelineIterations& found = run.iterations();
  EXPECT_TRUE(found.are_steps);
  EXPECT_EQ(found.total, 10);
  EXPECT_EQ(found.iteration.front(), -1);  // the first step compiles and allocates
  EXPECT_EQ(found.iteration.back(), 8);
  EXPECT_GE(found.representative_duration_ns, 19'000'000);
}

TEST_F(TimelineTest, SeriesAreStepsOfSamplesAndAllocations) {
  ASSERT_TRUE(database_
                  ->execute(R"sql(
    INSERT INTO span BY NAME SELECT 7 AS run_id, 900000 + s AS span_id, 1 AS level, 'sample' AS
      name,
      1700000000000000000 + s * 10000000 AS start_ns, 10000000 AS duration_ns, 0 AS device, 50 AS
        site_id,
      0 AS depth, 0 AS self_ns, false AS is_open FROM range(5) t(s);
    INSERT INTO span_counter SELECT 7, 900000 + s, 'power_w', 100 + s FROM range(5) t(s);
    INSERT INTO span BY NAME SELECT 7 AS run_id, 910000 + s AS span_id, 5 AS level, 'allocate' AS
      name,
      'memory' AS type, 1700000000000000000 + s AS start_ns, 0 AS duration_ns, 0 AS device, 51 AS
        site_id,
      0 AS depth, 0 AS self_ns, false AS is_open FROM range(1000) t(s);
    INSERT INTO span_counter SELECT 7, 910000 + s, 'allocated_bytes', s FROM range(1000) t(s);
    INSERT INTO site_attribute VALUES (7, 51, 'pool', 'cuda:0');)sql")
                  .ok());
  const TimelineRun run = load(7);
  std::vector<std::string> titles;
  for (const auto& lane : run.lanes()) {
    if (lane.is_series) titles.push_back(lane.title + " in " + lane.unit);
  }
  EXPECT_EQ(titles, (std::vector<std::string>{"Power in W", "Allocated · cuda:0 in bytes"}));
  const TimelineTile whole = tile(run, 0, 0);
  ASSERT_EQ(whole.series.size(), 2u);
  EXPECT_EQ(whole.series[0].points.size(), 6u);  // one more point ends it
  EXPECT_FALSE(std::isfinite(whole.series[0].points.back().value));
  EXPECT_EQ(whole.series[1].points.size(), 1u);  // a thousand events in one cell
  EXPECT_EQ(whole.series[1].points[0].value, 999);
  EXPECT_EQ(whole.series[1].points[0].low, 0);
  // The step before a tile reaches into it.
  const TimelineTile late = tile(run, 6, 12);
  ASSERT_FALSE(late.series[0].points.empty());
  EXPECT_LE(late.series[0].points[0].time_ns, run.window(6, 12).start_ns);
}

TEST(TimelineFold, OfOverlappingSpansTheLongerIsAnItem) {
  std::vector<TimelineItem> items(2);
  items[0].start_ns = 100;
  items[0].end_ns = 300;
  items[0].span_id = 1;
  items[0].busy_ns = 200;
  items[1].start_ns = 110;
  items[1].end_ns = 900;
  items[1].span_id = 2;
  items[1].busy_ns = 790;
  const auto coarse = fold(items, {0, 200, 10});
  ASSERT_EQ(coarse.size(), 2u);
  EXPECT_EQ(coarse[0].span_id + coarse[1].span_id, 3);
  const auto late = fold(items, {200, 200, 4});
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].span_id, 2);
  EXPECT_TRUE(fold({}, {0, 1, 16}).empty());
}

}  // namespace
}  // namespace xsp::serve
