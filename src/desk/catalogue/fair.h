// Fair: loads the evaluations of a catalogue, and says whether two of them may be compared.
//
// A comparison over one subject, such as the framework, is fair if nothing but that subject
// differs. Otherwise it is refused, and the refusal names each fact that differs besides. This is
// the rule for figures side by side; `xsp diff` compares two files whose differences the user
// knows, and shows them.
//
// Thread rule: pure functions, except load().
#ifndef XSP_DESK_CATALOGUE_FAIR_H_
#define XSP_DESK_CATALOGUE_FAIR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/catalogue/catalogue.h"
#include "desk/catalogue/figures.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

// One evaluation of the catalogue, with its figures.
struct Known {
  std::string id;
  std::string model;
  std::string framework;
  std::string fingerprint;
  std::string system;  // its name
  std::string scenario;
  std::string device;
  int64_t batch = 0;
  std::string started_at;
  std::string file;
  std::map<std::string, std::string> facts;         // framework's options, inputs, load
  std::map<std::string, std::string> system_facts;  // of the machine
  std::map<std::string, Figure> figures;            // by metric

  // Returns the figure, which says why if it was not measured. Null: it is not known.
  const Figure* figure(const std::string& metric) const;
  // Returns the figure if it was measured.
  const Figure* measured(const std::string& metric) const;
};

// Returns all evaluations: by model, framework, system, scenario, device and batch, the newest
// first.
Result<std::vector<Known>> load(Catalogue& catalogue);

// A comparison lets only this differ between the two evaluations of a pair.
enum class Over { kFramework, kSystem, kModel };
Result<Over> over_of(const std::string& name);  // "framework", "system", "model"

// Returns the facts, besides what was asked, that differ, such as "machine.kernel: Linux 6.1, Linux
// 6.12". None: the comparison is fair.
std::vector<std::string> unasked_differences(const Known& a, const Known& b, Over over);

// A fact that differs; "none" where one side lacks it.
struct Difference {
  std::string key;
  std::string first;
  std::string second;
};
std::vector<Difference> differences_of(const std::map<std::string, std::string>& first,
                                       const std::map<std::string, std::string>& second);

// Two evaluations side by side, or the reason why they may not be.
struct Pair {
  const Known* a = nullptr;
  const Known* b = nullptr;
  std::vector<std::string> refused;  // the differences; empty: the pair is fair
};

// Pairs the evaluations that differ in what was asked, at the same batch size and scenario. Of
// several evaluations of the same subject, the pair with the fewest differences is taken, then the
// newest.
std::vector<Pair> pairs_over(const std::vector<Known>& all, Over over);

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_FAIR_H_
