// Numbers: what the command line says about words that are no numbers, or not those that it takes.
#ifndef XSP_DESK_CLI_NUMBERS_H_
#define XSP_DESK_CLI_NUMBERS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace xsp::cli {

// Returns the check of an option that takes a whole number above 0.
CLI::Validator whole_above_zero();

// Returns an error of CLI11 with a plain reason where a number is at fault: "--top: 'abc' is not a
// whole number". Returns any other error unchanged.
std::string plain_number_error(const std::string& text);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_NUMBERS_H_
