#include "desk/experiment/collector_entry.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace xsp::experiment {
namespace {

TEST(CollectorEntry, ACollectorThatSaysSoIsPreloaded) {
  xsp_collector entry{};
  entry.struct_size = sizeof entry;
  EXPECT_FALSE(is_preloaded(&entry));
  entry.is_preloaded = 1;
  EXPECT_TRUE(is_preloaded(&entry));
}

// A collector that was built before the member existed has other bytes of its own there.
TEST(CollectorEntry, AnOlderCollectorIsNotPreloaded) {
  xsp_collector entry{};
  entry.is_preloaded = 1;
  entry.struct_size = offsetof(xsp_collector, is_preloaded);
  EXPECT_FALSE(is_preloaded(&entry));
  EXPECT_FALSE(is_preloaded(nullptr));
}

TEST(CollectorEntry, ALibraryThatIsNoCollectorHasNone) {
  EXPECT_EQ(collector_entry("libm.so.6"), nullptr);
  EXPECT_EQ(collector_entry("/no/such/library.so"), nullptr);
}

}  // namespace
}  // namespace xsp::experiment
