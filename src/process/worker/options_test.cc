#include "process/worker/options.h"

#include <gtest/gtest.h>

#include "xsp/plugin.h"

namespace xsp::process {
namespace {

const std::vector<std::string> kLeast = {"--adapter", "a.so",    "--model", "m",         "--levels",
                                         "model",     "--trace", "t",       "--scratch", "s"};

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> all = kLeast;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(WorkerOptions, TakesEveryOption) {
  const auto options =
      parse_worker_options(with({"--device", "cuda:1", "--levels", "model,layer", "--batch", "4",
                                 "--threads", "2", "--seed", "9", "--input", "x=1x3:float16",
                                 "--option", "a=b=c", "--replay", "application", "--reuse"}));
  ASSERT_TRUE(options.ok()) << options.error().text;
  EXPECT_EQ(options->device, "cuda:1");
  EXPECT_EQ(options->levels, XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER));
  EXPECT_EQ(options->batch, 4);
  EXPECT_EQ(options->threads, 2u);
  EXPECT_EQ(options->seed, 9u);
  ASSERT_EQ(options->inputs.size(), 1u);
  EXPECT_EQ(options->inputs[0].dtype, static_cast<uint32_t>(XSP_FLOAT16));
  ASSERT_EQ(options->options.size(), 1u);
  EXPECT_EQ(options->options[0].second, "b=c");
  EXPECT_EQ(options->replay, static_cast<uint32_t>(XSP_REPLAY_APPLICATION));
  EXPECT_TRUE(options->reuse);
}

TEST(WorkerOptions, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--batch", "0"},
                                             {"--replay", "often"},
                                             {"--batch", "-1"},
                                             {"--batch", "x"},
                                             {"--batch", "99999999999999999999"},
                                             {"--levels", "layers"},
                                             {"--threads", "-1"},
                                             {"--option", "novalue"},
                                             {"--option", "=v"},
                                             {"--nonsense", "1"},
                                             {"--seed"}}) {
    const auto options = parse_worker_options(with(bad));
    ASSERT_FALSE(options.ok()) << bad[0];
    EXPECT_EQ(options.error().text.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(parse_worker_options({}).ok());
  EXPECT_FALSE(parse_worker_options({"--adapter", "a.so"}).ok());
  EXPECT_TRUE(parse_worker_options({"--adapter", "a.so", "--probe"}).ok());
}

TEST(WorkerOptions, ReadsInputs) {
  const auto shape = parse_input_option("tokens=1x128:int64");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->name, "tokens");
  EXPECT_EQ(shape->dimensions, (std::vector<int64_t>{1, 128}));
  EXPECT_EQ(shape->dtype, static_cast<uint32_t>(XSP_INT64));

  const auto odd = parse_input_option("a=b:0=2");  // the model chooses names: any text
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->name, "a=b:0");

  const auto file = parse_input_option("x=@dir/a=b.npy");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->file, "dir/a=b.npy");

  const auto value = parse_input_option("a==b==-2.5");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->name, "a==b");
  EXPECT_EQ(value->value, "-2.5");

  const auto scalar = parse_input_option("s=scalar");
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->dimensions.empty());

  for (const char* bad :
       {"", "x", "x==", "==1", "x==one", "x==1 ", "=1", "x=", "x=1x", "x=-1x2", "x=1xtwo",
        "x=1:float31", "x=@", "x=99999999999999999999", "x=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}) {
    EXPECT_FALSE(parse_input_option(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace xsp::process
