#include "desk/predict/answers.h"

#include <algorithm>
#include <fstream>
#include <tuple>

namespace xsp::predict {

using pipelines::Kind;
using process::OutputAnswer;

Result<std::vector<OutputAnswer>> read_answers(const std::string& path) {
  std::ifstream file(path);
  std::vector<OutputAnswer> answers;
  for (std::string line; std::getline(file, line);) {
    XSP_TRY(answers.emplace_back(), process::parse_answer(line));
  }
  if (!file.eof()) return failed(path + ": cannot be read to its end");
  std::sort(answers.begin(), answers.end(), [](const OutputAnswer& a, const OutputAnswer& b) {
    return std::tie(a.item, a.output) < std::tie(b.item, b.output);
  });
  return answers;
}

std::string label_of(const Labels& labels, int64_t output, int64_t index) {
  if (output >= 0 && output < static_cast<int64_t>(labels.size())) {
    const std::vector<std::string>& names = labels[static_cast<size_t>(output)];
    if (index >= 0 && index < static_cast<int64_t>(names.size())) {
      return names[static_cast<size_t>(index)];
    }
  }
  return std::to_string(index);
}

std::string text_of(const Labels& labels, const OutputAnswer& answer) {
  if (answer.kind == Kind::kText) return answer.text;
  std::string text;
  for (const pipelines::Ranked& read : answer.ranking) {
    text += read.index == pipelines::kSpace ? " " : label_of(labels, answer.output, read.index);
  }
  return text;
}

metrics::Answer answer_of(const std::vector<OutputAnswer>& answers, const Labels& labels) {
  metrics::Answer result;
  bool has_text = false;
  for (const OutputAnswer& answer : answers) {
    if (answer.kind == Kind::kRanking && result.labels.empty()) {
      for (const pipelines::Ranked& ranked : answer.ranking) {
        result.labels.push_back(label_of(labels, answer.output, ranked.index));
        result.scores.push_back(ranked.score);
      }
    } else if ((answer.kind == Kind::kText || answer.kind == Kind::kSequence) && !has_text) {
      result.text = text_of(labels, answer);
      has_text = true;
    } else if (answer.kind == Kind::kTensor && result.values.empty()) {
      result.values = answer.values;
    }
  }
  return result;
}

}  // namespace xsp::predict
