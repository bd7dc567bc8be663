// Parts of the answers with which `xsp profile` and `xsp run` end: a line with a bar, and the
// findings.
//
// Thread rule: one thread.
#ifndef XSP_DESK_CLI_ANSWER_PARTS_H_
#define XSP_DESK_CLI_ANSWER_PARTS_H_

#include <optional>
#include <string>

#include "desk/cli/shares.h"
#include "desk/cli/terminal.h"
#include "desk/store/database.h"

namespace xsp::cli {

inline constexpr double kLeastShare = 0.01;  // of the whole; parts with less are shown as one

// Returns the rows of an analysis; nothing if it fails.
std::optional<store::Table> rows_of(store::Database& database, const char* analysis);

std::string time_text(double ns);
// Returns a number of things in a second, with four significant digits and no exponent.
std::string rate_text(double per_s);

// Returns a line such as "  data   73 %  ██████   Photos.augment (train.py:27)", with its line end.
// `beside` wraps to further lines, each of which begins below the first.
std::string share_line(const Terminal& terminal, const std::string& name, const Share& share,
                       const std::string& beside);

// Returns the reasons to doubt the measurement, as a note with its remedy, and the three findings
// with the largest gain, numbered; empty: there are none.
std::string best_findings(store::Database& database, const Terminal& terminal);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_ANSWER_PARTS_H_
