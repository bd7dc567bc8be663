// Sides: the calls of a model and the step of a program, as one evaluation tells them for the table
// `model` of a comparison.
#ifndef XSP_DESK_COMPARE_SIDES_H_
#define XSP_DESK_COMPARE_SIDES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "desk/statistics/typical.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::compare {

// One evaluation at one batch size: its doubts, and its numbers or the reason why it has none.
struct Doubt {
  std::string kind;  // kind in the view level_doubt
  std::string text;
};
struct Step {
  std::string kind;  // the sign of a step: mark, optimizer, range, model, launch
  std::string part;  // first, warm-up, steady
  double inferences = 0;
  int64_t processes = 1;
};
struct Measured {
  statistics::Estimate latency_ns;
  std::optional<Step> step;  // the program's step was measured, and not the model's calls
  std::optional<double> median_ns, p99_ns, inputs;
  bool has_blocks = false;  // whether it was measured in blocks
  bool blocks_are_processes = false;
  bool on_device = false;            // a device does the work, which the host launches
  std::optional<double> host_share;  // part of the latency in which the device waits for the host
  std::vector<Doubt> doubts;
};
struct Unmeasured {
  std::string state;
  std::string reason;
};
// One evaluation, by batch size.
struct Model {
  std::map<int64_t, Measured> by_batch;
  std::map<int64_t, Measured> steps;  // the program's step, which choose_unit() may prefer
  std::set<int64_t> hidden;           // the batch sizes whose calls do not show the model's time
  std::map<int64_t, Unmeasured> others;
  std::optional<Unmeasured> at_own_batch;  // a model that failed before its batch size was known
  std::string why;                         // why it was not measured at all
  bool is_batch_known = true;              // false: by_batch has a key that is no batch size
  std::string experiment;                  // id of an experiment with several files; empty: none
  std::optional<double> width_pct;         // wanted width of the ratio
  double spread = 0;                       // allowance for the spread, if there is one process
};

// Reads one evaluation. Every batch size has the calls of its model, until choose_unit() ran.
Result<Model> read_model(store::Database& database);

// Chooses what is compared at a batch size: the step of each program, if every evaluation that was
// measured there has one. Else the time of the model: that of its calls, or the step of a program
// whose calls do not show it. Appends to `notes` the differences that a reader must know.
void choose_unit(int64_t batch, std::vector<Model>* models, std::vector<std::string>* notes);

// Reads on_device and host_share at one batch size. A share that was not measured stays empty.
Status read_host_share(store::Database& database, int64_t batch, Model* model);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_SIDES_H_
