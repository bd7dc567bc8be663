// Tests that no verb destroys a file that it reads, or that xsp did not write.
#include <fstream>
#include <sstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;

class ReplacedTest : public XspTest {
 protected:
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder / name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  Finished profile(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"profile", model, "--max-time", "0.3", "--no-peaks"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

constexpr const char* kModel = "fake:layers=1,us=100";

TEST_F(ReplacedTest, AModelIsNeverReplaced) {
  fs::copy_file(places::source("tests/data/onnx/tiny.onnx"), folder / "self.onnx");
  const std::string before = text_of("self.onnx");
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"-o", "self.onnx"}, {"-o", "self.onnx", "--force"}, {"-o", "./self.onnx"}}) {
    const Finished finished = profile("self.onnx", more);
    EXPECT_EQ(finished.status, 2);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find("is an input"), std::string::npos) << finished.err;
    EXPECT_EQ(text_of("self.onnx"), before);
  }
}

TEST_F(ReplacedTest, AForeignFileIsReplacedOnRequestAlone) {
  write_file("notes.txt", "twelve bytes");
  const Finished refused = profile(kModel, {"-o", "notes.txt"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(error_lines(refused), 1) << refused.err;
  EXPECT_NE(refused.err.find("xsp did not write it"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("opening the model"), std::string::npos) << "it was measured before";
  EXPECT_EQ(text_of("notes.txt"), "twelve bytes");
  const Finished forced = profile(kModel, {"-o", "notes.txt", "--force"});
  ASSERT_EQ(forced.status, 0) << forced.err;
  EXPECT_NE(
      forced.err.find("wrote notes.txt in place of a file of 12 bytes that xsp did not write"),
      std::string::npos)
      << forced.err;
  EXPECT_GT(scalar("notes.txt", "SELECT count(*) FROM run"), 0);
}

TEST_F(ReplacedTest, AnEarlierEvaluationIsReplacedAndNamed) {
  ASSERT_EQ(profile(kModel, {"-o", "out.xsp"}).status, 0);
  const Finished again = profile(kModel, {"-o", "out.xsp"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("wrote out.xsp in place of an evaluation of fake, 20"),
            std::string::npos)
      << again.err;
}

TEST_F(ReplacedTest, AReportReplacesPagesAlone) {
  ASSERT_EQ(profile(kModel, {"-o", "out.xsp"}).status, 0);
  write_file("index.html", "<!doctype html><title>my own</title>");
  const Finished refused = run({"report", "out.xsp", "-o", "index.html"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("xsp did not write it"), std::string::npos) << refused.err;
  const Finished input = run({"report", "out.xsp", "-o", "out.xsp"});
  EXPECT_EQ(input.status, 2);
  ASSERT_EQ(run({"report", "out.xsp"}).status, 0);
  const Finished again = run({"report", "out.xsp"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find(" in place of an earlier page"), std::string::npos) << again.err;
}

TEST_F(ReplacedTest, FoldersAndDevicesAreRefused) {
  fs::create_directory(folder / "there");
  EXPECT_EQ(profile(kModel, {"-o", "there", "--force"}).status, 1);
  EXPECT_TRUE(fs::is_directory(folder / "there"));
  EXPECT_EQ(profile(kModel, {"-o", "/dev/null", "--force"}).status, 1);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

class ReplacedRunTest : public WatchedTest {};

TEST_F(ReplacedRunTest, ACommandsFilesAreNeverReplaced) {
  write_file("program.sh", "echo program runs\n");
  const Finished refused = run({"run", "-o", "program.sh", "--", "sh", "program.sh"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.out, "") << "the command ran";
  EXPECT_NE(refused.err.find("is an input"), std::string::npos) << refused.err;
  ASSERT_EQ(run({"run", "--", "sh", "program.sh"}).status, 0);
  const Finished again = run({"run", "--", "sh", "program.sh"});
  ASSERT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("wrote program.xsp in place of an evaluation of program, 20"),
            std::string::npos)
      << again.err;
}

}  // namespace
}  // namespace xsp::integration
