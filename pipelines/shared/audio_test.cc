#include <gtest/gtest.h>

#include <cmath>

#include "pipelines/shared/testing.h"

namespace xsp::pipelines {
namespace {

std::string little(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string format_chunk(uint64_t code, uint64_t channels, uint64_t rate, uint64_t bits) {
  return "fmt " + little(16, 4) + little(code, 2) + little(channels, 2) + little(rate, 4) +
         little(rate * channels * bits / 8, 4) + little(channels * bits / 8, 2) + little(bits, 2);
}

std::string chunk(const std::string& name, const std::string& content) {
  return name + little(content.size(), 4) + content + (content.size() % 2 == 1 ? "x" : "");
}

std::string wav(const std::string& chunks) { return "RIFF" + little(0, 4) + "WAVE" + chunks; }

Result<Value> decoded(const std::string& file) {
  return run_step("decode_wav", {}, bytes_value(file));
}

std::string fault(const Result<Value>& value) { return value.ok() ? "none" : value.error().text; }

Value audio(int64_t rate, int64_t channels, const std::vector<float>& samples) {
  const auto frames = static_cast<int64_t>(samples.size()) / channels;
  Value value = tensor_value(XSP_FLOAT32, {frames, channels}, samples);
  value.type.kind = Kind::kAudio;
  value.type.rate = rate;
  return value;
}

TEST(DecodeWav, ReadsEachFormat) {
  const std::vector<std::pair<std::string, std::vector<float>>> cases = {
      {wav(format_chunk(1, 1, 8000, 8) + chunk("data", std::string("\x00\x80\xc0", 3))),
       {-1, 0, 0.5}},
      {wav(chunk("LIST", "abc") + format_chunk(1, 2, 8000, 16) +
           chunk("data", little(0x8000, 2) + little(0x4000, 2))),
       {-1, 0.5}},
      {wav(format_chunk(1, 1, 8000, 24) + chunk("data", little(0xc00000, 3))), {-0.5}},
      {wav(format_chunk(1, 1, 8000, 32) + chunk("data", little(0x20000000, 4))), {0.25}},
      {wav(format_chunk(3, 1, 8000, 32) + chunk("data", little(0x3f400000, 4))), {0.75}},
      {wav(format_chunk(3, 1, 8000, 64) + chunk("data", little(0x3fe8000000000000, 8))), {0.75}}};
  for (const auto& [file, samples] : cases) EXPECT_EQ(numbers_of<float>(decoded(file)), samples);
  const auto stereo = decoded(cases[1].first);
  ASSERT_TRUE(stereo.ok());
  EXPECT_EQ(type_text(stereo->type), "audio of float32[1,2], 8000 Hz");
}

TEST(DecodeWav, ReadsWhatIsThereOfAFileThatIsCutOff) {
  const std::string file =
      wav(format_chunk(1, 1, 8000, 16) + "data" + little(1000, 4) + little(0x4000, 2) + "x");
  EXPECT_EQ(numbers_of<float>(decoded(file)), std::vector<float>{0.5});
}

TEST(DecodeWav, SaysWhatIsWrong) {
  const std::string place = "m.yaml:4: inputs[0].steps[0]: decode_wav: ";
  EXPECT_EQ(fault(decoded("OggS")), place + "not a WAV file: convert it to one");
  EXPECT_EQ(fault(decoded(wav(format_chunk(2, 1, 8000, 4)))),
            place + "its format 2 of 4 bits cannot be read: convert it to 16-bit PCM");
  EXPECT_EQ(fault(decoded(wav(format_chunk(1, 0, 8000, 16)))),
            place + "it has 0 channels at 8000 Hz: 1 to 64, at 1 to 768000 Hz, can be read");
  EXPECT_EQ(fault(decoded(wav("fmt " + little(16, 4) + "short"))),
            place + "its format chunk is cut off");
  EXPECT_EQ(fault(decoded(wav(chunk("data", "ab")))),
            place + "its samples come before their format");
  EXPECT_EQ(fault(decoded(wav(format_chunk(1, 1, 8000, 16) + chunk("data", "")))),
            place + "it has no samples");
}

// torchaudio.functional.resample 0.13.1 gives these numbers for float64.
TEST(Resample, IsTorchaudios) {
  const std::vector<float> given = {0.5F,   -0.25F, 0.75F, 1.0F, -1.0F,
                                    0.125F, 0.25F,  -0.5F, 0.0F, 0.625F};
  const std::vector<std::tuple<int64_t, std::string, std::vector<float>>> cases = {
      {48000, "16000", {0.24297207F, 0.27560055F, -0.18393581F, 0.19077872F}},
      {16000,
       "24000",
       {0.49475596F, -0.02487160F, -0.19422484F, 0.75289722F, 1.36190358F, 0.25219009F,
        -0.99166779F, -0.46160607F, 0.48365720F, 0.25765456F, -0.36119959F, -0.48844431F,
        0.00323287F, 0.58425528F, 0.46654281F}},
      {44100, "16000", {0.22127187F, 0.34915448F, -0.21377138F, 0.14988052F}}};
  for (const auto& [from, to, expected] : cases) {
    const auto made =
        numbers_of<float>(run_step("resample", {{"rate", to}}, audio(from, 1, given)));
    ASSERT_EQ(made.size(), expected.size());
    for (size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-6) << from << i;
  }
}

TEST(Resample, TakesTheMeanOfTheChannels) {
  EXPECT_EQ(
      numbers_of<float>(run_step("resample", {{"rate", "8000"}}, audio(8000, 2, {1, 0, 3, 5}))),
      (std::vector<float>{0.5, 4}));
}

TEST(AudioFrames, RepeatTheirContextAndEndInZeros) {
  const Value given = audio(8000, 1, {1, 2, 3, 4, 5});
  const auto frames = run_step("audio_frames", {{"size", "2"}, {"context", "1"}}, given);
  EXPECT_EQ(numbers_of<float>(frames), (std::vector<float>{0, 1, 2, 2, 3, 4, 4, 5, 0}));
  EXPECT_EQ(type_text(frames->type), "windows of float32[3]");
  EXPECT_EQ(frames->type.dimensions[0], 3);
  EXPECT_EQ(numbers_of<float>(run_step("audio_frames", {{"size", "3"}, {"hop", "2"}}, given)),
            (std::vector<float>{1, 2, 3, 3, 4, 5, 5, 0, 0}));
  EXPECT_EQ(refusal(pipeline_of("audio_frames", {{"size", "2"}}, bytes_type())),
            "the request gives bytes, audio_frames wants audio of a known rate: put resample "
            "before it");
}

Type nothing() { return {Kind::kNothing, 0, {}, "", ""}; }

TEST(State, BeginsWithZerosAndNamesItsOutput) {
  const auto state = pipeline_of("state", {{"of", "y"}, {"dimensions", "2,3"}}, nothing());
  ASSERT_TRUE(state.ok()) << state.error().text;
  EXPECT_EQ(state->result().state_of, "y");
  EXPECT_EQ(numbers_of<float>(state->run({}, {})), std::vector<float>(6, 0));
  EXPECT_EQ(refusal(pipeline_of("state", {{"of", "y"}, {"dimensions", "2.5"}}, nothing())),
            "state: dimensions '2.5': not whole numbers from 1: write such as [2, 128]");
  EXPECT_EQ(refusal(pipeline_of("state", {{"dimensions", "2"}}, nothing())),
            "state: parameter 'of' is missing: give it");
}

TEST(Constant, IsItsNumber) {
  const auto made = pipeline_of("constant", {{"value", "16000"}, {"dtype", "int64"}}, nothing());
  ASSERT_TRUE(made.ok()) << made.error().text;
  EXPECT_EQ(type_text(made->result()), "int64[]");
  EXPECT_EQ(numbers_of<int64_t>(made->run({}, {})), std::vector<int64_t>{16000});
  EXPECT_EQ(refusal(pipeline_of("constant", {{"value", "0.5"}, {"dtype", "int64"}}, nothing())),
            "constant: value '0.5': no whole number: write one, or dtype: float32");
}

TEST(Threshold, CountsWhatReachesIt) {
  const auto best = [](const Params& params, const std::vector<float>& numbers) {
    const auto answer =
        run_step("threshold", params,
                 tensor_value(XSP_FLOAT32, {static_cast<int64_t>(numbers.size())}, numbers));
    EXPECT_TRUE(answer.ok());
    return std::pair(answer->ranking[0].index, answer->ranking[0].score);
  };
  EXPECT_EQ(best({{"value", "0.5"}}, {0, 0.5, 0.25}), std::pair(int64_t{1}, 0.5));
  EXPECT_EQ(best({{"value", "0.5"}, {"least", "2"}}, {0, 0.5, 0.25}), std::pair(int64_t{0}, 0.75));
  EXPECT_EQ(best({{"value", "0.75"}}, {0.625, NAN}), std::pair(int64_t{0}, 0.375));
  EXPECT_EQ(best({{"value", "0"}, {"least", "2"}}, {0.5}), std::pair(int64_t{0}, 1.0));
}

}  // namespace
}  // namespace xsp::pipelines
