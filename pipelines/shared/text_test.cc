// Tests the steps for texts and tables. The tokens are those of PyPI's sentencepiece
// (tests/data/tokens/make_models.py prints them).
#include <gtest/gtest.h>

#include "pipelines/shared/testing.h"
#include "tests/places.h"

namespace xsp::pipelines {
namespace {

std::string model_of(const std::string& kind) {
  return places::source("tests/data/tokens/" + kind + ".model");
}

Value text_value(std::string_view text) {
  Value value = bytes_value(text);
  value.type = Type{Kind::kText, 0, {}, "", ""};
  return value;
}

Result<Value> tokens_of(Params params, std::string_view text, const std::string& kind = "bpe") {
  params["model"] = model_of(kind);
  return run_step("tokens", params, text_value(text));
}

using Ids = std::vector<int64_t>;

class Tokens : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_built("tokens")) GTEST_SKIP() << "tokens is not built here: it needs SentencePiece";
  }
};

TEST_F(Tokens, AreThoseOfTheLibrarysPython) {
  EXPECT_EQ(numbers_of<int64_t>(tokens_of({}, "the queue answers")), (Ids{11, 21, 33}));
  EXPECT_EQ(numbers_of<int64_t>(tokens_of({}, "  The  model\n")), (Ids{41, 0, 4, 32, 0}));
  EXPECT_EQ(numbers_of<int64_t>(tokens_of({},
                                          "Gr\xC3\xBC\xC3\x9F"
                                          "e")),
            (Ids{41, 0, 47, 59, 40}));
  EXPECT_EQ(numbers_of<int64_t>(tokens_of({}, "")), Ids{});
  EXPECT_EQ(numbers_of<int64_t>(tokens_of({}, "\xE7\x8C\xAB")), (Ids{41, 0}));
}

TEST_F(Tokens, HaveTheLengthThatIsAskedFor) {
  const Params params = {{"length", "6"}, {"begin", "1"}, {"end", "2"}, {"padding", "9"}};
  EXPECT_EQ(numbers_of<int64_t>(tokens_of(params, "the queue")), (Ids{1, 11, 21, 2, 9, 9}));
  // A text that is too long loses its last tokens, and keeps the one that ends it.
  EXPECT_EQ(numbers_of<int64_t>(tokens_of(params, "the queue answers answers answers")),
            (Ids{1, 11, 21, 33, 33, 2}));
  Params mask = params;
  mask["give"] = "mask";
  mask["dtype"] = "int32";
  EXPECT_EQ(numbers_of<int32_t>(tokens_of(mask, "the queue")),
            (std::vector<int32_t>{1, 1, 1, 1, 0, 0}));
}

TEST_F(Tokens, FaultsSayWhatWouldBeRight) {
  const Type text = text_value("").type;
  EXPECT_EQ(refusal(pipeline_of("tokens", {{"model", model_of("bpe")}}, bytes_type())),
            "the request gives bytes, tokens wants a text: make it the first step, and from: text");
  EXPECT_EQ(refusal(pipeline_of("tokens", {{"model", "absent.model"}}, text)),
            "tokens: model 'absent.model': no such file: its path is relative to the manifest's "
            "folder");
  const std::string other = places::source("tests/data/tokens/make_models.py");
  EXPECT_EQ(refusal(pipeline_of("tokens", {{"model", other}}, text)),
            "tokens: model '" + other +
                "': not a model of SentencePiece: give its file, such as spiece.model");
  EXPECT_EQ(refusal(pipeline_of(
                "tokens",
                {{"model", model_of("bpe")}, {"length", "1"}, {"begin", "1"}, {"end", "2"}}, text)),
            "tokens: length '1': too short for begin and end: write a larger one");
}

TEST_F(Tokens, AreMadeTextAgain) {
  for (const std::string kind : {"bpe", "unigram"}) {
    for (const std::string text : {"the queue answers", "the longest request is lost"}) {
      auto tokens = tokens_of({{"end", "2"}, {"length", "40"}}, text, kind);
      ASSERT_TRUE(tokens.ok());
      const auto back =
          run_step("detokenise", {{"model", model_of(kind)}, {"end", "2"}}, std::move(*tokens));
      ASSERT_TRUE(back.ok()) << back.error().text;
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(back->data.data()), back->data.size()),
                text);
    }
  }
  const Value foreign = tensor_value<int64_t>(XSP_INT64, {2}, {11, 60});
  const auto refused = run_step("detokenise", {{"model", model_of("bpe")}}, foreign);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("token 60: the tokeniser has numbers from 0 to 59"),
            std::string::npos)
      << refused.error().text;
}

TEST(Columns, AreNumbersInTheOrderOfTheNames) {
  const Params params = {{"names", "width,kind=round|square,age"}, {"missing", "-1"}};
  const auto row = [&](const char* text) {
    return numbers_of<float>(run_step("columns", params, bytes_value(text)));
  };
  using Row = std::vector<float>;
  EXPECT_EQ(row("age,width,kind\n7,2.5,square\n"), (Row{2.5F, 0, 1, 7}));
  EXPECT_EQ(row("\xEF\xBB\xBF"
                "age , \"width\",other,kind\r\n7,\"2.5\",\"a, \"\"b\"\"\n\",round\r\n\r\n"),
            (Row{2.5F, 1, 0, 7}));
  EXPECT_EQ(row("width,kind,age\n,,\n"), (Row{-1, 0, 0, -1}));
  EXPECT_EQ(numbers_of<float>(run_step("columns", {{"names", "b"}, {"separator", "semicolon"}},
                                       bytes_value("a;b\n1;2e3"))),
            Row{2000});
}

TEST(Columns, FaultsNameTheColumn) {
  const auto fault = [](const Params& params, const char* text) {
    const auto result = run_step("columns", params, bytes_value(text));
    return result.ok() ? "no error"
                       : result.error().text.substr(result.error().text.rfind("columns: ") + 9);
  };
  const Params params = {{"names", "width, kind=round|square"}};
  EXPECT_EQ(fault(params, "width\n1\n2\n"),
            "it has 3 lines: a request gives a line of names and a line of values");
  EXPECT_EQ(fault(params, ""),
            "it has 0 lines: a request gives a line of names and a line of values");
  EXPECT_EQ(fault(params, "width,kind\n1\n"),
            "it has 2 names and 1 values: give a value for each name");
  EXPECT_EQ(fault(params, "widthh,kind\n1,round\n"),
            "it has no column 'width': did you mean 'widthh'?");
  EXPECT_EQ(fault(params, "width,kind\nwide,round\n"), "column 'width': 'wide' is not a number");
  EXPECT_EQ(fault(params, "width,kind\ninf,round\n"), "column 'width': 'inf' is not a number");
  EXPECT_EQ(fault(params, "width,kind\n,round\n"),
            "column 'width': '' is not a number: say with 'missing' what stands for it");
  EXPECT_EQ(fault(params, "width,kind\n1,oval\n"),
            "column 'kind': 'oval' is none of round, square");
  EXPECT_EQ(fault(params, "width,kind\n1,\"round\n"),
            "a quoted field does not end: close its quotation mark");
  EXPECT_EQ(refusal(pipeline_of("columns", {{"names", "a, =b"}}, bytes_type())),
            "columns: names 'a, =b': a name is empty: write each column's");
}

}  // namespace
}  // namespace xsp::pipelines
