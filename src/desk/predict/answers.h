// Answers: what a model's outputs say of each item, with the labels of the classes.
#ifndef XSP_DESK_PREDICT_ANSWERS_H_
#define XSP_DESK_PREDICT_ANSWERS_H_

#include <string>
#include <vector>

#include "metrics/shared/metric.h"
#include "process/worker/pipeline_file.h"
#include "shared/base/result.h"

namespace xsp::predict {

// The labels of each output, in order; none: the output has no labels, and its classes are numbers.
using Labels = std::vector<std::vector<std::string>>;

// Reads the worker's file of answers, ordered by item, then by output.
Result<std::vector<process::OutputAnswer>> read_answers(const std::string& path);

// Returns the label of a class, or its number.
std::string label_of(const Labels& labels, int64_t output, int64_t index);
// Returns the text of an answer that is one, or whose labels are characters.
std::string text_of(const Labels& labels, const process::OutputAnswer& answer);
// Returns what a metric reads: the first ranking, text and tensor among an item's answers.
metrics::Answer answer_of(const std::vector<process::OutputAnswer>& answers, const Labels& labels);

}  // namespace xsp::predict

#endif  // XSP_DESK_PREDICT_ANSWERS_H_
