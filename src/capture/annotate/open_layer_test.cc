#include <gtest/gtest.h>

#include "xsp/plugin.h"

namespace {

TEST(OpenLayer, IsKnownWhileSomebodyOffersIt) {
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
  xsp_offer_open_layer([] { return xsp_layer_mark{7, 3}; });
  EXPECT_EQ(xsp_open_layer().site_id, 7u);
  EXPECT_EQ(xsp_open_layer().instance, 3u);
  xsp_offer_open_layer(nullptr);
  EXPECT_EQ(xsp_open_layer().site_id, 0u);
}

}  // namespace
