// Runs a program to its end.
#ifndef XSP_DESK_MANIFEST_PROGRAM_H_
#define XSP_DESK_MANIFEST_PROGRAM_H_

#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::manifest {

// Finds argv[0] in PATH. The program reads nothing. If it fails, the error's text is the last line
// that it printed; kNotAvailable: it is not there. A Ctrl-C at the terminal reaches it.
Status run_program(const std::vector<std::string>& argv);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_PROGRAM_H_
