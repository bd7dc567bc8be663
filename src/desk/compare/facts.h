// Facts: what an evaluation says about its subject, and which subject each fact is about.
#ifndef XSP_DESK_COMPARE_FACTS_H_
#define XSP_DESK_COMPARE_FACTS_H_

#include <map>
#include <string>
#include <string_view>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::compare {

using Facts = std::map<std::string, std::string>;

// Returns the facts of the table `evaluation`, and the threads and batch sizes of its runs.
Result<Facts> facts_of(store::Database& database);

// Returns the subject of a fact: model, framework, dataset, device, machine, state,
// warnings or record.
std::string_view subject_of_fact(std::string_view key);

// Returns the types and shapes of the inputs, in the order of their names, separated by blanks:
// frameworks name inputs in their own ways. An input that tells that all tokens are of one segment
// is left out, because models without it fill it in on their own.
std::string inputs_of(const Facts& facts);

// Returns whether a fact may differ and means nothing for the figures: names of files, moments, and
// the user's tags.
bool is_always_another(const std::string& key);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_FACTS_H_
