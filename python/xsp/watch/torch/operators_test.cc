// Tests values and operators, with tensors in memory as PyTorch lays them out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include "operators.h"
#include "tape.h"
#include "values.h"
}

namespace {

constexpr uint32_t kTensor = 1, kInt = 5, kList = 12;

struct Value {
  const void* payload;
  uint32_t kind;
  uint32_t unused = 0;
};
static_assert(sizeof(Value) == XSP_VALUE_BYTES);

// Imitates an at::TensorImpl whose sizes begin at this offset.
struct Tensor {
  std::array<char, 256> bytes{};
  std::vector<int64_t> more;  // sizes and strides of more than five dimensions

  Tensor(const std::vector<int64_t>& sizes, uint16_t type, size_t offset = 56) {
    const size_t rank = sizes.size();
    std::vector<int64_t> strides(rank);
    int64_t count = 1;
    for (size_t i = rank; i-- > 0; count *= sizes[i]) strides[i] = count;
    put(offset, rank);
    if (rank > 5) {
      more = sizes;
      more.insert(more.end(), strides.begin(), strides.end());
      put(offset + 8, more.data());
    } else {
      for (size_t i = 0; i < rank; ++i) put(offset + 8 + i * 8, sizes[i]);
      for (size_t i = 0; i < rank; ++i) put(offset + 48 + i * 8, strides[i]);
    }
    put(offset + 96, count);
    put(offset + 104, type);
  }
  template <typename T>
  void put(size_t offset, T value) {
    std::memcpy(&bytes.at(offset), &value, sizeof value);
  }
  Value value() const { return {bytes.data(), kTensor}; }
};

Values of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size()};
}

// Shows the three examples. Returns whether they are understood.
bool learn(size_t offset) {
  xsp_values_forget();
  const Example examples[] = {
      {nullptr, 4, {2, 3, 4, 5}, 6}, {nullptr, 2, {7, 6}, 7}, {nullptr, 1, {3}, 15}};
  for (Example example : examples) {
    const std::vector<int64_t> sizes(example.sizes, example.sizes + example.rank);
    const Tensor tensor(sizes, example.type, offset);
    example.address = tensor.bytes.data();
    const std::vector<Value> values = {tensor.value()};
    if (!xsp_values_are(of(values), &example)) return false;
  }
  return xsp_values_are_understood() != 0;
}

std::string describe(const std::vector<Value>& values) {
  char shapes[256], types[256];
  if (!xsp_values_describe(of(values), shapes, sizeof shapes, types, sizeof types)) return "";
  return std::string(shapes) + " " + types;
}

TEST(Values, AreFoundWhereverTheyLie) {
  for (const size_t offset : {56u, 64u, 72u}) {
    ASSERT_TRUE(learn(offset));
    const Tensor one({1, 3, 224, 224}, 6, offset), six({1, 2, 3, 4, 5, 6}, 5, offset);
    const Tensor scalar({}, 11, offset);
    EXPECT_EQ(describe({one.value(), six.value(), {nullptr, kInt}, scalar.value()}),
              "[[1,3,224,224],[1,2,3,4,5,6],[]] [\"float32\",\"float16\",\"bool\"]");
    EXPECT_EQ(describe({}), "[] []");
  }
}

TEST(Values, AreNotUnderstoodWhereOneLooksOtherwise) {
  xsp_values_forget();
  EXPECT_FALSE(xsp_values_are_understood());
  ASSERT_TRUE(learn(56));
  const Tensor tensor({7, 6}, 6);  // its type differs from the example's
  const Example example = {tensor.bytes.data(), 2, {7, 6}, 7};
  const std::vector<Value> values = {tensor.value()};
  EXPECT_FALSE(xsp_values_are(of(values), &example));
  EXPECT_FALSE(xsp_values_are_understood());
}

TEST(Values, WhoseShapeIsElsewhereAreNotGuessed) {
  ASSERT_TRUE(learn(56));
  const Tensor line({0}, 6), none({0}, 22), unknown({2}, 22);
  EXPECT_EQ(describe({line.value(), none.value(), unknown.value()}),
            "[[-1],[2]] [\"float32\",\"other\"]");
}

TEST(Values, InListsCountOnceListsAreKnown) {
  ASSERT_TRUE(learn(56));
  const Tensor one({2, 3, 4, 5}, 6), other({9}, 7);
  const std::vector<Value> same = {one.value(), one.value()};
  const std::vector<Value> both = {one.value(), {nullptr, 0}, other.value()};
  const std::vector<Value> numbers = {{nullptr, kInt}, {nullptr, kInt}};
  struct List {
    const void* table = nullptr;
    uint64_t count = 1;
    const Value *begin, *end, *room;
    explicit List(const std::vector<Value>& values)
        : begin(values.data()), end(begin + values.size()), room(end) {}
  };
  const List first(same), second(both), third(numbers);
  const std::vector<Value> values = {{&second, kList}, {&third, kList}, other.value()};
  EXPECT_EQ(describe(values), "[[9]] [\"float64\"]");
  const Example example = {one.bytes.data(), 4, {2, 3, 4, 5}, 6};
  const std::vector<Value> shown = {{&first, kList}};
  xsp_values_have_list(of(shown), &example);
  EXPECT_EQ(describe(values), "[[2,3,4,5],[9],[9]] [\"float32\",\"float64\",\"float64\"]");
}

TEST(Values, ThatDoNotFitAreNotCut) {
  ASSERT_TRUE(learn(56));
  const Tensor tensor({100, 100}, 6);
  const std::vector<Value> values = {tensor.value()};
  char shapes[11], types[12];
  EXPECT_FALSE(xsp_values_describe(of(values), shapes, sizeof shapes, types, sizeof types));
}

class OperatorsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(learn(56));
    path_ = std::filesystem::temp_directory_path() /
            ("operators_test." + std::to_string(getpid()) + ".xtrace");
    xsp_options options{};
    options.struct_size = sizeof options;
    options.path = path_.c_str();
    options.levels = XSP_LEVELS_ALL;
    ASSERT_EQ(xsp_start(&options), 0);
  }
  void TearDown() override {
    xsp_stop();
    std::filesystem::remove(path_);
  }
  // Returns the sites of operators of these sizes, which run one after the other in one model call.
  static std::vector<uint32_t> call(uint64_t kind, const std::vector<int64_t>& sizes) {
    const bool looks = xsp_operators_follow(kind) != 0;
    std::vector<uint32_t> sites;
    for (const int64_t size : sizes) {
      const Tensor tensor({size}, 6);
      const std::vector<Value> values = {tensor.value()};
      const Values seen = of(values);
      Call* one = xsp_operator_open(0, "aten::relu", looks ? &seen : &xsp_values_unseen);
      if (looks) xsp_operator_returns(one, "aten::relu", seen);
      sites.push_back(one->span.site_id);
      xsp_call_close(one);
    }
    return sites;
  }

 private:
  std::filesystem::path path_;
};

TEST_F(OperatorsTest, AreRememberedByTheirPlaceInTheCall) {
  const auto first = call(101, {4, 8, 4});
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(first[0], first[2]);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(call(101, {4, 8, 4}), first) << i;
  // Another kind of call is looked at, even if its operators are those of the first.
  const auto other = call(201, {8, 16});
  EXPECT_EQ(other[0], first[1]);
  EXPECT_EQ(call(101, {4, 8, 4}), first);
}

TEST_F(OperatorsTest, ThatAreMissingOrMoreDoNotLeadTheOthersAstray) {
  xsp_tape_begin(77, 1);
  for (uint32_t i = 1; i <= 1000; ++i) {
    EXPECT_EQ(xsp_tape_next(i), 0u);
    xsp_tape_add(i, 100 + i);
  }
  xsp_tape_begin(79, 1);
  EXPECT_EQ(xsp_tape_next(1), 0u) << "another kind";
  xsp_tape_begin(77, 0);
  for (const uint32_t i : {1u, 2u, 5u, 6u}) EXPECT_EQ(xsp_tape_next(i), 100 + i);
  EXPECT_EQ(xsp_tape_next(5000), 0u);
  xsp_tape_add(5000, 9);
  for (const uint32_t i : {7u, 8u, 1000u}) EXPECT_EQ(xsp_tape_next(i), i == 1000 ? 0 : 100 + i);
  xsp_tape_begin(77 + 2 * 64, 0);  // takes the same place
  EXPECT_EQ(xsp_tape_next(1), 0u);
  xsp_tape_begin(77, 0);
  EXPECT_EQ(xsp_tape_next(1), 0u);
  for (uint32_t i = 0; i < 100'000; ++i) xsp_tape_add(i + 1, i + 1);  // more than fits
  xsp_tape_begin(77, 0);
  EXPECT_EQ(xsp_tape_next(1), 1u);
  xsp_tape_begin(0, 0);
  EXPECT_EQ(xsp_tape_next(1), 0u);
  xsp_tape_add(1, 1);
}

TEST_F(OperatorsTest, ThatWereNotAlwaysTheSameAreNotKnown) {
  std::set<uint32_t> seen;
  for (int64_t i = 0; i < 5; ++i) seen.insert(call(301, {5, 20 + i})[1]);
  EXPECT_EQ(seen.size(), 5u);  // two more are looked at, because the third differed
  const auto later = call(301, {5, 25});
  EXPECT_EQ(seen.count(later[1]), 0u);
  EXPECT_EQ(call(301, {5, 26}), later);  // one site without shapes
}

TEST_F(OperatorsTest, ThatCameLaterAreLookedAtAgain) {
  for (int i = 0; i < 5; ++i) call(401, {6});
  const auto without = call(401, {6, 7});
  const auto with = call(401, {6, 7});  // is looked at, because the previous call had more
  EXPECT_EQ(without[0], with[0]);
  EXPECT_NE(without[1], with[1]);
}

TEST_F(OperatorsTest, OfCallsThatNeverRepeatAreKnownWhereTheyDoNotChange) {
  // The text grows word by word: one operator's shape follows it, another one's does not.
  constexpr uint64_t kPlain = 3001;
  std::set<uint32_t> grown, same;
  uint64_t kinds = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const uint64_t exact = 5001 + 2 * static_cast<uint64_t>(i);
    const uint64_t kind = xsp_operators_kind(exact, kPlain);
    kinds += kind == exact;
    const auto sites = call(kind, {9, 2000 + i});
    same.insert(sites[0]);
    grown.insert(sites[1]);
    EXPECT_EQ(xsp_operators_kind(5001, kPlain), 5001u) << "what has a kind of its own keeps it";
  }
  EXPECT_EQ(kinds, 32u);
  EXPECT_EQ(same.size(), 1u);
  EXPECT_LE(grown.size(), 33u);
  // Only a few of the later calls were looked at.
  int looks = 0;
  for (int i = 0; i < 64; ++i) looks += xsp_operators_follow(kPlain);
  EXPECT_LE(looks, 4);
}

TEST_F(OperatorsTest, HaveOnlySoManyShapes) {
  std::set<uint32_t> sites;
  for (uint64_t i = 0; i < 100; ++i) sites.insert(call(1001 + 2 * i, {1000 + int64_t(i)})[0]);
  EXPECT_LE(sites.size(), 33u);
}

}  // namespace
