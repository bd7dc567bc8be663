// Entries: the evaluations of a catalogue by subject. A row of the site's tables is an entry.
#ifndef XSP_DESK_SITE_ENTRIES_H_
#define XSP_DESK_SITE_ENTRIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "desk/catalogue/fair.h"

namespace xsp::site {

using catalogue::Figure;
using catalogue::Known;

// One model in one framework, on one device of one system, in one scenario, under one load.
struct Entry {
  // With the settings in which it differs from other loads of the model: "server, rate per s 50".
  std::string scenario;
  std::map<int64_t, const Known*> batches;  // the newest evaluation of each batch size

  const Known& any() const { return *batches.begin()->second; }
  const Figure* at(int64_t batch, const std::string& metric) const;
  // Returns the evaluation at batch size 1, or null.
  const Known* online() const;
  // Returns the evaluation at the best batch size: that which the file names (the rule `peak` of
  // the analysis model_information). If the batch sizes are in several files, none of which can
  // name it, the same rule is applied to all of them: the smallest within 1 % of the highest
  // throughput.
  const Known& best() const;
  // Returns the evaluation that tells of the work on the device: that at the largest batch size at
  // which kernels were recorded, or, if none were, at the best one.
  const Known& worked() const;
  // Returns the evaluation with the highest throughput.
  const Known& fastest() const;
};

std::vector<Entry> entries_of(const std::vector<Known>& all);

// Returns the score by which a model is compared, and its metric: top-1 if it has one, else the
// first score by name. Null: none was measured.
const Figure* accuracy_of(const std::vector<Known>& all, const std::string& model);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_ENTRIES_H_
