// Reads the written packets with the project's own reader of the wire format.
#include <map>

#include "exporters/shared/testing.h"
#include "formats/wire/wire_fields.h"

namespace xsp::exporters {

std::vector<Exporter> perfetto_exporters();

namespace {

using formats::wire::Fields;
using Bytes = std::span<const uint8_t>;

// Holds what a viewer reads from the trace.
struct Seen {
  std::map<int64_t, int64_t> parents;  // of the tracks, by uuid
  std::map<int64_t, std::string> names;
  std::map<int64_t, std::vector<int64_t>> open;  // starts of the open slices, by track
  std::map<int64_t, int64_t> last_ns;            // by track
  std::map<std::string, int64_t> busy_ns;        // by name of the slice
  std::map<std::string, size_t> count;
  std::map<uint64_t, std::vector<std::string>> flows;  // names of the slices, by flow
  std::map<int64_t, std::vector<std::string>> open_names;

  void interned(Bytes bytes) {
    constexpr uint32_t kNames = 2;
    for (Fields data(bytes); data.next();) {
      if (!data.is(kNames)) continue;
      int64_t iid = 0;
      std::string name;
      for (Fields entry(data.body()); entry.next();) {
        if (entry.is(1)) iid = entry.integer();
        if (entry.is(2)) name = entry.text();
      }
      EXPECT_TRUE(names.emplace(iid, name).second) << "defined twice";
    }
  }

  void descriptor(Bytes bytes) {
    int64_t uuid = 0, parent = 0;
    for (Fields fields(bytes); fields.next();) {
      if (fields.is(1)) uuid = fields.integer();
      if (fields.is(5)) parent = fields.integer();
    }
    EXPECT_NE(uuid, 0);
    EXPECT_TRUE(parents.emplace(uuid, parent).second) << "described twice";
    EXPECT_TRUE(parent == 0 || parents.contains(parent)) << "a parent that is not described yet";
  }

  void event(Bytes bytes, int64_t time_ns) {
    int64_t type = 0, track = 0, name = 0;
    uint64_t flow = 0;
    for (Fields fields(bytes); fields.next();) {
      if (fields.is(9)) type = fields.integer();
      if (fields.is(11)) track = fields.integer();
      if (fields.is(10)) name = fields.integer();
      if (fields.is(47)) flow = static_cast<uint64_t>(fields.integer());
    }
    EXPECT_TRUE(parents.contains(track));
    EXPECT_GE(time_ns, last_ns[track]) << "a track goes back in time";
    last_ns[track] = time_ns;
    if (type == 1) {
      ASSERT_TRUE(names.contains(name)) << "a name that is not defined yet";
      open[track].push_back(time_ns);
      open_names[track].push_back(names[name]);
      if (flow != 0) flows[flow].push_back(names[name]);
      return;
    }
    ASSERT_EQ(type, 2);
    ASSERT_FALSE(open[track].empty()) << "an end without a begin";
    busy_ns[open_names[track].back()] += time_ns - open[track].back();
    ++count[open_names[track].back()];
    open[track].pop_back();
    open_names[track].pop_back();
  }

  void packet(Bytes bytes) {
    int64_t time_ns = 0;
    for (Fields fields(bytes); fields.next();) {
      if (fields.is(8)) time_ns = fields.integer();
      if (fields.is(12)) interned(fields.body());
      if (fields.is(60)) descriptor(fields.body());
      if (fields.is(11)) event(fields.body(), time_ns);
    }
  }
};

class PerfettoTest : public ExporterTest {};

TEST_F(PerfettoTest, EverySpanIsASliceOfItsLength) {
  request.run = 3;
  const auto written = perfetto_exporters()[0].write(request);
  ASSERT_TRUE(written.ok()) << written.error().text;
  const std::string text = text_of(request.output);
  Seen seen;
  for (Fields trace({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); trace.next();) {
    ASSERT_TRUE(trace.is(1));
    seen.packet(trace.body());
  }
  size_t slices = 0;
  for (const auto& [name, count] : seen.count) slices += count;
  EXPECT_EQ(slices, written->count);
  for (const auto& [track, open] : seen.open) EXPECT_TRUE(open.empty());
  // The trace has two inferences; tests/data/gpu.sql draws the times of one.
  EXPECT_EQ(seen.count.at("reorder_b"), 2u);
  EXPECT_EQ(seen.busy_ns.at("reorder_b"), 2 * 160'000);
  EXPECT_EQ(seen.busy_ns.at("conv"), 2 * 300'000);
  EXPECT_EQ(seen.busy_ns.at("three"), 2 * 1'100'000);
  // Each launch and its kernel share a flow.
  EXPECT_EQ(seen.flows.size(), 10u);
  for (const auto& [flow, names] : seen.flows) {
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names[0].substr(0, 4), "cuda");
    EXPECT_NE(names[1].substr(0, 4), "cuda");
  }
}

}  // namespace
}  // namespace xsp::exporters
