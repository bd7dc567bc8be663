// Shares of a whole as the answers write them, in whole per cent, which add up.
//
// Rounding each share by itself gives bars of 99 or 101 per cent. The rule is that of the largest
// remainder: each share is rounded down, and those that lost most get what is missing, one per cent
// each. The largest share is rounded by itself, because sentences tell it, too. The page has the
// same rule (web/src/data/shares.ts).
#ifndef XSP_DESK_CLI_SHARES_H_
#define XSP_DESK_CLI_SHARES_H_

#include <cstdint>
#include <vector>

namespace xsp::cli {

struct Share {
  double part = 0;      // of the whole, 0 to 1
  int64_t percent = 0;  // as it is written
};

// Returns whole numbers in the proportion of `parts` that add up to `total`. Parts are not
// negative; if all are 0, so are the numbers.
std::vector<int64_t> apportioned(const std::vector<double>& parts, int64_t total);

// Returns the shares of a whole. Their per cents add up to those of their sum, which is 100 if they
// are all of it.
std::vector<Share> shares_of(const std::vector<double>& parts);

// Returns the shares of `parts`, which together are the share `sum`: their per cents add up to its.
// If they are not, because kernels overlap for example, they add up to those of their own sum.
std::vector<Share> shares_within(const Share& sum, const std::vector<double>& parts);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SHARES_H_
