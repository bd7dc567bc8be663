#include "adapters/torch/modules.h"

#include <gtest/gtest.h>

namespace xsp::torch_adapter {
namespace {

Modules with(const std::vector<std::pair<std::string, Modules>>& members, bool is_list = false) {
  Modules made(is_list);
  for (const auto& [name, member] : members) made.add(name, member);
  return made;
}

TEST(TorchModules, ListsThatNobodyCallsAreOnTheWay) {
  const Modules block = with({{"attention", Modules()}});
  const Modules list = with({{"0", block}, {"1", block}}, true);
  const Modules model = with({{"encoder", with({{"layer", list}, {"norm", Modules()}})}});
  EXPECT_EQ(model.path({"encoder", "1", "attention"}), "encoder/layer/1/attention");
  EXPECT_EQ(model.path({"encoder", "norm"}), "encoder/norm");
  EXPECT_EQ(model.path({"encoder", "7", "attention"}), "encoder/7/attention");
  EXPECT_EQ(model.path({}), "");
}

TEST(TorchModules, InDoubtNamesStayAsTheyAre) {
  const Modules list = with({{"0", Modules()}}, true);
  EXPECT_EQ(with({{"first", list}}).path({"0"}), "first/0");
  EXPECT_EQ(with({{"first", with({{"inner", list}}, true)}}).path({"0"}), "first/inner/0");
  EXPECT_EQ(with({{"first", list}, {"second", list}}).path({"0"}), "0");
  EXPECT_EQ(with({{"0", Modules()}, {"first", list}}).path({"0"}), "0");
  EXPECT_EQ(Modules().path({"a", "b"}), "a/b");
}

}  // namespace
}  // namespace xsp::torch_adapter
