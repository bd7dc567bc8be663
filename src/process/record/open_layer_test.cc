#include "process/record/open_layer.h"

#include <gtest/gtest.h>

namespace {

TEST(OpenLayer, IsKnownWhileSomebodyOffersIt) {
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
  xsp_offer_open_layer([] { return xsp_layer_mark{7, 3}; });
  EXPECT_EQ(xsp_open_layer().site_id, 7u);
  EXPECT_EQ(xsp_open_layer().instance, 3u);
  xsp_offer_open_layer(nullptr);
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
}

TEST(OpenLayer, IsThatOfARangeWhereNoOtherIsOpen) {
  xsp_offer_open_range([] { return xsp_layer_mark{9, 1}; });
  EXPECT_EQ(xsp_open_layer().site_id, 9u);
  xsp_offer_open_layer([] { return xsp_layer_mark{0, 0}; });
  EXPECT_EQ(xsp_open_layer().site_id, 9u);
  xsp_offer_open_layer([] { return xsp_layer_mark{7, 3}; });
  EXPECT_EQ(xsp_open_layer().site_id, 7u);
  xsp_offer_open_layer(nullptr);
  xsp_offer_open_range(nullptr);
}

}  // namespace
