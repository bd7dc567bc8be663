// Tests stacks and samples, with line tables as CPython makes them, and with foreign bytes.
#include "shared/trace/stacks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "shared/trace/varint.h"

namespace xsp::trace {
namespace {

// Each version's compiler makes these line tables for this function. The expected lines are those
// that Python itself reports:
//
//   def f(x):
//       total = 0
//
//       for i in range(x):
//           if i % 3 == 0:
//               total += i
//           else:
//               total -= (i *
//                         2)
//       return total
const std::vector<uint8_t> kLines38 = {0, 1, 4, 2, 12, 1, 12, 1, 10, 2, 4, 1, 2, 255, 8, 2};
const std::vector<uint8_t> kLines310 = {4, 1, 12, 2, 12, 1, 10, 1, 4, 2, 2, 1, 8, 255, 4, 2};
const std::vector<uint8_t> kLines311 = {
    128, 0,   216, 12, 13,  128, 69,  229, 13,  18, 144, 49,  137, 88,  140, 88,  240, 0,   5,  5,
    25,  240, 0,   5,  5,   25,  136, 1,   216, 11, 12,  136, 113, 137, 53,  144, 65,  138, 58, 136,
    58,  216, 12,  17, 144, 81,  137, 74,  136, 69, 136, 69,  224, 12,  17,  144, 97,  216, 22, 23,
    241, 3,   1,   23, 24,  241, 0,   1,   13,  25, 136, 69,  136, 69,  224, 11,  16,  128, 76};
const std::vector<uint8_t> kLines313 = {
    128, 0,  216, 12,  13,  128, 69, 228, 13,  18,  144, 49,  142, 88,  136, 1,
    216, 11, 12,  136, 113, 137, 53, 144, 65,  139, 58,  216, 12,  17,  137, 74,
    138, 69, 224, 12,  17,  216, 22, 23,  241, 3,   1,   23,  24,  241, 0,   1,
    13,  25, 138, 69,  241, 9,   0,  14,  22,  240, 12,  0,   12,  17,  128, 76};

struct Where {
  int64_t instruction;
  int line;
};

void expect_lines(LinesForm form, const std::vector<uint8_t>& table,
                  const std::vector<Where>& wanted) {
  for (const Where& one : wanted) {
    EXPECT_EQ(line_of(form, table, 1, one.instruction), one.line) << one.instruction;
  }
}

TEST(PythonLines, AreThoseThatEachVersionSays) {
  expect_lines(LinesForm::kBefore310, kLines38,
               {{0, 2}, {4, 4}, {16, 5}, {28, 6}, {38, 8}, {42, 9}, {44, 8}, {52, 10}});
  expect_lines(LinesForm::k310, kLines310,
               {{0, 2}, {2, 4}, {8, 5}, {14, 6}, {19, 8}, {21, 9}, {22, 8}, {26, 10}});
  expect_lines(
      LinesForm::kFrom311, kLines311,
      {{0, 1},  {1, 2},  {2, 2},  {3, 4},  {9, 4},  {10, 4}, {12, 4}, {17, 4}, {18, 4},  {19, 4},
       {20, 5}, {21, 5}, {22, 5}, {24, 5}, {25, 5}, {28, 5}, {29, 6}, {30, 6}, {31, 6},  {33, 6},
       {34, 6}, {35, 8}, {36, 8}, {37, 9}, {38, 8}, {40, 8}, {42, 8}, {43, 8}, {44, 10}, {45, 10}});
  expect_lines(
      LinesForm::kFrom311, kLines313,
      {{0, 1}, {1, 2}, {3, 4}, {17, 5}, {26, 6}, {32, 8}, {33, 9}, {34, 8}, {41, 4}, {43, 10}});
}

TEST(PythonLines, OfAnUnknownInstructionAreTheFirst) {
  EXPECT_EQ(line_of(LinesForm::kFrom311, kLines311, 7, -1), 7);
  EXPECT_EQ(line_of(LinesForm::kNone, {}, 7, 3), 7);
  EXPECT_EQ(line_of(LinesForm::kFrom311, kLines311, 7, 100000), 0);
}

TEST(PythonLines, OfDamagedTablesAreSomeNumber) {
  std::vector<uint8_t> table = kLines311;
  for (size_t i = 0; i < table.size(); ++i) {
    for (const int flip : {0x80, 0x40, 0x78, 0x07}) {
      table[i] = static_cast<uint8_t>(kLines311[i] ^ flip);
      for (const LinesForm form : {LinesForm::kBefore310, LinesForm::k310, LinesForm::kFrom311}) {
        EXPECT_GE(line_of(form, table, 1, 20), 0);
      }
    }
    table[i] = kLines311[i];
  }
}

// Builds a payload, entry by entry.
class Payload {
 public:
  Payload& number(uint64_t value) {
    uint8_t buffer[kVarintBytesMax];
    bytes_.insert(bytes_.end(), buffer, put_varint(buffer, value));
    return *this;
  }
  Payload& byte(uint8_t value) {
    bytes_.push_back(value);
    return *this;
  }
  Payload& text(const std::string& value) {
    number(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  Payload& entry(const Payload& inner) {
    number(inner.bytes_.size());
    bytes_.insert(bytes_.end(), inner.bytes_.begin(), inner.bytes_.end());
    return *this;
  }
  Payload& header(int64_t first_ns, uint32_t looks) {
    const SamplesHeader header = {first_ns, looks, 0};
    bytes_.resize(sizeof header);
    std::memcpy(bytes_.data(), &header, sizeof header);
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

Payload kind(StackEntry kind) { return Payload().byte(static_cast<uint8_t>(kind)); }
Payload code(uint64_t id, const std::string& function) {
  return kind(StackEntry::kPythonCode)
      .number(id)
      .number(0)
      .number(12)
      .text(function)
      .text("a.py")
      .text("");
}
Payload node(uint64_t id, uint64_t parent, uint64_t code) {
  return kind(StackEntry::kPythonNode).number(id).number(parent).number(code).number(zigzag(3));
}

TEST(Stacks, HaveTheFunctionsOfTheirNodes) {
  Stacks stacks;
  Payload payload;
  payload.entry(code(1, "main")).entry(code(2, "work")).entry(node(1, 0, 1)).entry(node(2, 1, 2));
  payload.entry(kind(StackEntry::kText).number(1).text("futex"));
  payload.entry(Payload().byte(77).number(1));  // an entry of a later revision
  ASSERT_TRUE(stacks.add(payload.bytes()));
  ASSERT_NE(stacks.node(2), nullptr);
  EXPECT_EQ(stacks.node(2)->parent, 1u);
  EXPECT_EQ(stacks.node(2)->function, "work");
  EXPECT_EQ(stacks.node(2)->file, "a.py");
  EXPECT_EQ(stacks.node(2)->line, 12);
  EXPECT_EQ(*stacks.text(1), "futex");
  EXPECT_EQ(stacks.node(3), nullptr);
}

TEST(Stacks, WhatMakesNoSenseIsLeftOut) {
  Stacks stacks;
  Payload payload;
  payload.entry(code(1, "main"));
  payload.entry(node(1, 0, 9));  // its code is not defined
  payload.entry(node(2, 2, 1));  // it is its own caller
  payload.entry(node(3, 0, 1));
  EXPECT_FALSE(stacks.add(payload.bytes()));
  EXPECT_EQ(stacks.node(1), nullptr);
  EXPECT_EQ(stacks.node(2), nullptr);
  EXPECT_NE(stacks.node(3), nullptr);
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    Stacks cut;
    (void)cut.add(std::span(payload.bytes()).first(size));
  }
}

TEST(Samples, OfThreadsWithoutNewsAreAsBefore) {
  Payload payload;
  payload.header(1000, 3);
  payload.number(10).number(10).number(2);
  payload.number(7).byte(static_cast<uint8_t>(1 | 1 << kLockShift)).number(5).number(0);
  payload.number(8).byte(static_cast<uint8_t>(ThreadDoes::kWaits)).number(6).number(1);
  payload.number(20).number(15).number(0);
  payload.number(30).number(30).number(1);
  payload.number(8).byte(static_cast<uint8_t>(ThreadDoes::kEnded)).number(0).number(0);
  std::vector<Sample> samples;
  ASSERT_TRUE(parse_samples(ChunkType::kSamples, payload.bytes(), &samples));
  ASSERT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples[0].thread, 7u);
  EXPECT_EQ(samples[0].lock, LockState::kHeld);
  EXPECT_EQ(samples[3].thread, 8u);
  EXPECT_EQ(samples[3].does, ThreadDoes::kWaits);
  EXPECT_EQ(samples[3].waits_in, 1u);
  EXPECT_EQ(samples[3].time_ns, 1030);
  EXPECT_EQ(samples[3].duration_ns, 15);
  EXPECT_EQ(samples[4].thread, 7u);
  EXPECT_EQ(samples[4].time_ns, 1060);
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    EXPECT_FALSE(
        parse_samples(ChunkType::kSamples, std::span(payload.bytes()).first(size), &samples))
        << size;
  }
}

// A thread's cost in the kernel counts for one look: a thread that is not listed costs nothing.
TEST(Samples, HaveWhatTheThreadsCostTheKernel) {
  Payload payload;
  payload.header(1000, 2);
  payload.number(10).number(10).number(1);
  payload.number(7).byte(static_cast<uint8_t>(ThreadDoes::kRuns)).number(5).number(0);
  payload.number(20'000'000).number(312);
  payload.number(10).number(10).number(0);
  std::vector<Sample> samples;
  ASSERT_TRUE(parse_samples(ChunkType::kCostedSamples, payload.bytes(), &samples));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_TRUE(samples[0].has_cost);
  EXPECT_EQ(samples[0].system_ns, 20'000'000u);
  EXPECT_EQ(samples[0].faults, 312u);
  EXPECT_TRUE(samples[1].has_cost);
  EXPECT_EQ(samples[1].system_ns, 0u);
  EXPECT_EQ(samples[1].faults, 0u);
  EXPECT_EQ(samples[1].node, 5u);
  for (size_t size = 0; size < payload.bytes().size(); ++size) {
    const auto cut = std::span(payload.bytes()).first(size);
    EXPECT_FALSE(parse_samples(ChunkType::kCostedSamples, cut, &samples)) << size;
  }
  // A chunk of the older type has no costs.
  Payload before;
  before.header(1000, 1).number(10).number(10).number(1);
  before.number(7).byte(static_cast<uint8_t>(ThreadDoes::kRuns)).number(5).number(0);
  samples.clear();
  ASSERT_TRUE(parse_samples(ChunkType::kSamples, before.bytes(), &samples));
  EXPECT_FALSE(samples[0].has_cost);
}

}  // namespace
}  // namespace xsp::trace
