#include "process/load/pipeline_server.h"

#include <gtest/gtest.h>

#include <sstream>

#include "process/worker/pipeline_file.h"
#include "shared/base/scratch.h"

namespace xsp::process {
namespace {

using pipelines::Value;

// Gives twice what it is given.
class Doubling : public OpenModel {
 public:
  Status set(const std::vector<Tensor>& inputs) override {
    given_ = inputs;
    return Ok{};
  }
  Status run(size_t, int64_t) override {
    ++runs_;
    return Ok{};
  }
  Result<std::vector<Tensor>> results() override {
    std::vector<Tensor> results = given_;
    for (Tensor& tensor : results) {
      auto* numbers = reinterpret_cast<int32_t*>(tensor.data.data());
      for (size_t i = 0; i < tensor.data.size() / sizeof *numbers; ++i) numbers[i] *= 2;
    }
    return results;
  }
  std::vector<Tensor> given_;
  int runs_ = 0;
};

pipelines::Description description() {
  pipelines::Description description;
  description.inputs.push_back(
      {"m.yaml:2: inputs[0]",
       "x",
       "bytes",
       0,
       {{"m.yaml:3: inputs[0].steps[0]", "byte_window", {{"begin", "2"}}}}});
  description.outputs.push_back(
      {"m.yaml:4: outputs[0]", "y", "", 0, {{"m.yaml:5: outputs[0].steps[0]", "top", {}}}});
  return description;
}

class PipelineServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create();
    ASSERT_TRUE(made.ok());
    scratch_ = std::move(*made);
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = scratch_->path() / name;
    std::ofstream(path) << text;
    return path;
  }
  std::string read(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  Result<ModelPipelines> pipelines(const pipelines::Description& description) const {
    return read_pipelines(write("pipeline", description_text(description)), inputs_, outputs_);
  }

  std::unique_ptr<ScratchFolder> scratch_;
  std::vector<TensorSpec> inputs_ = {{"x", XSP_INT32, {-1, 2}, {"N", ""}}};
  std::vector<TensorSpec> outputs_ = {{"y", XSP_INT32, {-1, 2}, {"N", ""}}};
};

TEST_F(PipelineServerTest, ABatchIsMadeOfItsItemsAndItsAnswersAreTakenApart) {
  const auto made = pipelines(description());
  ASSERT_TRUE(made.ok()) << made.error().text;
  const std::string items =
      write("items", write("a", "\x01\x02") + "\n" + write("b", "\x09\x05") + "\n");
  const std::string outputs = scratch_->path() / "outputs";
  Doubling model;
  auto server = PipelineServer::make(model, *made, items, outputs);
  ASSERT_TRUE(server.ok()) << server.error().text;
  // The items begin anew.
  const std::vector<LoadRequest> batch = {{0, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 0, 2}};
  ASSERT_TRUE((*server)->prepare(batch).ok());
  ASSERT_EQ(model.given_.size(), 1u);
  EXPECT_EQ(model.given_[0].dimensions, (std::vector<int64_t>{3, 2}));
  ASSERT_TRUE((*server)->run(batch).ok());
  ASSERT_TRUE((*server)->finish(batch).ok());
  ASSERT_EQ((*server)->steps().size(), 3u);
  ASSERT_EQ((*server)->steps()[1].size(), 4u);  // read, byte_window, set_inputs, top
  for (const StepTime& step : (*server)->steps()[1]) EXPECT_LE(step.start_ns, step.end_ns);
  ASSERT_TRUE((*server)->close().ok());
  EXPECT_EQ(model.runs_, 1);
  EXPECT_EQ(read(outputs),
            "answer\t0\t0\tranking\t1\t4\t0\t2\nanswer\t1\t0\tranking\t0\t18\t1\t10\n"
            "answer\t0\t0\tranking\t1\t4\t0\t2\n");
}

TEST_F(PipelineServerTest, AnErrorNamesTheItem) {
  const auto made = pipelines(description());
  ASSERT_TRUE(made.ok()) << made.error().text;
  const std::string items = write("items", "absent\n");
  Doubling model;
  auto server = PipelineServer::make(model, *made, items, scratch_->path() / "outputs");
  ASSERT_TRUE(server.ok());
  const std::vector<LoadRequest> batch(1);
  EXPECT_EQ((*server)->prepare(batch).error().text, "absent: cannot be read: check its name");
}

TEST_F(PipelineServerTest, PipelinesThatDoNotSuitTheModelAreRefused) {
  auto wrong = description();
  wrong.inputs[0].name = "z";
  EXPECT_EQ(pipelines(wrong).error().text,
            "m.yaml:2: inputs[0]: the model has no 'z': it has x int32[N,2]");
  wrong = description();
  wrong.inputs[0].steps[0].params["begin"] = "3";
  EXPECT_NE(pipelines(wrong).error().text.find("its steps give int32[3], the model wants int32[2]"),
            std::string::npos)
      << pipelines(wrong).error().text;
  wrong = description();
  wrong.inputs.clear();
  EXPECT_EQ(pipelines(wrong).error().text,
            "the manifest says nothing of the model's input 'x': describe it under 'inputs'");
}

// Its state counts the samples' sum of all windows so far, and is its answer, too.
class Summing : public OpenModel {
 public:
  Status set(const std::vector<Tensor>& inputs) override {
    given_ = inputs;
    return Ok{};
  }
  Status run(size_t, int64_t request) override {
    requests_.push_back(request);
    return Ok{};
  }
  Result<std::vector<Tensor>> results() override {
    Tensor sum = given_[1];
    auto* total = reinterpret_cast<float*>(sum.data.data());
    const auto* samples = reinterpret_cast<const float*>(given_[0].data.data());
    for (size_t i = 0; i < given_[0].data.size() / sizeof *samples; ++i) *total += samples[i];
    return std::vector<Tensor>{sum, sum};
  }
  std::vector<Tensor> given_;
  std::vector<int64_t> requests_;
};

class WindowsTest : public PipelineServerTest {
 protected:
  void SetUp() override {
    PipelineServerTest::SetUp();
    inputs_ = {{"x", XSP_FLOAT32, {-1, 2}, {"N", ""}}, {"s", XSP_FLOAT32, {1, -1}, {"", "N"}}};
    outputs_ = {{"y", XSP_FLOAT32, {1, -1}, {"", "N"}}, {"t", XSP_FLOAT32, {1, -1}, {"", "N"}}};
    description_.inputs = {{"m.yaml:2: inputs[0]",
                            "x",
                            "audio",
                            0,
                            {{"m.yaml:3", "decode_wav", {}},
                             {"m.yaml:4", "resample", {{"rate", "8000"}}},
                             {"m.yaml:5", "audio_frames", {{"size", "2"}}}}},
                           {"m.yaml:6: inputs[1]",
                            "s",
                            "tensor",
                            1,
                            {{"m.yaml:7", "state", {{"of", "t"}, {"dimensions", "1"}}}}}};
    description_.outputs = {
        {"m.yaml:8: outputs[0]", "y", "", 1, {{"m.yaml:9", "cast", {{"to", "float64"}}}}}};
  }

  pipelines::Description description_;
};

// A WAV file of 8 bits at 8 kHz, whose samples are 0.5, 0.5, 0.25, 0, 0.25.
std::string five_samples() {
  const char bytes[] =
      "RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0"
      "data\x05\0\0\0\xc0\xc0\xa0\x80\xa0";
  return {bytes, sizeof bytes - 1};
}

TEST_F(WindowsTest, RunTheModelInOrderAndPassItsStateOn) {
  const auto made = pipelines(description_);
  ASSERT_TRUE(made.ok()) << made.error().text;
  const std::string outputs = scratch_->path() / "outputs";
  Summing model;
  const std::string items =
      write("items", write("a", five_samples()) + "\n" + write("b", five_samples()) + "\n");
  auto server = PipelineServer::make(model, *made, items, outputs);
  ASSERT_TRUE(server.ok()) << server.error().text;
  for (uint64_t id = 4; id < 6; ++id) {  // the second request's state begins anew
    const std::vector<LoadRequest> batch = {{id, 0, 0, id % 2}};
    ASSERT_TRUE((*server)->prepare(batch).ok());
    ASSERT_TRUE((*server)->run(batch).ok());
    ASSERT_TRUE((*server)->finish(batch).ok());
  }
  // read, 3 steps, state, set_inputs; 3 windows; cast
  EXPECT_EQ((*server)->steps()[0].size(), 10u);
  ASSERT_TRUE((*server)->close().ok());
  EXPECT_EQ(model.requests_, (std::vector<int64_t>{4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(read(outputs),
            "answer\t0\t0\ttensor\tfloat64\t3,1\t1 1.25 1.5\n"
            "answer\t1\t0\ttensor\tfloat64\t3,1\t1 1.25 1.5\n");
  const std::vector<LoadRequest> two = {{0, 0, 0}, {1, 0, 0}};
  EXPECT_EQ((*server)->prepare(two).error().text,
            "a request has windows: answer requests one by one, without --max-batch");
}

TEST_F(WindowsTest, AStateThatTheModelCannotGiveIsRefused) {
  auto wrong = description_;
  wrong.inputs[1].steps[0].params["of"] = "z";
  EXPECT_EQ(pipelines(wrong).error().text.find("m.yaml:6: inputs[1]: the model has no output 'z'"),
            0u)
      << pipelines(wrong).error().text;
  outputs_[1].dimensions = {2, -1};
  EXPECT_EQ(pipelines(description_)
                .error()
                .text.find("m.yaml:6: inputs[1]: the output 't' cannot be its next value"),
            0u)
      << pipelines(description_).error().text;
}

TEST_F(WindowsTest, InputsThatAreMadeUpSuitTheSteps) {
  inputs_[0].dimensions = {-1, -1};
  const auto made = pipelines(description_);
  ASSERT_TRUE(made.ok()) << made.error().text;
  suit_specs(*made, &inputs_);
  EXPECT_EQ(inputs_[0].dimensions, (std::vector<int64_t>{-1, 2}));
  Inputs inputs;
  inputs.tensors = {{"x", XSP_FLOAT32, {1, 2}, std::vector<std::byte>(8, std::byte{1}), "", false},
                    {"s", XSP_FLOAT32, {1, 1}, std::vector<std::byte>(4, std::byte{1}), "", true}};
  inputs.notes = {"input 's': its value is made up, and may steer loops", "another"};
  ASSERT_TRUE(suit_tensors(*made, &inputs).ok());
  EXPECT_EQ(inputs.tensors[1].data, std::vector<std::byte>(4, std::byte{1})) << "the user's own";
  EXPECT_EQ(inputs.notes.size(), 2u);
  inputs.tensors[1].is_given = false;
  ASSERT_TRUE(suit_tensors(*made, &inputs).ok());
  EXPECT_EQ(inputs.tensors[0].data, std::vector<std::byte>(8, std::byte{1}));
  EXPECT_EQ(inputs.tensors[1].data, std::vector<std::byte>(4, std::byte{0}));
  EXPECT_EQ(inputs.notes, std::vector<std::string>{"another"});
}

Value value_of(std::vector<int64_t> dimensions, const std::vector<int32_t>& numbers) {
  Value value = pipelines::zeros(pipelines::tensor_type(XSP_INT32, std::move(dimensions)));
  std::memcpy(value.data.data(), numbers.data(), value.data.size());
  return value;
}

TEST(Batch, IsJoinedAndTakenApartAtAnyAxis) {
  const Value one = value_of({2, 2}, {1, 2, 3, 4}), two = value_of({2, 2}, {5, 6, 7, 8});
  for (const auto& [axis, expected] :
       std::vector<std::pair<int, std::vector<int32_t>>>{{0, {1, 2, 3, 4, 5, 6, 7, 8}},
                                                         {1, {1, 2, 5, 6, 3, 4, 7, 8}},
                                                         {2, {1, 5, 2, 6, 3, 7, 4, 8}}}) {
    const auto joined = join_batch({one, two}, axis);
    ASSERT_TRUE(joined.ok());
    const auto numbers = joined->as<int32_t>();
    EXPECT_EQ(std::vector<int32_t>(numbers.begin(), numbers.end()), expected) << axis;
    const Tensor tensor{"y", XSP_INT32, joined->type.dimensions, joined->data, ""};
    const auto part = part_of_batch(tensor, axis, 2, 1);
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(part->data, two.data) << axis;
    EXPECT_EQ(part->type.dimensions, two.type.dimensions);
  }
  EXPECT_EQ(join_batch({one, two}, -1)->data, one.data);
  EXPECT_FALSE(join_batch({one, value_of({1}, {1})}, 0).ok());
  EXPECT_FALSE(part_of_batch({"y", XSP_INT32, {3}, std::vector<std::byte>(12), ""}, 0, 2, 0).ok());
}

TEST(PipelineFile, ReadsWhatItWrites) {
  auto written = description();
  written.inputs[0].batch_axis = -1;
  written.inputs[0].steps[0].params["text"] = "a\tb\n";
  const std::string text = description_text(written);
  const auto read = parse_description(text);
  ASSERT_TRUE(read.ok()) << read.error().text;
  EXPECT_EQ(description_text(*read), text);
  EXPECT_EQ(read->inputs[0].batch_axis, -1);
  EXPECT_EQ(read->inputs[0].steps[0].params.at("text"), "a\tb\n");
  for (const char* bad : {"step\tp\tn\n", "input\tp\tn\n", "input\tp\tn\tbytes\tx\n", "what\n",
                          "input\tp\tn\tbytes\t0\nstep\tp\tn\todd\n"}) {
    EXPECT_FALSE(parse_description(bad).ok()) << bad;
  }
}

TEST(PipelineFile, AnswersComeBackAsTheyWere) {
  Value ranking;
  ranking.type.kind = pipelines::Kind::kRanking;
  ranking.ranking = {{3, 0.1}, {1, -2}};
  const auto ranked = parse_answer(answer_line(7, 1, ranking));
  ASSERT_TRUE(ranked.ok()) << ranked.error().text;
  EXPECT_EQ(ranked->item, 7);
  EXPECT_EQ(ranked->output, 1);
  ASSERT_EQ(ranked->ranking.size(), 2u);
  EXPECT_EQ(ranked->ranking[0].index, 3);
  EXPECT_EQ(ranked->ranking[0].score, 0.1);
  ranking.type.kind = pipelines::Kind::kSequence;
  const auto sequence = parse_answer(answer_line(7, 1, ranking));
  ASSERT_TRUE(sequence.ok()) << sequence.error().text;
  EXPECT_EQ(sequence->kind, pipelines::Kind::kSequence);
  EXPECT_EQ(sequence->ranking.size(), 2u);
  Value quads = pipelines::zeros({pipelines::Kind::kQuads, XSP_FLOAT32, {1, 8}, "", ""});
  quads.as<float>()[7] = 0.5f;
  quads.scores = {0.25};
  const auto corners = parse_answer(answer_line(0, 0, quads));
  ASSERT_TRUE(corners.ok()) << corners.error().text;
  EXPECT_EQ(corners->scores, (std::vector<double>{0.25}));
  EXPECT_EQ(corners->values, (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0.5}));
  const auto tensor = parse_answer(answer_line(0, 0, value_of({2, 1}, {-5, 6})));
  ASSERT_TRUE(tensor.ok()) << tensor.error().text;
  EXPECT_EQ(tensor->dtype, "int32");
  EXPECT_EQ(tensor->dimensions, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(tensor->values, (std::vector<double>{-5, 6}));
  for (const char* bad : {"answer\t0\t0", "answer\tx\t0\ttext\tt", "answer\t0\t0\tranking\t1",
                          "answer\t0\t0\tranking\tx\t1", "answer\t0\t0\tquads\t1\t2",
                          "answer\t0\t0\ttensor\tint32\t1"}) {
    EXPECT_FALSE(parse_answer(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace xsp::process
