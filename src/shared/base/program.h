// Runs a program to its end.
#ifndef XSP_SHARED_BASE_PROGRAM_H_
#define XSP_SHARED_BASE_PROGRAM_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp {

// Where the program's standard error goes.
enum class Errors { kOurs, kApart, kWithOutput };

struct Program {
  std::vector<std::string> argv;  // argv[0] is found in PATH
  std::string_view input{};
  Errors errors = Errors::kOurs;
  // It is killed after this time; 0: never.
  std::chrono::seconds patience{0};
};

struct Ended {
  std::optional<int> status;  // nothing: a signal ended it
  bool was_in_time = true;
  // The last 64 MiB of each stream: a queue of 100,000 tasks is some 10 MB.
  std::string output;
  std::string errors;  // Errors::kApart

  bool is_success() const { return was_in_time && status == 0; }
};

// The error is kNotAvailable, without a remedy, if the program cannot be started.
Result<Ended> run_to_end(const Program& program);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_PROGRAM_H_
