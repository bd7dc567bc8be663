// Figures: what a load shows, as rows of the table `result`.
#ifndef XSP_DESK_SCENARIO_FIGURES_H_
#define XSP_DESK_SCENARIO_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "desk/experiment/record.h"
#include "desk/scenario/latencies.h"
#include "desk/scenario/scenario.h"

namespace xsp::scenario {

// Returns a row of the run that gives the figures.
experiment::ResultRow row_of(const std::string& metric, const Percentile& figure,
                             const std::string& unit);

// Adds the mean of some times and their percentiles; nothing if there are no times.
void add_times(const std::string& name, const std::vector<double>& times_ns,
               std::vector<experiment::ResultRow>* rows);

// Returns the figures of a load: its rate, its latencies and their parts, its batches, and how busy
// each of `instances` was.
std::vector<experiment::ResultRow> rows_of(const Load& load, int64_t instances);

// Returns the latency that the bound is about, in ns.
double latency_of(const Load& load, const Bound& bound);

// Returns the figures of a generation's tokens.
std::vector<experiment::ResultRow> token_rows_of(const Load& load);

// Returns "1 client" or "2 clients".
std::string clients_text(int64_t clients);

// Returns what a number of clients gives to the curve over clients, of the figures of its tokens.
std::vector<experiment::ResultRow> point_of(int64_t clients,
                                            const std::vector<experiment::ResultRow>& token_rows);

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_FIGURES_H_
