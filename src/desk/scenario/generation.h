// Generation: how long prompts and answers of a language model are, and what its tokens' times
// show.
#ifndef XSP_DESK_SCENARIO_GENERATION_H_
#define XSP_DESK_SCENARIO_GENERATION_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "desk/experiment/record.h"
#include "shared/base/result.h"

namespace xsp::scenario {

// The tokens of a prompt and of its answer.
struct TokenCounts {
  int64_t prompt = 0;
  int64_t output = 0;
};

// Reads a recorded trace: a prompt's and an answer's tokens in each line, separated by a space, a
// tab or a comma. Lines that begin with '#' are left out, and so is a first line without numbers.
// `name` is the file's, for errors.
Result<std::vector<TokenCounts>> parse_token_counts(std::string_view text, const std::string& name);
// Draws the lengths of some requests. A length is a number, or "64..256": equally likely from 64 to
// 256. The same seed gives the same lengths on every machine.
Result<std::vector<TokenCounts>> draw_token_counts(const std::string& prompt,
                                                   const std::string& output, int64_t requests,
                                                   uint64_t seed);

// A request that was answered with tokens.
struct Generated {
  int64_t id = 0;
  TokenCounts counts;
  int64_t cache_bytes = 0;  // of its keys and values, at its end
  int64_t begin_ns = 0;     // of the first run of its model
  std::vector<int64_t> token_ns;
};
// Reads the worker's file of tokens, ordered by request.
Result<std::vector<Generated>> read_tokens(const std::filesystem::path& path);

// Returns the figures: the time to the first token from the arrivals, which are in the order of the
// requests, the time between tokens, tokens per second in all and of both phases, and the caches.
std::vector<experiment::ResultRow> rows_of_tokens(const std::vector<Generated>& requests,
                                                  const std::vector<int64_t>& arrivals_ns,
                                                  double seconds);

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_GENERATION_H_
