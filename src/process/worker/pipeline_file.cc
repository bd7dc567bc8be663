#include "process/worker/pipeline_file.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "process/worker/protocol.h"
#include "shared/base/words.h"

namespace xsp::process {
namespace {

using Fields = std::vector<std::string>;
using pipelines::Kind;

template <typename Number>
bool parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

void append_tensor(const char* what, const pipelines::TensorDescription& tensor,
                   std::string* text) {
  *text += join_fields(
               {what, tensor.place, tensor.name, tensor.from, std::to_string(tensor.batch_axis)}) +
           "\n";
  for (const pipelines::StepDescription& step : tensor.steps) {
    Fields fields = {"step", step.place, step.name};
    for (const auto& [name, value] : step.params) fields.insert(fields.end(), {name, value});
    *text += join_fields(fields) + "\n";
  }
}

bool read_tensor(const Fields& fields, std::vector<pipelines::TensorDescription>* list) {
  pipelines::TensorDescription& tensor = list->emplace_back();
  tensor.place = fields[1];
  tensor.name = fields[2];
  tensor.from = fields[3];
  return parse(fields[4], &tensor.batch_axis);
}

bool read_step(const Fields& fields, pipelines::TensorDescription* tensor) {
  if (tensor == nullptr || fields.size() < 3 || fields.size() % 2 == 0) return false;
  pipelines::StepDescription& step = tensor->steps.emplace_back();
  step.place = fields[1];
  step.name = fields[2];
  for (size_t i = 3; i < fields.size(); i += 2) step.params[fields[i]] = fields[i + 1];
  return true;
}

// Formats a number so that it reads back the same.
std::string number_text(double number, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string values_text(const pipelines::Value& value) {
  const bool is_single = value.type.dtype == XSP_FLOAT32;
  const auto count = static_cast<size_t>(pipelines::element_count(value.type.dimensions));
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += number_text(pipelines::number_at(value, i), is_single ? "%.9g" : "%.17g");
  }
  return text;
}

bool read_ranking(const Fields& fields, OutputAnswer* answer) {
  if (fields.size() % 2 == 1) return false;
  for (size_t i = 4; i < fields.size(); i += 2) {
    pipelines::Ranked& ranked = answer->ranking.emplace_back();
    ranked.score = std::strtod(fields[i + 1].c_str(), nullptr);
    if (!parse(fields[i], &ranked.index)) return false;
  }
  return true;
}

bool read_quads(const Fields& fields, OutputAnswer* answer) {
  if (fields.size() % 9 != 4) return false;
  for (size_t i = 4; i < fields.size(); ++i) {
    const double number = std::strtod(fields[i].c_str(), nullptr);
    ((i - 4) % 9 == 0 ? answer->scores : answer->values).push_back(number);
  }
  return true;
}

bool read_tensor_values(const Fields& fields, OutputAnswer* answer) {
  if (fields.size() != 7) return false;
  answer->dtype = fields[4];
  for (const std::string& text : split(fields[5], ',')) {
    if (!parse(text, &answer->dimensions.emplace_back())) return false;
  }
  for (const std::string& text : split(fields[6], ' ')) {
    answer->values.push_back(std::strtod(text.c_str(), nullptr));
  }
  return true;
}

}  // namespace

std::string description_text(const pipelines::Description& description) {
  std::string text;
  for (const auto& input : description.inputs) append_tensor("input", input, &text);
  for (const auto& output : description.outputs) append_tensor("output", output, &text);
  return text;
}

Result<pipelines::Description> parse_description(std::string_view text) {
  pipelines::Description description;
  pipelines::TensorDescription* last = nullptr;
  for (const std::string& line : split(text, '\n')) {
    const Fields fields = split_fields(line);
    bool is_right = false;
    if (fields.size() == 5 && (fields[0] == "input" || fields[0] == "output")) {
      auto& list = fields[0] == "input" ? description.inputs : description.outputs;
      is_right = read_tensor(fields, &list);
      last = &list.back();
    } else if (fields[0] == "step") {
      is_right = read_step(fields, last);
    }
    if (!is_right) return usage("pipeline: '" + line.substr(0, 80) + "' is not understood");
  }
  return description;
}

std::string answer_line(int64_t item, int64_t output, const pipelines::Value& value) {
  Fields fields = {"answer", std::to_string(item), std::to_string(output)};
  if (value.type.kind == Kind::kRanking || value.type.kind == Kind::kSequence) {
    fields.emplace_back(value.type.kind == Kind::kRanking ? "ranking" : "sequence");
    for (const pipelines::Ranked& ranked : value.ranking) {
      fields.push_back(std::to_string(ranked.index));
      fields.push_back(number_text(ranked.score, "%.17g"));
    }
  } else if (value.type.kind == Kind::kText) {
    fields.emplace_back("text");
    fields.emplace_back(reinterpret_cast<const char*>(value.data.data()), value.data.size());
  } else if (value.type.kind == Kind::kQuads) {
    fields.emplace_back("quads");
    for (size_t i = 0; i < value.scores.size(); ++i) {
      fields.push_back(number_text(value.scores[i], "%.17g"));
      for (const float number : value.as<float>().subspan(i * 8, 8)) {
        fields.push_back(number_text(static_cast<double>(number), "%.9g"));
      }
    }
  } else {
    fields.insert(fields.end(), {"tensor", dtype_name(value.type.dtype),
                                 joined(value.type.dimensions, ","), values_text(value)});
  }
  return join_fields(fields);
}

Result<OutputAnswer> parse_answer(std::string_view line) {
  const Fields fields = split_fields(line);
  const auto wrong = [&] {
    return failed("worker: its answer '" + std::string(line.substr(0, 80)) +
                  "' is not understood: rebuild xsp and xsp-worker together");
  };
  OutputAnswer answer;
  if (fields.size() < 4 || fields[0] != "answer" || !parse(fields[1], &answer.item) ||
      !parse(fields[2], &answer.output)) {
    return wrong();
  }
  if (fields[3] == "ranking" || fields[3] == "sequence") {
    answer.kind = fields[3] == "ranking" ? Kind::kRanking : Kind::kSequence;
    if (!read_ranking(fields, &answer)) return wrong();
  } else if (fields[3] == "quads") {
    answer.kind = Kind::kQuads;
    if (!read_quads(fields, &answer)) return wrong();
  } else if (fields[3] == "text" && fields.size() == 5) {
    answer.kind = Kind::kText;
    answer.text = fields[4];
  } else if (fields[3] != "tensor" || !read_tensor_values(fields, &answer)) {
    return wrong();
  }
  return answer;
}

}  // namespace xsp::process
