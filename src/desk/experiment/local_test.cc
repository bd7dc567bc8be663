#include "desk/experiment/local.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "shared/base/scratch.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;

// A helper of a framework that is there if the environment has THERE.
constexpr const char* kHelper = R"py(
# opens: .toy .toy2
# makes: .py toys/
import os, sys
if "THERE" not in os.environ:
    print("toy is not installed: pip install toy")
    sys.exit(4)
if sys.argv[1] == "status":
    print("1.2")
elif sys.argv[1] == "adapter":
    if sys.argv[3] != "/its/library":
        print(os.path.join(sys.argv[2], "toy.so"))
elif sys.argv[2].endswith(":bad"):
    print("net.py: has no function bad")
    sys.exit(1)
else:
    print("model\t/made.toy\ninput\tx=@/x.npy")
)py";

class LocalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchFolder::create();
    ASSERT_TRUE(scratch.ok());
    scratch_ = std::move(scratch).value();
    std::ofstream(folder() / "toy_local.py") << kHelper;
    std::ofstream(folder() / "other.py") << kHelper;
    std::ofstream(folder() / "net.py") << "\n";
    ::setenv("XDG_CACHE_HOME", folder().c_str(), 1);
    ::setenv("THERE", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("THERE");
  }
  fs::path folder() const { return scratch_->path(); }
  std::string net(const std::string& function) const {
    return (folder() / "net.py").string() + ":" + function;
  }

 private:
  std::unique_ptr<ScratchFolder> scratch_;
};

TEST_F(LocalTest, AHelperIsAFileThatSaysWhatItOpensAndMakes) {
  const auto found = local_frameworks(folder());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "toy");
  EXPECT_EQ(found[0].opens, (std::vector<std::string>{".toy", ".toy2"}));
  EXPECT_TRUE(is_local_model(found, net("build")));
  EXPECT_TRUE(is_local_model(found, "toys/car"));
  EXPECT_FALSE(is_local_model(found, "absent.py:build"));
  EXPECT_FALSE(is_local_model(found, net("")));
  EXPECT_FALSE(is_local_model(found, "car.toy"));
}

TEST_F(LocalTest, TheEnvironmentsAdapterIsTakenUnlessAnInstalledOneIsTheSame) {
  const auto found = local_frameworks(folder());
  const auto adapter = local_adapter(found[0], "/another/library");
  ASSERT_TRUE(adapter.ok()) << adapter.error().text;
  EXPECT_EQ(adapter->value(), folder() / "xsp" / "adapters" / "toy.so");
  const auto same = local_adapter(found[0], "/its/library");
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->has_value());
  EXPECT_EQ(*local_status(found[0]), "1.2");
}

TEST_F(LocalTest, AnAbsentFrameworkSaysWhatToDo) {
  ::unsetenv("THERE");
  const auto found = local_frameworks(folder());
  for (const Error& error : {local_adapter(found[0], "").error(), local_status(found[0]).error(),
                             make_local_model(found, net("build"), "").error()}) {
    EXPECT_EQ(error.code, Code::kNotAvailable);
    EXPECT_EQ(error.text, "toy is not installed: pip install toy");
  }
}

TEST_F(LocalTest, AModelIsMadeWithItsInputsOrTheErrorIsTheHelpers) {
  const auto found = local_frameworks(folder());
  const auto made = make_local_model(found, net("build"), "");
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(made->framework, "toy");
  EXPECT_EQ(made->file, "/made.toy");
  EXPECT_EQ(made->inputs, std::vector<std::string>{"x=@/x.npy"});
  const auto bad = make_local_model(found, net("bad"), "");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Code::kFailed);
  EXPECT_EQ(bad.error().text, "net.py: has no function bad");
  EXPECT_EQ(make_local_model(found, net("build"), "onnxruntime").error().code, Code::kNotAvailable);
}

}  // namespace
}  // namespace xsp::experiment
