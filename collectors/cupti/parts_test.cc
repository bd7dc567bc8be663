// Tests of the parts that need no CUPTI: clocks, names, occupancy, calls, nesting, graphs, memory,
// buffers, versions.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/clocks.h"
#include "collectors/cupti/graphs.h"
#include "collectors/cupti/library.h"
#include "collectors/cupti/memory.h"
#include "collectors/cupti/names.h"
#include "collectors/cupti/occupancy.h"
#include "collectors/cupti/search.h"

namespace xsp::cupti {
namespace {

TEST(Clocks, OffsetsAreInterpolatedBetweenReadings) {
  Clocks clocks;
  EXPECT_EQ(clocks.to_xsp(77), 77);  // without any reading
  clocks.add(1'000'000, 5'000'000);
  EXPECT_EQ(clocks.to_xsp(0), 4'000'000);
  EXPECT_EQ(clocks.to_xsp(2'000'000), 6'000'000);
  clocks.add(3'000'000, 7'000'200);  // drifted by 200 ns in 2 ms
  EXPECT_EQ(clocks.to_xsp(1'000'000), 5'000'000);
  EXPECT_EQ(clocks.to_xsp(2'000'000), 6'000'100);
  EXPECT_EQ(clocks.to_xsp(3'000'000), 7'000'200);
  EXPECT_EQ(clocks.to_xsp(4'000'000), 8'000'200);
  clocks.add(2'000'000, 0);  // not later than the last: ignored
  EXPECT_EQ(clocks.to_xsp(2'000'000), 6'000'100);
}

TEST(Clocks, ManyReadingsAreThinnedAndStayTrue) {
  Clocks clocks;
  constexpr uint64_t kStep = 1'000'000;
  for (uint64_t i = 0; i < 20'000; ++i) {
    clocks.add(i * kStep, static_cast<int64_t>(i * kStep + i));  // 1 ns per step
  }
  for (uint64_t i = 100; i < 19'000; i += 777) {
    EXPECT_NEAR(static_cast<double>(clocks.to_xsp(i * kStep)), static_cast<double>(i * kStep + i),
                1.0);
  }
}

TEST(Names, AreDemangledIfTheyAreMangled) {
  EXPECT_EQ(demangled("_Z4axpyIfEviPT_"), "void axpy<float>(int, float*)");
  EXPECT_EQ(demangled("ampere_sgemm_128x64_nn"), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangled("f"), "f");
  EXPECT_EQ(demangled(""), "");
}

TEST(Names, EachGeometryIsASiteOfItsOwn) {
  int asked = 0;
  KernelSites sites([&](uint32_t) {
    ++asked;
    return DeviceLimits{};
  });
  Geometry small;
  small.registers = 16;
  Geometry large = small;
  large.grid[0] = 2;
  const uint32_t first = sites.site_of("_Z4axpyIfEviPT_", small, 0);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(sites.site_of("_Z4axpyIfEviPT_", small, 0), first);
  EXPECT_NE(sites.site_of("_Z4axpyIfEviPT_", large, 0), first);
  EXPECT_NE(sites.site_of("other", small, 0), first);
  EXPECT_EQ(asked, 1);
}

TEST(Names, AKernelOfEndlessGeometriesDoesNotFillTheTable) {
  KernelSites sites([](uint32_t) { return DeviceLimits{}; });
  Geometry geometry;
  uint32_t last = 0;
  uint32_t before = 0;
  for (uint32_t i = 1; i < 3000; ++i) {
    geometry.grid[0] = i;
    before = last;
    last = sites.site_of("endless", geometry, 0);
  }
  EXPECT_NE(last, 0u);
  EXPECT_EQ(last, before);
}

// Limits of an H100's multiprocessor.
constexpr DeviceLimits kHopper{132, 2048, 32, 65536, 233472, 1024};

Geometry geometry_of(uint32_t grid, uint32_t block, uint32_t registers, uint32_t shared) {
  Geometry geometry;
  geometry.grid[0] = grid;
  geometry.block[0] = block;
  geometry.registers = registers;
  geometry.dynamic_shared_bytes = shared;
  return geometry;
}

TEST(Occupancy, KnowsItsLimiter) {
  struct Case {
    Geometry geometry;
    uint32_t blocks;
    const char* limiter;
    double pct;
  };
  const Case cases[] = {
      {geometry_of(1, 256, 16, 0), 8, "warps", 100},
      {geometry_of(1, 1024, 32, 0), 2, "warps", 100},
      {geometry_of(1, 32, 16, 0), 32, "blocks", 50},
      // 128 registers per thread: 4096 per warp, 16 warps in all, 2 blocks of 8 warps.
      {geometry_of(1, 256, 128, 0), 2, "registers", 25},
      // 255 registers per thread: 8192 per warp, 2 warps in each of four partitions, 8 warps.
      {geometry_of(1, 128, 255, 0), 2, "registers", 12.5},
      // 100 KiB plus 1 KiB reserved: two blocks fit into 228 KiB.
      {geometry_of(1, 128, 32, 100 * 1024), 2, "shared_memory", 12.5},
  };
  for (const Case& one : cases) {
    const Occupancy found = occupancy_of(kHopper, one.geometry);
    EXPECT_EQ(found.blocks, one.blocks);
    EXPECT_STREQ(found.limiter, one.limiter);
    EXPECT_DOUBLE_EQ(found.theoretical_pct, one.pct);
  }
}

TEST(Occupancy, WavesAreTheGridOverWhatTheDeviceHolds) {
  EXPECT_DOUBLE_EQ(occupancy_of(kHopper, geometry_of(132 * 8, 256, 16, 0)).waves, 1);
  EXPECT_DOUBLE_EQ(occupancy_of(kHopper, geometry_of(66 * 8, 256, 16, 0)).waves, 0.5);
}

TEST(Occupancy, TheDriversDivisionOfSharedMemoryCounts) {
  Geometry geometry = geometry_of(1, 128, 32, 30 * 1024);
  EXPECT_EQ(occupancy_of(kHopper, geometry).blocks, 7u);
  geometry.shared_bytes = 64 * 1024;
  EXPECT_EQ(occupancy_of(kHopper, geometry).blocks, 2u);
}

TEST(Occupancy, IsUnknownWhereTheDeviceIs) {
  EXPECT_EQ(occupancy_of(DeviceLimits{}, geometry_of(1, 32, 16, 0)).blocks, 0u);
  EXPECT_EQ(occupancy_of(kHopper, geometry_of(1, 0, 16, 0)).blocks, 0u);
  EXPECT_EQ(occupancy_of(kHopper, geometry_of(1, 32, 16, 1 << 20)).blocks, 0u);
}

TEST(Calls, NamesLoseVersionAndVariant) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(plain_name("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
  EXPECT_EQ(plain_name("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(plain_name("cuMemsetD32"), "cuMemsetD32");
  EXPECT_EQ(plain_name("_v7"), "_v7");
  EXPECT_EQ(plain_name(""), "");
}

TEST(Calls, ThoseThatMatterHaveAType) {
  EXPECT_STREQ(call_type("cudaLaunchKernelExC"), "launch");
  EXPECT_STREQ(call_type("cuLaunchCooperativeKernel"), "launch");
  EXPECT_STREQ(call_type("cudaGraphLaunch"), "graph_launch");
  EXPECT_STREQ(call_type("cudaGraphInstantiateWithFlags"), "overhead");
  EXPECT_STREQ(call_type("cudaMemcpyAsync"), "copy");
  EXPECT_STREQ(call_type("cuMemsetD8Async"), "memset");
  EXPECT_STREQ(call_type("cudaMallocFromPoolAsync"), "allocation");
  EXPECT_STREQ(call_type("cudaFreeAsync"), "allocation");
  EXPECT_STREQ(call_type("cuStreamWaitEvent"), "synchronization");
  EXPECT_STREQ(call_type("cudaEventSynchronize"), "synchronization");
  for (const char* name : {"cudaGetDevice", "cudaLaunchHostFunc", "cudaGraphMemcpyNodeGetParams",
                           "cudaStreamIsCapturing", "cudaMemPoolGetAttribute", ""}) {
    EXPECT_EQ(call_type(name), nullptr) << name;
  }
}

CallRecord call_of(bool is_driver, uint32_t thread, uint64_t start, uint64_t end) {
  CallRecord call;
  call.site = is_driver ? 2 : 1;
  call.is_driver = is_driver;
  call.thread = thread;
  call.start_ns = start;
  call.end_ns = end;
  return call;
}

TEST(Nesting, TheDriversCallWithinTheRuntimesIsLeftOut) {
  Nesting nesting;
  std::vector<CallRecord> found;
  nesting.add(call_of(true, 1, 10, 20), &found);  // alone
  nesting.add(call_of(true, 1, 35, 38), &found);  // within the next
  nesting.add(call_of(true, 2, 36, 37), &found);  // on another thread
  EXPECT_TRUE(found.empty());
  nesting.add(call_of(false, 1, 30, 40), &found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].start_ns, 10u);
  EXPECT_EQ(found[1].start_ns, 30u);
  nesting.finish(&found);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].thread, 2u);
}

TEST(Nesting, AProgramThatUsesTheDriverAloneIsNotKeptBackForEver) {
  Nesting nesting;
  std::vector<CallRecord> found;
  for (uint64_t i = 0; i < Nesting::kKeptMax + 5; ++i) {
    nesting.add(call_of(true, 1, 10 * i, 10 * i + 5), &found);
  }
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[4].start_ns, 40u);
  nesting.finish(&found);
  EXPECT_EQ(found.size(), Nesting::kKeptMax + 5);
}

CallRecord copy_call(uint32_t correlation_id) {
  CallRecord call;
  call.is_executed = call.may_be_empty = true;
  call.correlation_id = correlation_id;
  return call;
}

TEST(Executions, ACallIsExecutedWhicheverIsRecordedFirst) {
  Executions executions;
  std::vector<CallRecord> settled;
  executions.add_execution(1, &settled);
  EXPECT_TRUE(settled.empty());
  executions.add_call(copy_call(1), &settled);
  ASSERT_EQ(settled.size(), 1u);
  executions.add_call(copy_call(2), &settled);
  executions.add_call(copy_call(3), &settled);
  EXPECT_EQ(settled.size(), 1u);
  executions.add_execution(2, &settled);
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_TRUE(settled[0].is_executed);
  EXPECT_TRUE(settled[1].is_executed);
  executions.finish(&settled);
  ASSERT_EQ(settled.size(), 3u);
  EXPECT_EQ(settled[2].correlation_id, 3u);
  EXPECT_FALSE(settled[2].is_executed);
}

TEST(Executions, EmptyCallsDoNotWaitForEver) {
  Executions executions;
  std::vector<CallRecord> settled;
  for (uint32_t i = 0; i < Executions::kWaitingMax + 5; ++i) {
    executions.add_call(copy_call(i), &settled);
  }
  ASSERT_EQ(settled.size(), 5u);
  EXPECT_FALSE(settled[0].is_executed);
  executions.finish(&settled);
  EXPECT_EQ(settled.size(), Executions::kWaitingMax + 5);
}

constexpr uint64_t node_of(uint64_t graph, uint64_t number) { return graph << 32 | number; }

// Plays what CUPTI tells of a copy of nodes 0 to `count` of a graph.
void play_copy(GraphNotes* notes, uint64_t graph, uint64_t copy, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    notes->create(node_of(copy, i), {0, 0}, 1);
    notes->copy(node_of(graph, i), node_of(copy, i), 1);
  }
}

TEST(Graphs, CopiesOfANodeInheritItsNote) {
  GraphNotes notes;
  notes.create(node_of(1, 0), {7, 3}, 1);
  notes.create(node_of(1, 1), {0, 0}, 1);  // no layer was open
  play_copy(&notes, 1, 2, 2);
  play_copy(&notes, 2, 3, 2);
  notes.destroy(node_of(1, 0));
  notes.destroy(node_of(2, 0));
  for (const uint64_t graph : {1, 2, 3}) {
    EXPECT_EQ(notes.find(node_of(graph, 0)).site_id, 7u);
    EXPECT_EQ(notes.find(node_of(graph, 0)).instance, 3u);
  }
  EXPECT_EQ(notes.find(node_of(3, 1)).site_id, 0u);
}

// Recorded on an H200 with CUDA 13.0: XLA's program, whose layers 8 and 16 are matrix products. It
// captures each product in a graph of its own, and adds it to the program's graph as one node.
TEST(Graphs, NodesInTheNodesOfAGraphKnowTheirLayer) {
  GraphNotes notes;
  const auto add_product = [&](uint64_t captured, uint64_t copy, uint64_t node, uint32_t layer) {
    notes.create(node_of(captured, 0), {layer, 1}, 1);
    notes.create(node_of(captured, 1), {layer, 1}, 1);
    play_copy(&notes, captured, copy, 2);
    notes.create(node_of(1, node), {layer, 1}, 1);
  };
  notes.create(node_of(1, 0), {5, 1}, 1);
  add_product(2, 3, 1, 8);
  notes.create(node_of(1, 2), {9, 1}, 1);
  add_product(4, 5, 3, 16);
  play_copy(&notes, 1, 98, 4);
  notes.create(node_of(147, 1), {0, 0}, 1);  // where CUDA puts the nodes that it replaces
  notes.create(node_of(147, 3), {0, 0}, 1);
  notes.destroy(node_of(98, 1));
  notes.destroy(node_of(98, 3));
  std::vector<uint32_t> layers;
  for (const uint64_t node : {0, 4, 5, 2, 6, 7, 8}) {
    layers.push_back(notes.find(node_of(98, node)).site_id);
  }
  EXPECT_EQ(layers, (std::vector<uint32_t>{5, 8, 8, 9, 16, 16, 0}));
}

TEST(Graphs, NodesInNodesOfNodesHaveNoLayer) {
  GraphNotes notes;
  notes.create(node_of(3, 0), {8, 1}, 1);
  play_copy(&notes, 3, 4, 1);
  notes.create(node_of(2, 0), {8, 1}, 1);  // contains the copy, and is contained in turn
  play_copy(&notes, 2, 5, 1);
  notes.create(node_of(1, 0), {8, 1}, 1);
  notes.create(node_of(6, 0), {9, 1}, 1);
  play_copy(&notes, 6, 7, 1);
  notes.create(node_of(1, 1), {9, 1}, 1);
  play_copy(&notes, 1, 98, 2);
  notes.destroy(node_of(98, 0));
  notes.destroy(node_of(98, 1));
  for (const uint64_t node : {2, 3, 4}) EXPECT_EQ(notes.find(node_of(98, node)).site_id, 0u);
}

TEST(Graphs, DestroyedNodesAreForgottenInTheEnd) {
  GraphNotes notes;
  for (uint64_t node = 1; node <= GraphNotes::kDestroyedMax + 10; ++node) {
    notes.create(node, {7, 3}, 1);
    notes.destroy(node);
  }
  EXPECT_EQ(notes.find(1).site_id, 0u);
  EXPECT_EQ(notes.find(GraphNotes::kDestroyedMax + 10).site_id, 7u);
}

TEST(Graphs, ACallInWhichANodeWasMadeIsCaptured) {
  GraphNotes notes;
  EXPECT_FALSE(notes.is_captured(1, 0, 100));
  notes.capture(1, 15);
  notes.capture(1, 25);
  notes.capture(2, 55);
  EXPECT_FALSE(notes.is_captured(3, 0, 100));
  EXPECT_TRUE(notes.is_captured(1, 12, 18));  // the driver's
  EXPECT_TRUE(notes.is_captured(1, 10, 20));  // and the runtime's that holds it
  EXPECT_TRUE(notes.is_captured(1, 21, 30));
  EXPECT_FALSE(notes.is_captured(1, 50, 60));  // another thread's
  EXPECT_TRUE(notes.is_captured(2, 50, 60));
}

TEST(Graphs, AReplaysLayersSpanTheirKernelsOnEachStream) {
  std::vector<ReplayedLayer> found;
  Replays replays([&](const ReplayedLayer& layer) { found.push_back(layer); });
  replays.add({{7, 1}, 0, 3, 100, 50, 60});
  replays.add({{7, 1}, 0, 3, 100, 10, 20});
  replays.add({{7, 1}, 0, 4, 100, 30, 35});  // another stream
  replays.add({{7, 2}, 0, 3, 100, 70, 80});  // another execution of the layer
  replays.add({{7, 1}, 0, 3, 101, 90, 95});  // another launch
  EXPECT_TRUE(found.empty());
  replays.finish();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].start_ns, 10u);
  EXPECT_EQ(found[0].end_ns, 60u);
  EXPECT_EQ(found[3].correlation_id, 101u);
}

TEST(Graphs, AReplayIsClosedWhenManyOthersHaveBegun) {
  size_t found = 0;
  Replays replays([&](const ReplayedLayer&) { ++found; });
  for (uint64_t i = 0; i < Replays::kOpenMax + 3; ++i) replays.add({{7, 1}, 0, 0, i, 1, 2});
  EXPECT_EQ(found, 3u);
}

CUpti_ActivityMemory4 memory_record(bool is_allocation, uint64_t address, uint64_t bytes) {
  CUpti_ActivityMemory4 record{};
  record.memoryOperationType = is_allocation ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                             : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = address;
  record.bytes = bytes;
  return record;
}

TEST(Memory, EachPoolHasATotal) {
  Memory memory;
  EXPECT_EQ(memory.follow(memory_record(true, 1, 100)).total_bytes, 100);
  EXPECT_EQ(memory.follow(memory_record(true, 2, 50)).total_bytes, 150);
  CUpti_ActivityMemory4 pooled = memory_record(true, 3, 10);
  pooled.memoryPoolConfig.address = 0xabc;
  const MemoryEvent in_pool = memory.follow(pooled);
  EXPECT_EQ(in_pool.total_bytes, 10);
  EXPECT_EQ(in_pool.pool, "pool 0xabc of cuda:0");
  const MemoryEvent released = memory.follow(memory_record(false, 1, 0));  // its size is known
  EXPECT_EQ(released.bytes, -100);
  EXPECT_EQ(released.total_bytes, 50);
  EXPECT_EQ(released.pool, "device of cuda:0");
}

TEST(Memory, ATotalIsNeverBelowZero) {
  Memory memory;
  const MemoryEvent event = memory.follow(memory_record(false, 9, 1000));
  EXPECT_EQ(event.bytes, -1000);
  EXPECT_EQ(event.total_bytes, 0);
}

TEST(Memory, ABlockWhoseReleaseWasLostCountsOnce) {
  Memory memory;
  EXPECT_EQ(memory.follow(memory_record(true, 1, 100)).total_bytes, 100);
  EXPECT_EQ(memory.follow(memory_record(true, 1, 30)).total_bytes, 30);
  CUpti_ActivityMemory4 pinned = memory_record(true, 1, 10);
  pinned.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  EXPECT_EQ(memory.follow(pinned).total_bytes, 10);
  EXPECT_EQ(memory.follow(memory_record(true, 2, 5)).total_bytes, 5) << "the first pool lost it";
}

TEST(Memory, NoTotalIsGivenAfterAPause) {
  Memory memory;
  CUpti_ActivityMemory4 record = memory_record(true, 1, 100);
  record.timestamp = 1000;
  EXPECT_TRUE(memory.follow(record).has_total);
  memory.pause(2000);
  memory.pause(9000);
  EXPECT_TRUE(memory.follow(record).has_total) << "it comes late";
  record.timestamp = 3000;
  EXPECT_FALSE(memory.follow(record).has_total);
}

TEST(Buffers, AreBoundedAndServeAgain) {
  std::atomic<size_t> consumed{0};
  Buffers buffers([&](uint8_t* bytes, size_t size) { consumed += bytes[size - 1]; }, {}, 3);
  std::vector<uint8_t*> taken;
  while (taken.size() < 3) {
    if (uint8_t* buffer = buffers.take()) taken.push_back(buffer);
  }
  EXPECT_EQ(buffers.take(), nullptr);
  for (uint8_t* buffer : taken) {
    buffer[99] = 1;
    buffers.give(buffer, 100);
  }
  uint8_t* again = nullptr;
  while (again == nullptr) again = buffers.take();
  EXPECT_EQ(again[99], 0);  // buffers come zeroed
  buffers.give(again, 100);
  buffers.stop();
  EXPECT_EQ(consumed, 3u);
  EXPECT_EQ(buffers.take(), nullptr);
}

TEST(Buffers, AreFlushedLessOftenWhereThatTakesLong) {
  std::atomic<int> flushes{0};
  const auto flush_for = [&](int ms) {
    flushes = 0;
    return Flushing{std::chrono::milliseconds(1), [&flushes, ms] {
                      ++flushes;
                      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                    }};
  };
  const auto drop = [](uint8_t*, size_t) {};
  {
    Buffers slow(drop, flush_for(10), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    slow.stop();
    EXPECT_LE(flushes, 3);
  }
  Buffers fast(drop, flush_for(0), 1);
  while (flushes < 3) std::this_thread::yield();
}

TEST(Versions, AreSaidAsCudaCountsThem) {
  EXPECT_EQ(version_text(130001), "13.0.1");
  EXPECT_EQ(version_text(120900), "12.9.0");
  EXPECT_EQ(version_text(24), "12.6");
  EXPECT_EQ(version_text(25), "API 25");
}

TEST(Versions, HaveTheDefectsOfTheTable) {
  EXPECT_TRUE(has_defect(130000, Defect::kNvtxBeforeCupti));
  EXPECT_FALSE(has_defect(130001, Defect::kNvtxBeforeCupti));
  EXPECT_FALSE(has_defect(28, Defect::kNvtxBeforeCupti));
  EXPECT_TRUE(has_defect(130001, Defect::kGraphCorrelation));
  EXPECT_FALSE(has_defect(130101, Defect::kGraphCorrelation));
  EXPECT_TRUE(has_defect(12, Defect::kLegacyRecords));
  EXPECT_TRUE(defect_notes(130101).empty());
  ASSERT_EQ(defect_notes(130000).size(), 1u);
  EXPECT_EQ(defect_notes(130000)[0].rfind("CUPTI 13.0.0: crashes if NVTX", 0), 0u);
}

TEST(Clients, AreKnownByTheirLibraries) {
  EXPECT_EQ(clients_among({"/lib/libc.so.6"}, nullptr), "");
  EXPECT_EQ(clients_among({"/lib/libc.so.6", "/x/torch/lib/libtorch_cpu.so"}, ""),
            "PyTorch's profiler (libtorch_cpu.so)");
  EXPECT_EQ(clients_among({"/x/libtorch_cpu.so", "/opt/nsys/libToolsInjection64.so"}, nullptr),
            "Nsight Systems (libToolsInjection64.so)");
  EXPECT_EQ(clients_among({}, "/x/tool.so"),
            "the library that CUDA_INJECTION64_PATH names (/x/tool.so)");
}

}  // namespace
}  // namespace xsp::cupti
