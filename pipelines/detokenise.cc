// The text of which tokens are the numbers, by a model of SentencePiece: the inverse of `tokens`.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/sentence_pieces.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kTokenMax = 1 << 24;

class Detokenise : public Step {
 public:
  explicit Detokenise(Parameters& parameters)
      : processor_(read_sentence_pieces(parameters)),
        end_(parameters.integer("end", -1, kTokenMax, -1)) {}

  Result<Type> accept(const Type& given) override {
    const bool is_integer = given.dtype == XSP_INT64 || given.dtype == XSP_INT32;
    if (given.kind != Kind::kTensor || !is_integer || given.dimensions.size() != 1) {
      return usage("int64[tokens] or int32[tokens]: the numbers of the tokens");
    }
    return Type{Kind::kText, 0, {}, "", ""};
  }

  Result<Value> run(Value value) override {
    std::vector<int> pieces;
    const auto count = static_cast<size_t>(value.type.dimensions[0]);
    for (size_t i = 0; i < count; ++i) {
      const double token = number_at(value, i);
      if (end_ >= 0 && token == static_cast<double>(end_)) break;
      if (token < 0 || token >= processor_->GetPieceSize()) {
        return failed("token " + std::to_string(static_cast<int64_t>(token)) +
                      ": the tokeniser has numbers from 0 to " +
                      std::to_string(processor_->GetPieceSize() - 1));
      }
      pieces.push_back(static_cast<int>(token));
    }
    std::string text;
    if (const auto status = processor_->Decode(pieces, &text); !status.ok()) {
      return failed(std::string("the tokeniser fails: ") + status.message());
    }
    Value result;
    result.type = Type{Kind::kText, 0, {}, "", ""};
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    result.data.assign(data, data + text.size());
    return result;
  }

 private:
  const std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  const int64_t end_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Detokenise>(parameters);
}

}  // namespace

StepKind detokenise_step() {
  return {"detokenise", "The text of tokens, by a model of SentencePiece.",
          "model: its file; end: the token with which the text ends", make, "model"};
}

}  // namespace xsp::pipelines
