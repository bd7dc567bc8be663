// Tests the delta-varint coding: decoding returns everything that was encoded.
#include "shared/trace/encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "shared/base/testing.h"
#include "shared/trace/decode.h"
#include "shared/trace/testing.h"

namespace xsp::trace {
namespace {

TEST(Varint, RoundTripsAtEveryWidth) {
  uint8_t bytes[kVarintBytesMax];
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t offset : {-1, 0, 1}) {
      const uint64_t value = (uint64_t{1} << shift) + offset;
      const uint8_t* end = put_varint(bytes, value);
      uint64_t found = 0;
      EXPECT_EQ(get_varint(bytes, end, &found), end);
      EXPECT_EQ(found, value);
      EXPECT_EQ(get_varint(bytes, end - 1, &found), nullptr) << "cut short";
      EXPECT_EQ(unzigzag(zigzag(value)), value);
    }
  }
  EXPECT_LT(zigzag(uint64_t{0} - 3), 8u) << "small negative numbers are short";
}

TEST(Varint, RefusesWhatIsTooLong) {
  const uint8_t eleven[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
  const uint8_t beyond_64_bits[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
  uint64_t found = 0;
  EXPECT_EQ(get_varint(eleven, eleven + sizeof eleven, &found), nullptr);
  EXPECT_EQ(get_varint(beyond_64_bits, beyond_64_bits + sizeof beyond_64_bits, &found), nullptr);
}

// Ticks are nanoseconds here, and UNIX time begins with them.
Timeline identity() { return {{0, 0, 0}, 1'000'000'000}; }

using Random = std::mt19937_64;

// Returns numbers of every magnitude, small ones as likely as large ones.
uint64_t any_number(Random* random, int bits_max) {
  const int bits = static_cast<int>((*random)() % static_cast<uint64_t>(bits_max + 1));
  return bits == 0 ? 0 : (*random)() >> (64 - bits);
}

double any_double(Random* random) {
  switch ((*random)() % 5) {
    case 0:
      return 0.0;
    case 1:
      return static_cast<double>((*random)() % 1000) / 8;
    case 2:
      return -std::numeric_limits<double>::infinity();
    case 3:
      return std::nan("");
    default:
      return std::ldexp(static_cast<double>((*random)()),
                        static_cast<int>((*random)() % 600) - 300);
  }
}

uint64_t bits_of(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct Expected {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t site = 0;
  uint32_t place[3] = {};
  uint64_t correlation = 0;
  std::vector<SpanValue> values;
};

SpanValue any_value(Random* random, uint32_t span) {
  SpanValue value;
  value.span = span;
  value.key = 1 + static_cast<uint32_t>(any_number(random, 15));
  value.kind = 1 + static_cast<uint32_t>((*random)() % 4);
  if (value.kind == XSP_VALUE_INT) {
    value.as_int = static_cast<int64_t>(any_number(random, 64));
  } else if (value.kind == XSP_VALUE_TEXT) {
    value.as_text.assign((*random)() % 100, static_cast<char>('a' + (*random)() % 26));
  } else {
    value.as_double = any_double(random);
  }
  return value;
}

uint64_t bits_of(const SpanValue& value) {
  return value.kind == XSP_VALUE_INT ? static_cast<uint64_t>(value.as_int)
                                     : bits_of(value.as_double);
}

// Adds one span to the ring, and returns the values that the decoder must find.
Expected add_any(Random* random, bool is_given, uint64_t* time, uint32_t index,
                 RingContents* ring) {
  Record record = {};
  Expected expected;
  const uint64_t duration = any_number(random, 40);
  if (is_given) {
    record.start = any_number(random, 60);
    expected.end = record.start + duration;
    record.bits = Record::kGiven;
  } else {
    *time += any_number(random, 40);
    record.start = *time > duration ? *time - duration : 0;
    expected.end = *time;
  }
  expected.start = record.start;
  record.duration = expected.end - record.start;
  record.site_id = expected.site = static_cast<uint32_t>(any_number(random, 18));
  const SpanValue inside = any_value(random, index);
  if ((*random)() % 2 == 0 && inside.kind != XSP_VALUE_TEXT) {
    record.key = static_cast<uint16_t>(inside.key);
    record.bits |= Record::kind_bits(inside.kind);
    record.payload = bits_of(inside);
    expected.values.push_back(inside);
  } else {
    record.payload = expected.correlation = any_number(random, 64);
  }
  std::vector<Extra> extras;
  std::vector<std::string> texts;
  expected.place[0] = 7;
  if ((*random)() % 4 == 0) {
    Extra place = {};
    place.kind = Extra::kPlace;
    for (int i = 0; i < 3; ++i) {
      place.place[i] = expected.place[i] = static_cast<uint32_t>(any_number(random, 32));
    }
    extras.push_back(place);
  }
  for (uint64_t i = (*random)() % 4; i > 0; --i) {
    const SpanValue value = any_value(random, index);
    Extra extra = {};
    extra.key = static_cast<uint16_t>(value.key);
    extra.kind = static_cast<uint8_t>(value.kind);
    if (value.kind == XSP_VALUE_TEXT) {
      texts.push_back(value.as_text);
    } else {
      extra.number = bits_of(value);
    }
    extras.push_back(extra);
    expected.values.push_back(value);
  }
  ring->add(record, extras, texts);
  return expected;
}

void check(const SpanBatch& batch, const std::vector<Expected>& expected) {
  ASSERT_EQ(batch.size(), expected.size());
  size_t value = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<uint64_t>(batch.start_ns[i]), expected[i].start);
    EXPECT_EQ(static_cast<uint64_t>(batch.end_ns[i]), expected[i].end);
    EXPECT_EQ(batch.site[i], expected[i].site);
    EXPECT_EQ(batch.thread[i], expected[i].place[0]);
    EXPECT_EQ(batch.device[i], expected[i].place[1]);
    EXPECT_EQ(batch.stream[i], expected[i].place[2]);
    EXPECT_EQ(batch.correlation_id[i], expected[i].correlation);
    for (const SpanValue& wanted : expected[i].values) {
      ASSERT_LT(value, batch.values.size());
      const SpanValue& found = batch.values[value++];
      EXPECT_EQ(found.span, wanted.span);
      EXPECT_EQ(found.key, wanted.key);
      EXPECT_EQ(found.kind, wanted.kind);
      EXPECT_EQ(found.as_int, wanted.as_int);
      EXPECT_EQ(bits_of(found.as_double), bits_of(wanted.as_double));
      EXPECT_EQ(found.as_text, wanted.as_text);
    }
  }
  EXPECT_EQ(value, batch.values.size());
}

// Encodes the whole ring into chunks, and decodes them.
void check_round_trip(Random* random, bool is_given) {
  RingContents ring;
  ring.skip_to(RingContents::kMask + 1 - (*random)() % 64);  // groups wrap around
  const uint32_t count = 1 + static_cast<uint32_t>(any_number(random, 11));
  std::vector<Expected> expected;
  uint64_t time = 0;
  for (uint32_t i = 0; i < count; ++i) {
    expected.push_back(add_any(random, is_given, &time, i, &ring));
  }
  std::vector<uint8_t> memory(SpanEncoder::kMemoryBytes);
  SpanEncoder encoder(memory.data());
  encoder.begin(3, 7, is_given);
  for (const uint64_t at : ring.groups()) ASSERT_TRUE(encoder.add(ring.slots(), at));
  std::vector<uint8_t> payload(kChunkPayloadBytesMax);
  payload.resize(encoder.finish(11, 12, 13, payload.data()));
  const Result<SpansHeader> header = read_spans_header(payload);
  ASSERT_TRUE(header.ok()) << header.error().text;
  EXPECT_EQ(header->ordinal, 11u);
  EXPECT_EQ(header->dropped_ring, 12u);
  EXPECT_EQ(header->dropped_site, 13u);
  SpanBatch batch;
  const Status status = decode_spans(payload, identity(), 0, &batch);
  ASSERT_TRUE(status.ok()) << status.error().text;
  check(batch, expected);
}

TEST(Encode, AnySpansAsTheyHappenedRoundTrip) {
  Random random(1);
  for (uint64_t i = 0; i < random_cases(300) && !HasFailure(); ++i)
    check_round_trip(&random, false);
}

TEST(Encode, AnySpansWithGivenTimesRoundTrip) {
  Random random(2);
  for (uint64_t i = 0; i < random_cases(300) && !HasFailure(); ++i) check_round_trip(&random, true);
}

TEST(Encode, AChunkEndsWhenItIsFullOrTimeGoesBack) {
  std::vector<uint8_t> memory(SpanEncoder::kMemoryBytes);
  SpanEncoder encoder(memory.data());
  encoder.begin(1, 1, false);
  RingContents ring;
  ring.add({100, 10, 0, 1, 0, 0});
  ring.add({100, 9, 0, 1, 0, 0});
  EXPECT_TRUE(encoder.add(ring.slots(), ring.groups()[0]));
  EXPECT_FALSE(encoder.add(ring.slots(), ring.groups()[1]));
  EXPECT_EQ(encoder.span_count(), 1u);
  while (encoder.span_count() < kChunkSpansMax) {
    ASSERT_TRUE(encoder.add(ring.slots(), ring.groups()[0]));
  }
  EXPECT_FALSE(encoder.add(ring.slots(), ring.groups()[0]));
}

TEST(Encode, EqualColumnsCostNothing) {
  RingContents ring;
  for (uint64_t i = 0; i < 10'000; ++i) ring.add({i * 50, 20, 0, 3, 0, 0});
  std::vector<uint8_t> memory(SpanEncoder::kMemoryBytes);
  SpanEncoder encoder(memory.data());
  encoder.begin(1, 1, false);
  for (const uint64_t at : ring.groups()) ASSERT_TRUE(encoder.add(ring.slots(), at));
  std::vector<uint8_t> payload(kChunkPayloadBytesMax);
  // Only the times differ: one byte for each span, and a few for the rest.
  EXPECT_LT(encoder.finish(0, 0, 0, payload.data()), 10'000u + 200);
}

TEST(Decode, AnyBytesAreAnErrorOrSpansButNeverACrash) {
  Random random(3);
  ScratchFolder scratch;
  RingContents ring;
  uint64_t time = 0;
  for (uint32_t i = 0; i < 50; ++i) add_any(&random, false, &time, i, &ring);
  std::vector<uint8_t> memory(SpanEncoder::kMemoryBytes);
  SpanEncoder encoder(memory.data());
  encoder.begin(1, 1, false);
  for (const uint64_t at : ring.groups()) ASSERT_TRUE(encoder.add(ring.slots(), at));
  std::vector<uint8_t> payload(kChunkPayloadBytesMax);
  payload.resize(encoder.finish(0, 0, 0, payload.data()));
  SpanBatch batch;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> damaged = payload;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const Status status = decode_spans(damaged, identity(), 0, &batch);
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.error().code, Code::kCorrupt);
      EXPECT_EQ(batch.size(), 0u);
    }
    for (size_t s = 0; s < batch.size(); ++s) ASSERT_LE(batch.start_ns[s], batch.end_ns[s]);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace xsp::trace
