// Tests xsp predict and xsp evaluate --accuracy with a model whose answers are known: the adapter
// `fake` halves its input, so that the best of eight classes is the largest of a file's bytes.
#include <signal.h>

#include "tests/integration/run_xsp.h"

namespace xsp::integration {
namespace {

class PredictTest : public XspTest {
 protected:
  void SetUp() override {
    XspTest::SetUp();
    write_file("model.fake", "fake:layers=1,us=10");
    write_manifest("cast: {to: float32}", "");
  }
  // `second` is the second step of the input, in line 12.
  void write_manifest(const std::string& second, const std::string& expect) const {
    write_file("bytes.yaml",
               "name: bytes\n"
               "version: 1.0.0\n"
               "task: classification\n"
               "framework: {name: fake}\n"
               "model: {path: model.fake}\n"
               "inputs:\n"
               "  - name: x\n"
               "    dtype: float32\n"
               "    dimensions: [N, 8]\n"
               "    from: bytes\n"
               "    steps:\n"
               "      - byte_window: {begin: 8}\n"
               "      - " +
                   second +
                   "\n"
                   "outputs:\n"
                   "  - name: y\n"
                   "    labels: [zero, one, two, three, four, five, six, seven]\n"
                   "    steps: [top: {count: 2}]\n" +
                   expect);
  }
  // Writes a file whose right class is the position of its 'z'.
  void write_item(const std::string& name, size_t position) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::string text(8, 'a');
    text[position] = 'z';
    write_file(name, text);
  }
  // Writes ten files, of which eight are in the folders of their labels.
  void write_set() const {
    for (size_t i = 0; i < 5; ++i) {
      write_item("set/one/" + std::to_string(i), 1);
      write_item("set/two/" + std::to_string(i), i < 3 ? 2 : 3);
    }
  }
  Finished evaluate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"evaluate", "bytes.yaml", "--accuracy", "-o", "a.xsp"});
    return run(arguments);
  }
};

TEST_F(PredictTest, FilesGetLabelsAndEachStepIsASpan) {
  write_item("a", 3);
  write_item("b", 7);
  const Finished finished =
      run({"predict", "bytes.yaml", "a", "b", "--format", "json", "-o", "p.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << finished.out;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["file"], "a");
  EXPECT_EQ(rows[0]["label"], "three");
  EXPECT_EQ(rows[0]["score"], 61);  // 'z' / 2
  EXPECT_EQ(rows[1]["label"], "zero");
  EXPECT_EQ(rows[2]["label"], "seven");
  // read, byte_window, cast and set_inputs are in the part `pipeline`, top is in the part `output`,
  // and both parts are in the request.
  EXPECT_EQ(scalar("p.xsp",
                   "SELECT string_agg(s.name || '<' || p.name || '<' || r.type, ' ' "
                   "ORDER BY s.start_ns) FROM span s JOIN span p ON p.span_id = s.parent_id "
                   "JOIN span r ON r.span_id = p.parent_id "
                   "WHERE s.type = 'pipeline step' AND s.level = 1 AND r.span_id = "
                   "(SELECT min_by(span_id, start_ns) FROM span WHERE type = 'request')"),
            "read<pipeline<request byte_window<pipeline<request cast<pipeline<request "
            "set_inputs<pipeline<request top<output<request");
  EXPECT_EQ(scalar("p.xsp", "SELECT count(*) FROM span WHERE type = 'pipeline step'"), 10);
}

TEST_F(PredictTest, ABatchGivesTheAnswersOfSingleFiles) {
  std::vector<std::string> arguments = {"predict", "bytes.yaml", "--format", "csv", "--quiet"};
  for (size_t i = 0; i < 7; ++i) {
    arguments.push_back("item" + std::to_string(i));
    write_item(arguments.back(), (3 * i) % 8);
  }
  const Finished one_by_one = run(arguments);
  arguments.insert(arguments.end(), {"--max-batch", "3"});
  const Finished in_batches = run(arguments);
  ASSERT_EQ(one_by_one.status, 0) << one_by_one.err;
  EXPECT_EQ(in_batches.out, one_by_one.out);
}

TEST_F(PredictTest, AnInterruptLeavesTheAnswersThatAreThere) {
  write_file("model.fake", "fake:layers=1,us=200000,wait=sleep");
  std::vector<std::string> arguments = {"predict", "bytes.yaml", "--format", "json"};
  for (size_t i = 0; i < 200; ++i) {
    arguments.push_back("item" + std::to_string(i));
    write_item(arguments.back(), 3);
  }
  RunOptions options;
  options.watch = [](const std::string& err, int pid) {
    if (err.find(" of 200 requests answered") == std::string::npos) return false;
    ::kill(pid, SIGINT);
    return true;
  };
  const Finished finished = run(arguments, options);
  EXPECT_EQ(finished.status, 1) << finished.err;
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  const auto rows = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << finished.out;
  ASSERT_GE(rows.size(), 2u);
  EXPECT_LT(rows.size(), 400u);
  EXPECT_EQ(rows[0]["label"], "three");
  EXPECT_NE(finished.err.find("error: interrupted after " + std::to_string(rows.size() / 2) +
                              " of 200 requests, whose answers are above"),
            std::string::npos)
      << finished.err;
}

TEST_F(PredictTest, TheStepsAreListed) {
  const Finished finished = run({"predict", "--steps", "--format", "csv"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_NE(finished.out.find("\nbyte_window,"), std::string::npos) << finished.out;
}

TEST_F(PredictTest, AccuracyIsMeasuredWrittenAndJudged) {
  write_set();
  for (const auto& [expect, status, verdict] :
       std::vector<std::tuple<std::string, int, std::string>>{
           {"expect: {top1: 0.81, tolerance: 0.01}\n", 0, "met: top1 is 0.8, 0.81 is expected"},
           {"expect: {top1: 0.82, tolerance: 0.01}\n", 3,
            "missed: top1 is 0.8, 0.82 is expected"}}) {
    write_manifest("cast: {to: float32}", expect);
    const Finished finished = evaluate({"--data", "set", "--max-batch", "4"});
    EXPECT_EQ(finished.status, status) << finished.err;
    EXPECT_NE(finished.out.find(verdict), std::string::npos) << finished.out;
  }
  EXPECT_EQ(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'top1'"), 0.8);
  // Wilson's interval of 8 of 10.
  EXPECT_NEAR(scalar("a.xsp", "SELECT low FROM result WHERE metric = 'top1'").get<double>(), 0.4902,
              1e-4);
  EXPECT_NEAR(scalar("a.xsp", "SELECT high FROM result WHERE metric = 'top1'").get<double>(),
              0.9433, 1e-4);
  EXPECT_EQ(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'answered'"), 10);
}

TEST_F(PredictTest, AListOfFilesIsADataSetToo) {
  write_set();
  std::filesystem::create_directories(folder / "lists");
  write_file("lists/set.tsv", "file\tlabel\n../set/one/0\tone\n../set/two/4\ttwo\n");
  const Finished finished = evaluate({"--data", "lists/set.tsv"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'top1'"), 0.5);
}

TEST_F(PredictTest, ADataSetIsKnownByItsFilesAndLabels) {
  write_set();
  write_file("same.tsv", "set/two/4\ttwo\nset/one/0\tone\n");
  std::filesystem::create_directories(folder / "lists");
  write_file("lists/again.tsv", "../set/one/0\tone\n../set/two/4\ttwo\n");
  write_file("relabelled.tsv", "set/one/0\ttwo\nset/two/4\ttwo\n");
  const auto hash_of = [this](const std::string& data, const std::string& name) {
    const Finished finished = evaluate({"--data", data});
    EXPECT_EQ(finished.status, 0) << finished.err;
    const std::string fact = "SELECT value FROM evaluation WHERE key = 'dataset.";
    EXPECT_EQ(scalar("a.xsp", fact + "name'"), name);
    return scalar("a.xsp", fact + "sha256'").get<std::string>();
  };
  const std::string whole = hash_of("set/", "set");
  std::filesystem::copy_file(folder / "a.xsp", folder / "whole.xsp");
  EXPECT_EQ(whole.size(), 64u);
  const std::string two = hash_of("same.tsv", "same.tsv");
  EXPECT_NE(two, whole);
  EXPECT_EQ(hash_of("lists/again.tsv", "again.tsv"), two);
  EXPECT_NE(hash_of("relabelled.tsv", "relabelled.tsv"), two);
  const Finished compared = run({"diff", "whole.xsp", "a.xsp"});
  EXPECT_NE((compared.out + compared.err)
                .find("the data sets differ: A has set (" + whole.substr(0, 12) +
                      "), B relabelled.tsv ("),
            std::string::npos)
      << compared.out << compared.err;
}

TEST_F(PredictTest, RequestsUnderLoadBringFiles) {
  write_set();
  const Finished finished = run({"evaluate", "bytes.yaml", "--scenario", "closed", "--clients", "2",
                                 "--requests", "25", "--data", "set", "-o", "a.xsp"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(scalar("a.xsp",
                   "SELECT count(*) FROM span WHERE run_id = 1 AND name = 'byte_window' AND "
                   "type = 'pipeline step'"),
            25);
  EXPECT_GT(scalar("a.xsp", "SELECT value FROM result WHERE metric = 'output.mean'").get<double>(),
            0);
}

TEST_F(PredictTest, WrongStepsAreRefusedWithTheirLineBeforeTheModelIsOpened) {
  write_item("a", 0);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"cast: {to: int64}",
       "error: bytes.yaml:7: inputs[0]: its steps give int64[8], the model wants float32[8]"},
      {"softmix",
       "error: bytes.yaml:13: inputs[0].steps[1]: 'softmix' is no step: did you mean "
       "'softmax'?"},
      {"byte_window: {begin: 8}",
       "error: bytes.yaml:13: inputs[0].steps[1]: byte_window gives int32[8], byte_window wants "
       "bytes"}};
  for (const auto& [step, error] : cases) {
    write_manifest(step, "");
    const Finished finished = run({"predict", "bytes.yaml", "a"});
    EXPECT_EQ(finished.status, 2);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_EQ(finished.err.find(error), 0u) << finished.err;
  }
}

TEST_F(PredictTest, WrongDataSetsAreOneLineEach) {
  write_set();
  std::filesystem::create_directories(folder / "empty");
  write_item("flat/a", 0);
  write_item("odd/twoo/a", 0);
  write_file("short.csv", "set/one/0\n");
  write_file("absent.csv", "set/one/0,one\nset/one/9,one\n");
  write_file("label.csv", "set/one/0,onne\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"nowhere", "error: nowhere: no such file: "},
      {"empty", "error: empty: no files in folders: "},
      {"flat", "error: flat: no files in folders: "},
      {"odd", "error: odd/twoo: label 'twoo' is none of the model's 8: did you mean 'two'"},
      {"short.csv", "error: short.csv:1: 1 field: "},
      {"absent.csv", "error: absent.csv:2: set/one/9: no such file: "},
      {"label.csv",
       "error: label.csv:1: label 'onne' is none of the model's 8: did you mean 'one'"}};
  for (const auto& [data, error] : cases) {
    const Finished finished = evaluate({"--data", data});
    EXPECT_EQ(finished.status, 1) << data;
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
    EXPECT_EQ(finished.err.find(error), 0u) << finished.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "a.xsp")) << data;
  }
}

TEST_F(PredictTest, AFolderIsNoItem) {
  std::filesystem::create_directories(folder / "items");
  const Finished finished = run({"predict", "bytes.yaml", "items"});
  EXPECT_EQ(finished.status, 1) << finished.out;
  EXPECT_NE(finished.err.find("error: items: is a folder: name files in it\n"), std::string::npos)
      << finished.err;
}

TEST_F(PredictTest, OptionsThatDoNotGoTogetherAreRefused) {
  write_set();
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"evaluate", "bytes.yaml"}, "error: --scenario: missing"},
      {{"evaluate", "bytes.yaml", "--accuracy"}, "error: --data: missing"},
      {{"evaluate", "bytes.yaml", "--accuracy", "--data", "set", "--scenario", "single"},
       "error: --accuracy: it answers each file once"},
      {{"evaluate", "model.fake", "--accuracy", "--data", "set"},
       "error: model.fake: it has no manifest"},
      {{"predict", "bytes.yaml"}, "error: FILE: missing"}};
  for (const auto& [arguments, error] : cases) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 2) << error;
    EXPECT_EQ(finished.err.find(error), 0u) << finished.err;
  }
  write_manifest("cast: {to: float32}", "expect: {topp1: 0.5}\n");
  const Finished unknown = evaluate({"--data", "set"});
  EXPECT_EQ(unknown.err.find("error: bytes.yaml:18: expect.topp1: there is no such metric: did you "
                             "mean 'top1'"),
            0u)
      << unknown.err;
}

}  // namespace
}  // namespace xsp::integration
