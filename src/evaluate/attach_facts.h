// What is known of an evaluation of a program that xsp did not write, once its traces are in it.
#ifndef XSP_EVALUATE_ATTACH_FACTS_H_
#define XSP_EVALUATE_ATTACH_FACTS_H_

#include <map>
#include <string>

#include "base/result.h"
#include "store/database.h"

namespace xsp::evaluate {

// What the spans tell of their runs: iterations, batch, framework.
Status complete_runs(store::Database& database);
// How the frameworks were set, which the sites of their models tell (plugin.h): facts of the
// evaluation.
Status write_settings(store::Database& database);
// Rows of `evaluation`.
Status write_facts(store::Database& database, const std::map<std::string, std::string>& facts);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_FACTS_H_
