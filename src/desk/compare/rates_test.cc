// The rate of kernels is over one time in every analysis, and each analysis has the same shares of
// the model, however kernels overlap.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "desk/compare/made_evaluation.h"
#include "desk/compare/quantities.h"
#include "desk/store/database.h"
#include "tests/places.h"
#include "tests/text.h"

namespace xsp::compare {
namespace {

using store::Database;
using ByName = std::map<std::string, double>;

// Checks one evaluation.
class Rates : Answers {
 public:
  Rates(Database database, std::string name) : Answers(std::move(database), std::move(name)) {}

  // Returns how many rows were compared.
  size_t check(int64_t batch) {
    size_t compared = 0;
    // A layer, or a name, with one kernel has the rate of this kernel.
    for (const char* column : {"arithmetic_flops_per_s", "roof_pct"}) {
      compared += alike(by("layer", "layer_counted_roofline", column, batch),
                        by("layer", "kernel_roofline", column, batch));
    }
    const char* const kRate = "arithmetic_flops_per_s";
    compared += alike(by("layer", "layer_counted_roofline", kRate, batch),
                      by("layer", "kernels_by_layer", kRate, batch));
    compared += alike(by("name", "hierarchical_roofline", kRate, batch),
                      by("name", "kernel_roofline", kRate, batch));
    compared += alike(by("name", "hierarchical_roofline", kRate, batch),
                      by("name", "kernels_by_name", kRate, batch));
    compared += alike(by("layer", "gpu_by_layer", "gpu_ns", batch),
                      by("layer", "kernels_by_layer", "gpu_ns", batch));
    const auto by_layer = sum({"kernels_by_layer", "", {}, "model_share_pct"}, batch);
    const auto by_name = sum({"kernels_by_name", "", {}, "model_share_pct"}, batch);
    const auto whole = sum({"kernels_in_model", "", {}, "gpu_share_pct"}, batch);
    EXPECT_NEAR(by_layer.value(), by_name.value(), 1e-6) << name_;
    EXPECT_NEAR(whole.value_or(*by_layer), *by_layer, 1e-6) << name_;
    return compared;
  }

 private:
  // Returns a column by the text of another one. Texts that several rows have are left out.
  ByName by(const char* key, const char* analysis, const char* column, int64_t batch) {
    ByName values;
    const auto& found = rows(analysis, batch);
    if (!found) return values;
    found->each([&](const auto& row) {
      const auto [at, is_new] = values.emplace(found->at(row, key), found->value(row, column));
      if (!is_new) at->second = std::nan("");
    });
    return values;
  }

  // Compares what both have.
  size_t alike(const ByName& some, const ByName& others) {
    size_t compared = 0;
    for (const auto& [key, value] : some) {
      const auto other = others.find(key);
      if (other == others.end() || std::isnan(value) || std::isnan(other->second)) continue;
      EXPECT_NEAR(value, other->second, close(value)) << name_ << ": " << key;
      ++compared;
    }
    return compared;
  }
};

// The kernels of the layers relu and fc begin earlier, beside those of the layers before them.
TEST(RatesTest, AreOverOneTimeHoweverKernelsOverlap) {
  const std::string gpu = text_of(places::source("tests/data/gpu.sql"));
  for (const char* us : {"0", "130", "200"}) {
    const std::string earlier = std::string("UPDATE span SET start_ns = start_ns - 1000 * ") + us +
                                " WHERE run_id IN (3, 4) AND site_id IN (13, 15)";
    EXPECT_GE(Rates(filled(gpu + earlier), us).check(1), 10u);
  }
}

TEST(RatesTest, AreOverOneTimeOnAnH200) {
  Result<Database> database = Database::open(places::build("tests/data/h200_resnet50.xsp"));
  ASSERT_TRUE(database.ok()) << database.error().text;
  Rates rates(std::move(database).value(), "h200_resnet50");
  EXPECT_GE(rates.check(1), 100u);
  EXPECT_GE(rates.check(4), 100u);
}

TEST(RatesTest, OfRandomEvaluationsHaveTheSameTimes) {
  for (const unsigned seed : {2u, 4u, 6u}) {
    const std::string name = "random " + std::to_string(seed);
    EXPECT_GE(Rates(filled(made_evaluation(seed)), name).check(1), 1u);
  }
}

}  // namespace
}  // namespace xsp::compare
