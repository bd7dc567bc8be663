#include "adapters/onnxruntime/session.h"

#include <gtest/gtest.h>

namespace xsp::ort {
namespace {

TEST(OnnxRuntimeSession, TheProvidersOptionsTellOfTf32) {
  EXPECT_EQ(tf32_of_cuda("device_id=0;use_tf32=1;tunable_op_enable=0"), "true");
  EXPECT_EQ(tf32_of_cuda("use_tf32=0"), "false");
  EXPECT_EQ(tf32_of_cuda("device_id=0;not_use_tf32=1"), "")
      << "an older release has no such option";
  EXPECT_EQ(tf32_of_cuda(""), "");
}

}  // namespace
}  // namespace xsp::ort
