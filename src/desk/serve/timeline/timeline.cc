#include "desk/serve/timeline/timeline.h"

#include <cmath>
#include <list>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "desk/serve/timeline/names.h"
#include "desk/serve/timeline/run.h"
#include "desk/serve/timeline/span.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

// Keeps the recently used runs. Thread rule: any number of threads.
class Runs {
 public:
  Result<std::shared_ptr<const TimelineRun>> get(Held& held, int64_t run) {
    const Entry& entry = held.entry();
    const Key key = {entry.id, entry.size_bytes, entry.modified, run};
    {
      const std::lock_guard lock(mutex_);
      for (auto at = kept_.begin(); at != kept_.end(); ++at) {
        if (at->first != key) continue;
        kept_.splice(kept_.begin(), kept_, at);
        return kept_.front().second;
      }
    }
    XSP_TRY(TimelineRun loaded, TimelineRun::load(held.database(), run));
    auto shared = std::make_shared<const TimelineRun>(std::move(loaded));
    const std::lock_guard lock(mutex_);
    kept_.emplace_front(key, shared);
    size_t bytes = 0;
    for (auto at = kept_.begin(); at != kept_.end();) {
      bytes += at->second->bytes();
      at = bytes > kTimelineBytes && at != kept_.begin() ? kept_.erase(at) : std::next(at);
    }
    return std::shared_ptr<const TimelineRun>(shared);
  }

 private:
  using Key = std::tuple<std::string, uintmax_t, std::filesystem::file_time_type, int64_t>;
  std::mutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<const TimelineRun>>> kept_;  // the latest first
};

Runs& runs() {
  static Runs one;
  return one;
}

struct AskedRun {
  Held held;
  std::shared_ptr<const TimelineRun> run;
};

Result<AskedRun> ask(const Context& context) {
  if (context.request.find("run") == nullptr) {
    return usage("run: missing: give one of the evaluation's runs by its number");
  }
  XSP_TRY(const int64_t run, context.request.integer("run", 0, 0, INT32_MAX));
  XSP_TRY(Held held, context.library.hold(context.parts[0]));
  XSP_TRY(auto loaded, timeline_of(held, run));
  return AskedRun{std::move(held), std::move(loaded)};
}

template <typename T>
json maybe_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json lane_json(const TimelineLane& lane, size_t number) {
  return {{"lane", number},
          {"level", lane.level},
          {"kind", lane.is_series ? "series" : "spans"},
          {"title", lane.title},
          {"unit", lane.unit},
          {"process", maybe_json(lane.process)},
          {"thread", maybe_json(lane.thread)},
          {"device", maybe_json(lane.device)},
          {"stream", maybe_json(lane.stream)},
          {"rows", lane.rows},
          {"spans", lane.spans}};
}

Result<json> get_timeline(const Context& context) {
  XSP_TRY(const AskedRun asked, ask(context));
  const TimelineRun& run = *asked.run;
  json lanes = json::array();
  for (const TimelineLane& lane : run.lanes()) lanes.push_back(lane_json(lane, lanes.size()));
  const TimelineIterations& found = run.iterations();
  json answer = {{"run", run.run()},
                 {"base_ns", std::to_string(run.base_ns())},
                 {"duration_ns", run.duration_ns()},
                 {"axis_ns", run.axis_ns()},
                 {"cells", run.cells()},
                 {"max_zoom", run.max_zoom()},
                 {"spans", run.spans()},
                 {"lanes", std::move(lanes)},
                 {"lanes_left_out", run.lanes_left_out()},
                 {"spans_left_out", run.spans_left_out()},
                 {"latency_ns", maybe_json(run.latency_ns())},
                 {"undisturbed_ns", maybe_json(run.undisturbed_ns())},
                 {"representative", maybe_json(found.representative)}};
  answer["iterations"] = {{"of", found.are_steps ? "step" : "inference"},
                          {"total", found.total},
                          {"every", found.every},
                          {"iteration", found.iteration},
                          {"start_ns", found.start_ns},
                          {"duration_ns", found.duration_ns}};
  return answer;
}

// Returns the columns of one lane's items.
json columns_json(const TimelineTile& tile, size_t begin, size_t end) {
  json columns = {{"start_ns", json::array()}, {"duration_ns", json::array()},
                  {"row", json::array()},      {"span", json::array()},
                  {"count", json::array()},    {"busy_ns", json::array()},
                  {"name", json::array()},     {"type", json::array()}};
  for (size_t i = begin; i < end; ++i) {
    const TimelineItem& item = tile.items.items[i];
    columns["start_ns"].push_back(item.start_ns);
    columns["duration_ns"].push_back(item.duration_ns());
    columns["row"].push_back(item.row);
    columns["span"].push_back(item.span_id);
    columns["count"].push_back(item.count);
    columns["busy_ns"].push_back(item.busy_ns);
    columns["name"].push_back(item.name);
    columns["type"].push_back(item.type);
  }
  columns["lane"] = tile.items.items[begin].lane;
  return columns;
}

json series_json(const TimelineTile::Series& series) {
  json columns = {{"lane", series.lane},
                  {"time_ns", json::array()},
                  {"value", json::array()},
                  {"low", json::array()},
                  {"high", json::array()}};
  const auto number = [](double value) { return std::isfinite(value) ? json(value) : json(); };
  for (const TimelinePoint& point : series.points) {
    columns["time_ns"].push_back(point.time_ns);
    columns["value"].push_back(number(point.value));
    columns["low"].push_back(number(point.low));
    columns["high"].push_back(number(point.high));
  }
  return columns;
}

Result<json> get_tile(const Context& context) {
  XSP_TRY(AskedRun asked, ask(context));
  const Request& request = context.request;
  const TimelineRun& run = *asked.run;
  XSP_TRY(const int64_t zoom, request.integer("zoom", 0, 0, run.max_zoom()));
  XSP_TRY(const int64_t number, request.integer("tile", 0, 0, (int64_t{1} << zoom) - 1));
  std::optional<int64_t> lane;
  if (request.find("lane") != nullptr) {
    const auto last = static_cast<int64_t>(run.lanes().size()) - 1;
    XSP_TRY(lane, request.integer("lane", 0, 0, last));
  }
  XSP_TRY(const TimelineTile tile, run.tile(asked.held.database(), zoom, number));
  return tile_json(tile, zoom, number, lane);
}

Result<json> get_span(const Context& context) {
  XSP_TRY(AskedRun asked, ask(context));
  XSP_TRY(const int64_t span, context.request.integer("span", 0, 0, INT64_MAX));
  XSP_TRY(std::vector<json> found, spans_json(asked.held.database(), *asked.run, {span}));
  return std::move(found[0]);
}

Result<json> get_names(const Context& context) {
  XSP_TRY(AskedRun asked, ask(context));
  XSP_TRY(const int64_t from, context.request.integer("from", 0, 0, asked.run->axis_ns()));
  XSP_TRY(const int64_t to,
          context.request.integer("to", asked.run->duration_ns(), 0, asked.run->axis_ns()));
  if (to <= from) return usage("to: not after from: give a later moment");
  return names_json(asked.held.database(), *asked.run, from, to);
}

Result<json> get_matches(const Context& context) {
  constexpr size_t kLongestText = 200;
  const std::string* text = context.request.find("text");
  if (text == nullptr || text->empty()) return usage("text: missing: give a part of a name");
  if (text->size() > kLongestText) return usage("text: longer than 200 bytes: give less of it");
  XSP_TRY(AskedRun asked, ask(context));
  XSP_TRY(const int64_t from, context.request.integer("from", 0, 0, asked.run->axis_ns()));
  std::optional<int64_t> before;
  if (context.request.find("before") != nullptr) {
    XSP_TRY(before, context.request.integer("before", 0, 0, asked.run->axis_ns()));
  }
  return search_json(asked.held.database(), *asked.run, *text, from, before);
}

}  // namespace

Result<std::shared_ptr<const TimelineRun>> timeline_of(Held& held, int64_t run) {
  return runs().get(held, run);
}

json tile_json(const TimelineTile& tile, int64_t zoom, int64_t number,
               std::optional<int64_t> lane) {
  json lanes = json::array();
  const auto& items = tile.items.items;
  for (size_t begin = 0; begin < items.size();) {
    size_t end = begin;
    while (end < items.size() && items[end].lane == items[begin].lane) ++end;
    if (!lane || items[begin].lane == *lane) lanes.push_back(columns_json(tile, begin, end));
    begin = end;
  }
  json series = json::array();
  for (const auto& one : tile.series) {
    if (!one.points.empty() && (!lane || one.lane == *lane)) series.push_back(series_json(one));
  }
  return {{"zoom", zoom},
          {"tile", number},
          {"complete", tile.is_complete},
          {"texts", tile.items.texts.all()},
          {"lanes", std::move(lanes)},
          {"series", std::move(series)}};
}

const std::vector<Route>& timeline_routes() {
  const Parameter evaluation = {"evaluation", "the evaluation's id"};
  const Parameter run = {"run", "the run's number", "integer", true};
  const auto route = [&](const char* pattern, Handler handler, const char* summary,
                         std::vector<Parameter> more, std::string_view answer) {
    more.insert(more.begin(), {evaluation, run});
    return Route{.method = "GET",
                 .pattern = pattern,
                 .scope = catalogue::Scope::kRead,
                 .handler = handler,
                 .summary = summary,
                 .parameters = std::move(more),
                 .answer = answer};
  };
  static const std::vector<Route> routes = {
      route("/evaluations/{}/timeline", get_timeline, "The lanes and iterations of a run.", {},
            R"({"type": "object", "required": ["run", "base_ns", "lanes", "iterations"],
                "properties": {"base_ns": {"type": "string"}, "lanes": {"type": "array"}}})"),
      route("/evaluations/{}/timeline/tile", get_tile, "One of the 2^zoom parts of the time axis.",
            {{"zoom", "how often the axis is halved", "integer"},
             {"tile", "the part's number", "integer"},
             {"lane", "one lane alone", "integer"}},
            R"({"type": "object", "required": ["zoom", "tile", "complete", "texts", "lanes",
                                              "series"],
                "properties": {"complete": {"type": "boolean"}}})"),
      route("/evaluations/{}/timeline/span", get_span, "Everything about one span.",
            {{"span", "the span's number", "integer", true}}, kObjectSchema),
      route("/evaluations/{}/timeline/search", get_matches, "The spans whose name holds a text.",
            {{"text", "a part of the name", "string", true},
             {"from", "ns after base_ns: the first of these", "integer"},
             {"before", "ns after base_ns: the last before it", "integer"}},
            kObjectSchema),
      route("/evaluations/{}/timeline/names", get_names,
            "The time that spans of each name take in a stretch of time.",
            {{"from", "ns after base_ns: its start", "integer"},
             {"to", "ns after base_ns: its end", "integer"}},
            R"({"type": "object", "required": ["run", "from_ns", "to_ns", "lanes", "names",
                                              "total_names"],
                "properties": {"lanes": {"type": "array"}, "names": {"type": "array"}}})"),
  };
  return routes;
}

}  // namespace xsp::serve
