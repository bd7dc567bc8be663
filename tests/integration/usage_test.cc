// Tests that a mistake in the command line is one short line that says what would be right.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

bool has_children(int pid) {
  const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
  std::error_code error;  // the process may end meanwhile
  for (const auto& thread : std::filesystem::directory_iterator(threads, error)) {
    int child = 0;
    if (std::ifstream(thread.path() / "children") >> child) return true;
  }
  return false;
}

class UsageTest : public XspTest {};

TEST_F(UsageTest, AMistakeIsShortAndSaysWhatWouldBeRight) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"profile", "fake:layers=1", "--inptu", "x=3"},
       "option '--inptu': unknown: did you mean '--input'?"},
      {{"profile", "fake:layers=1", "--max-time", "0"}, "--max-time: Value 0 is too small"},
      {{"profile", "bert-base"}, "did you mean 'bert_base'"},
      {{"report", "a.xsp", "--outptu", "b"}, "did you mean '--output'?"}};
  for (const auto& [words, said] : mistakes) {
    const Finished finished = run(words);
    EXPECT_NE(finished.status, 0);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_NE(finished.err.find(said), std::string::npos) << finished.err;
    EXPECT_LT(finished.err.size(), 200u) << finished.err;
  }
}

// A framework that is not there is advised for the files that it opens, and for no others.
TEST_F(UsageTest, AFileThatNothingOpensNamesTheFrameworkThatWould) {
  write_file("net.gguf", "x");
  write_file("net.xyz", "x");
  RunOptions options;
  options.environment = {{"XDG_CACHE_HOME", folder / "cache"}, {"VIRTUAL_ENV", ""}};
  const Finished known = run({"profile", "net.gguf"}, options);
  EXPECT_EQ(known.status, 4);
  EXPECT_EQ(known.err.rfind("error: net.gguf: no framework here opens files ending in '.gguf': "
                            "llama.cpp: ",
                            0),
            0u)
      << known.err;
  EXPECT_NE(known.err.find("xsp doctor --install ggml\n"), std::string::npos) << known.err;
  EXPECT_EQ(run({"profile", "net.xyz"}, options).err,
            "error: net.xyz: no framework here opens files ending in '.xyz': name one with "
            "--framework, or see 'xsp doctor'\n");
  write_file("net.py", "x");
  write_file("net.safetensors", "x");
  EXPECT_NE(run({"profile", "net.py"}, options).err.find("net.py:FUNCTION, or watch it: xsp run"),
            std::string::npos);
  EXPECT_NE(run({"profile", "net.safetensors"}, options).err.find("profile FILE.py:FUNCTION\n"),
            std::string::npos);
}

// Every verb that opens a model, also where the folder's files have the ending of a model.
TEST_F(UsageTest, AFolderIsNoModel) {
  std::filesystem::create_directory(folder / "bare");
  std::filesystem::create_directory(folder / "nets");
  write_file("nets/net.onnx", "x");
  const std::vector<std::vector<std::string>> commands = {
      {"profile", "bare"},
      {"evaluate", "bare", "--scenario", "single"},
      {"diff", "--run", "bare", "bare"}};
  for (const std::vector<std::string>& words : commands) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.status, 1) << words[0];
    EXPECT_EQ(finished.err, "error: bare: is a folder without files: name a model's file\n");
  }
  const Finished finished = run({"profile", "nets", "--max-time", "1"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("nets: it is a folder: name a file in it"), std::string::npos)
      << finished.err;
}

// A reader of the messages that has gone ends no measurement.
TEST_F(UsageTest, AClosedPipeEndsNoMeasurement) {
  const std::string xsp = places::bin("xsp");
  RunOptions shell;
  shell.program = "/bin/bash";
  const auto after_one_line = [&](const std::string& command) {
    return run({"-c", "set -o pipefail; '" + xsp + "' " + command + " 2>&1 | head -n 1"}, shell);
  };
  const Finished profiled =
      after_one_line("profile fake:layers=2 --max-time 2 --no-peaks -o p.xsp");
  EXPECT_EQ(profiled.status, 0) << profiled.out;
  EXPECT_EQ(scalar("p.xsp", "SELECT count(*) FROM run WHERE status = 'ok'"), 2);
  EXPECT_EQ(files(), (std::vector<std::string>{"p.xsp", "tmp"}));
}

TEST_F(UsageTest, AWordThatIsNoNumberAndAParameterBelowItsLeastAreRefused) {
  ASSERT_EQ(
      run({"profile", "fake:layers=1", "--max-time", "1", "--no-peaks", "-o", "a.xsp"}).status, 0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"findings", "a.xsp", "--batch", "x"}, "--batch: 'x' is not a whole number"},
      {{"findings", "a.xsp", "--batch", "1.5"}, "--batch: '1.5' is not a whole number"},
      {{"analyze", "hotspots", "a.xsp", "--top", "abc"}, "--top: 'abc' is not a whole number"},
      {{"analyze", "cost", "a.xsp", "--param", "price_per_hour=-3"}, "'-3' is below 0: "},
      {{"analyze", "cost", "a.xsp", "--param", "max_latency_ms=0"}, "'0' is not above 0: "},
      {{"analyze", "model_information", "a.xsp", "--param", "max_latency_ms=-5"},
       "'-5' is not above 0: "},
      {{"analyze", "model_information", "a.xsp", "--param", "max_latency_ms=nan"},
       "'nan' is not a number: "}};
  for (const auto& [words, said] : mistakes) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.status, 2) << finished.out;
    EXPECT_NE(finished.err.find(said), std::string::npos) << finished.err;
  }
}

TEST_F(UsageTest, ARefusalOfTheFrameworkIsSaidOnce) {
  const std::vector<std::vector<std::string>> refused = {{"--option", "foo=1"},
                                                         {"--input", "x=@nofile.npy"}};
  for (const std::vector<std::string>& words : refused) {
    std::vector<std::string> all = {"profile", "fake:layers=1", "--max-time", "1", "--no-peaks"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished finished = run(all);
    EXPECT_EQ(finished.status, 1) << finished.err;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_EQ(finished.err.find("not measured"), std::string::npos) << finished.err;
    EXPECT_EQ(files(), std::vector<std::string>{"tmp"});
  }
}

// A Ctrl-C while frameworks are asked is no failure of theirs.
TEST_F(UsageTest, CtrlCAtOnceSaysThatItWasInterrupted) {
  std::filesystem::copy_file(places::source("tests/data/onnx/tiny.onnx"), folder / "net.onnx");
  RunOptions options;
  options.watch = [](const std::string&, int pid) {
    // It has processes of its own while it asks: before, a signal simply ends it.
    for (int i = 0; i < 10'000 && !has_children(pid); ++i) ::usleep(1000);
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished = run({"profile", "net.onnx", "--no-peaks"}, options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(finished.err.find("did not answer"), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("interrupted"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace xsp::integration
