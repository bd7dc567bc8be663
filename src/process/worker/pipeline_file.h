// The files that xsp and its worker exchange about pipelines: the steps, and what they answered.
//
// Both have a record in each line, with fields as in the protocol (protocol.h):
//
//   input|output  place, name, from, position of the batch dimension; -1: it has none
//   step          place, name, then each parameter and its value; of the last input or output
//
//   answer        number of the item, number of the output, then `ranking`, and for each class
//                 its number and score; or `sequence` and the same; or `text` and the text; or
//                 `quads`, and for each quadrangle its score, and x and y of its corners; or
//                 `tensor`, its type, its dimensions (comma separated), and its values (separated
//                 by spaces)
#ifndef XSP_PROCESS_WORKER_PIPELINE_FILE_H_
#define XSP_PROCESS_WORKER_PIPELINE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipelines/shared/pipeline.h"
#include "shared/base/result.h"

namespace xsp::process {

std::string description_text(const pipelines::Description& description);
Result<pipelines::Description> parse_description(std::string_view text);

// Holds the answer that the steps of one output made for one item.
struct OutputAnswer {
  int64_t item = 0;
  int64_t output = 0;
  pipelines::Kind kind = pipelines::Kind::kTensor;
  std::vector<pipelines::Ranked> ranking;  // of a ranking or a sequence
  std::string text;
  std::string dtype;                // of a tensor
  std::vector<int64_t> dimensions;  // of a tensor
  std::vector<double> values;       // of a tensor; of each quadrangle, 8
  std::vector<double> scores;       // of the quadrangles
};

// Returns the line of an answer, without its end.
std::string answer_line(int64_t item, int64_t output, const pipelines::Value& value);
Result<OutputAnswer> parse_answer(std::string_view line);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_PIPELINE_FILE_H_
