// Says in Kubernetes' words that some units are to be run, and reads what became of them.
#ifndef XSP_EXECUTORS_SHARED_KUBERNETES_JOB_H_
#define XSP_EXECUTORS_SHARED_KUBERNETES_JOB_H_

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "executors/shared/executor.h"

namespace xsp::executors {

// KindOfPod holds the properties that all pods of one Job share.
struct KindOfPod {
  std::string system;     // the name of a node; empty: any
  std::string container;  // the image; empty: that of the settings
  bool has_gpu = false;
  auto operator<=>(const KindOfPod&) const = default;
};

// Returns an Indexed Job (batch/v1) for the units, as JSON. All of them need the same kind of
// machine, and the same image; see KindOfPod. Kubernetes tries no unit again.
std::string job_manifest(const Job& job, const std::vector<size_t>& units, const KindOfPod& kind);

// Returns the units that the cluster still has, from `kubectl get jobs` and `kubectl get pods` of
// one sweep, as JSON. What cannot be read is left out.
std::map<size_t, Held> held_of(std::string_view jobs, std::string_view pods, size_t units);

// Returns the names of the Jobs of which no pod runs, and one could not start for five minutes, for
// example because its image is not there: it would wait for ever. `stuck_since` has the Jobs that
// are so from one call to the next; `now_s` is the time of any clock.
std::vector<std::string> hopeless_jobs(std::string_view pods, double now_s,
                                       std::map<std::string, double>* stuck_since);

}  // namespace xsp::executors

#endif  // XSP_EXECUTORS_SHARED_KUBERNETES_JOB_H_
