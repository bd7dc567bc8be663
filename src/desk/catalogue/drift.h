// Drift: how much a machine changed while it measured, by a reference task that is repeated.
#ifndef XSP_DESK_CATALOGUE_DRIFT_H_
#define XSP_DESK_CATALOGUE_DRIFT_H_

#include <string>
#include <vector>

#include "desk/catalogue/catalogue.h"
#include "shared/base/result.h"

namespace xsp::catalogue {

// Reference tasks have names that begin with this. They enter no comparison.
inline constexpr const char* kReferencePrefix = "reference-";

// A drift beyond this makes comparisons of that machine's evaluations doubtful.
inline constexpr double kDriftMax = 0.05;

struct Reference {
  std::string started_at;
  double latency_ns = 0;
};

// The repetitions of one reference task on one system, the earliest first.
struct Drift {
  std::string sweep;
  std::string fingerprint;
  std::string system;
  std::string device;
  std::string what;  // "mobilenet_v2, onnxruntime 1.31.1, batch 1"
  std::vector<Reference> references;

  // Returns the largest latency over the smallest, less 1.
  double spread() const;
};

// Returns the references of a sweep, or of all sweeps if it is empty. A system with one repetition
// tells no drift, and is left out.
Result<std::vector<Drift>> drifts(Catalogue& catalogue, const std::string& sweep = {});

}  // namespace xsp::catalogue

#endif  // XSP_DESK_CATALOGUE_DRIFT_H_
