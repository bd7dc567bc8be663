// Completes the evaluation of a program that xsp did not write, once its traces are in the file.
#ifndef XSP_DESK_EXPERIMENT_FACTS_H_
#define XSP_DESK_EXPERIMENT_FACTS_H_

#include <map>
#include <string>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::experiment {

// Sets the runs' columns that follow from the spans: iterations, batch, framework.
Status complete_runs(store::Database& database);
// Writes the frameworks' settings, which the sites of their models carry (plugin.h), as facts of
// the evaluation.
Status write_settings(store::Database& database);
// Writes the facts as rows of `evaluation`.
Status write_facts(store::Database& database, const std::map<std::string, std::string>& facts);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_FACTS_H_
