// The numbers of a text's tokens, by a model of SentencePiece (BPE or unigram; T. Kudo and
// J. Richardson, EMNLP 2018), which many language models were trained with.
//
// Exporters name the inputs of such models input_ids and attention_mask: the second one takes the
// same step with `give: mask`, which has ones where there are tokens and zeros in the padding.
#include <algorithm>

#include "pipelines/shared/sentence_pieces.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kTokenMax = 1 << 24;
constexpr int64_t kLengthMax = 1 << 20;

class Tokens : public Step {
 public:
  explicit Tokens(Parameters& parameters)
      : processor_(read_sentence_pieces(parameters)),
        length_(parameters.integer("length", 0, kLengthMax, 0)),
        begin_(parameters.integer("begin", -1, kTokenMax, -1)),
        end_(parameters.integer("end", -1, kTokenMax, -1)),
        padding_(parameters.integer("padding", 0, kTokenMax, 0)),
        gives_mask_(parameters.word("give", {"ids", "mask"}, "ids") == "mask"),
        dtype_(parameters.word("dtype", {"int64", "int32"}, "int64") == "int64" ? XSP_INT64
                                                                                : XSP_INT32) {
    if (length_ > 0 && length_ < added()) {
      parameters.refuse("length", "too short for begin and end: write a larger one");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kText) return usage("a text: make it the first step, and from: text");
    return tensor_type(dtype_, {length_ > 0 ? length_ : kUnknown});
  }

  Result<Value> run(Value value) override {
    const std::string_view text(reinterpret_cast<const char*>(value.data.data()),
                                value.data.size());
    std::vector<int> pieces;
    if (const auto status = processor_->Encode(text, &pieces); !status.ok()) {
      return failed(std::string("the tokeniser fails: ") + status.message());
    }
    return dtype_ == XSP_INT64 ? numbers<int64_t>(pieces) : numbers<int32_t>(pieces);
  }

 private:
  int64_t added() const { return (begin_ >= 0 ? 1 : 0) + (end_ >= 0 ? 1 : 0); }

  // A text that is too long loses its last tokens, but not the one that ends it.
  template <typename Number>
  Value numbers(const std::vector<int>& pieces) const {
    auto kept = static_cast<int64_t>(pieces.size());
    if (length_ > 0) kept = std::min(kept, length_ - added());
    const int64_t length = length_ > 0 ? length_ : kept + added();
    Value result = zeros(tensor_type(dtype_, {length}));
    const auto all = result.as<Number>();
    if (gives_mask_) {
      std::fill_n(all.begin(), kept + added(), Number{1});
      return result;
    }
    std::fill(all.begin(), all.end(), static_cast<Number>(padding_));
    auto next = all.begin();
    if (begin_ >= 0) *next++ = static_cast<Number>(begin_);
    next = std::copy_n(pieces.begin(), kept, next);
    if (end_ >= 0) *next = static_cast<Number>(end_);
    return result;
  }

  const std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  const int64_t length_, begin_, end_, padding_;
  const bool gives_mask_;
  const uint32_t dtype_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Tokens>(parameters); }

}  // namespace

StepKind tokens_step() {
  return {"tokens", "The numbers of a text's tokens, by a model of SentencePiece.",
          "model: its file; length: of the result, else as many as there are; begin, end: tokens "
          "to add; padding: the token for what is missing; give: ids or mask; dtype: int64 or "
          "int32",
          make, "model"};
}

}  // namespace xsp::pipelines
