// Runs a program of an engine to its end.
#ifndef XSP_EXECUTORS_SHARED_PROGRAM_H_
#define XSP_EXECUTORS_SHARED_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::executors {

// Finds argv[0] in PATH, and gives it `input`. Returns what it printed on its standard output. If
// it fails, the error has what it printed on its standard error, in one line. kNotAvailable: it is
// not there. Gives up, and ends it, after two minutes: an engine that does not answer is no reason
// to hang.
Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input = {});

}  // namespace xsp::executors

#endif  // XSP_EXECUTORS_SHARED_PROGRAM_H_
