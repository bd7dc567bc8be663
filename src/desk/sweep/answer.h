// Answer: what `xsp task -` sends back: a line of JSON, and then the evaluation.
#ifndef XSP_DESK_SWEEP_ANSWER_H_
#define XSP_DESK_SWEEP_ANSWER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "desk/sweep/folder.h"
#include "shared/base/result.h"

namespace xsp::sweep {

class Answer {
 public:
  // The evaluation goes to `output`.
  explicit Answer(const std::filesystem::path& output);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer();

  // Takes the next bytes. Returns false if it is none, or if it cannot be written.
  bool take(std::string_view bytes);
  // Reads how the attempt ended, and what the verb printed, if it was a prediction. Returns false
  // if the answer is not whole.
  bool read(Attempt* attempt, std::string* printed) const;

 private:
  int fd_;
  bool has_header_ = false;
  std::string header_;
  uint64_t written_ = 0;
};

// Sends an answer; `evaluation` is sent if the attempt is done.
Status send_answer(int out, const Attempt& attempt, const std::string& printed,
                   const std::filesystem::path& evaluation);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_ANSWER_H_
