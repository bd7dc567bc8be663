#include "executors/shared/kubernetes_job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "executors/shared/indexes.h"
#include "shared/base/words.h"

namespace xsp::executors {
namespace {

using nlohmann::json;

constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";
constexpr const char* kUnitsAnnotation = "xsp.units";
constexpr int kKept_s = 24 * 3600;  // a job that is over
// A registry may be away for a while.
constexpr double kStuckPatience_s = 300;
// Why a container does not start, and never will unless somebody helps.
constexpr std::array<std::string_view, 5> kObstacles = {"ErrImagePull", "ImagePullBackOff",
                                                        "ErrImageNeverPull", "InvalidImageName",
                                                        "CreateContainerConfigError"};
constexpr const char* kJobLabel = "batch.kubernetes.io/job-name";

// Returns the member of a path of keys; null if it is missing.
const json& at(const json& object, const std::vector<std::string>& path) {
  static const json kNone;
  const json* here = &object;
  for (const std::string& key : path) {
    if (!here->is_object()) return kNone;
    const auto found = here->find(key);
    if (found == here->end()) return kNone;
    here = &*found;
  }
  return *here;
}

std::string text_at(const json& object, const std::vector<std::string>& path) {
  const json& found = at(object, path);
  return found.is_string() ? found.get<std::string>() : std::string();
}

// Returns the units of a job, in the order of its indexes.
std::vector<size_t> units_of(const json& job) {
  std::vector<size_t> units;
  for (const std::string& one :
       split(text_at(job, {"metadata", "annotations", kUnitsAnnotation}), ',')) {
    units.push_back(number_of(one));
  }
  return units;
}

// Returns whether the job is over, and its remaining indexes will not run.
bool is_over(const json& job) {
  const json& conditions = at(job, {"status", "conditions"});
  if (!conditions.is_array()) return false;
  return std::any_of(conditions.begin(), conditions.end(), [](const json& one) {
    const std::string type = text_at(one, {"type"});
    return (type == "Complete" || type == "Failed") && text_at(one, {"status"}) == "True";
  });
}

struct Waiting {
  std::string reason;  // one word; empty: no container waits
  std::string message;
};

// Returns what keeps a container of the pod from starting.
Waiting waiting_of(const json& pod) {
  const json& containers = at(pod, {"status", "containerStatuses"});
  if (!containers.is_array()) return {};
  for (const json& one : containers) {
    const std::string reason = text_at(one, {"state", "waiting", "reason"});
    if (!reason.empty()) return {reason, text_at(one, {"state", "waiting", "message"})};
  }
  return {};
}

// Returns why a pod waits, by the words of its node or of the scheduler.
std::string why_waiting(const json& pod) {
  const Waiting waiting = waiting_of(pod);
  if (!waiting.message.empty()) return waiting.reason + ": " + waiting.message;
  if (!waiting.reason.empty()) return waiting.reason;
  const json& conditions = at(pod, {"status", "conditions"});
  if (!conditions.is_array()) return {};
  for (const json& one : conditions) {
    if (text_at(one, {"type"}) == "PodScheduled" && text_at(one, {"status"}) == "False") {
      return text_at(one, {"message"});
    }
  }
  return {};
}

json container_of(const Job& job, const std::vector<size_t>& units, const KindOfPod& kind) {
  const std::string script =
      "set -- " + joined(units, " ") +
      "; shift \"$JOB_COMPLETION_INDEX\"; exec \"$XSP\" task \"$PLAN\" \"$1\"";
  const std::string image =
      kind.container.empty() ? text_of(job.settings, "image") : kind.container;
  json resources = json::object();
  for (const char* what : {"cpu", "memory"}) {
    const std::string amount = text_of(job.settings, what);
    if (amount.empty()) continue;
    resources["requests"][what] = amount;
    resources["limits"][what] = amount;
  }
  if (kind.has_gpu) resources["limits"][text_of(job.settings, "gpu", "nvidia.com/gpu")] = 1;
  return {{"name", "xsp"},
          {"image", image},
          {"command", {"/bin/sh", "-c", script}},
          {"env",
           {{{"name", "XSP"}, {"value", text_of(job.settings, "xsp", "xsp")}},
            {{"name", "PLAN"}, {"value", job.plan.string()}},
            {{"name", "XSP_CONTAINER_IMAGE"}, {"value", image}}}},
          {"resources", resources},
          {"volumeMounts", {{{"name", "sweep"}, {"mountPath", text_of(job.settings, "mount")}}}}};
}

}  // namespace

std::string job_manifest(const Job& job, const std::vector<size_t>& units, const KindOfPod& kind) {
  json selector = json::object();
  for (const std::string& pair : texts_of(job.settings, "nodes")) {
    const size_t equal = pair.find('=');
    if (equal != std::string::npos) selector[pair.substr(0, equal)] = pair.substr(equal + 1);
  }
  if (!kind.system.empty()) selector["kubernetes.io/hostname"] = kind.system;
  const json labels = {{"xsp-sweep", job.id}};
  const json volume = {{"name", "sweep"},
                       {"persistentVolumeClaim", {{"claimName", text_of(job.settings, "claim")}}}};
  json pod = {{"restartPolicy", "Never"},
              {"containers", {container_of(job, units, kind)}},
              {"volumes", {volume}}};
  if (!selector.empty()) pod["nodeSelector"] = selector;
  const json manifest = {{"apiVersion", "batch/v1"},
                         {"kind", "Job"},
                         {"metadata",
                          {{"generateName", "xsp-" + job.id + "-"},
                           {"labels", labels},
                           {"annotations", {{kUnitsAnnotation, joined(units, ",")}}}}},
                         {"spec",
                          {{"ttlSecondsAfterFinished", kKept_s},
                           {"completions", units.size()},
                           {"parallelism", units.size()},
                           {"completionMode", "Indexed"},
                           {"backoffLimitPerIndex", 0},
                           {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
  return manifest.dump();
}

std::map<size_t, Held> held_of(std::string_view jobs, std::string_view pods, size_t units) {
  std::map<size_t, Held> held;
  std::map<std::string, std::vector<size_t>> units_by_job;
  const json all_jobs = json::parse(jobs, nullptr, false);
  const json& job_list = at(all_jobs, {"items"});
  for (const json& job : job_list.is_array() ? job_list : json::array()) {
    if (is_over(job)) continue;
    const std::vector<size_t> own = units_of(job);
    std::set<size_t> ended;
    for (const char* key : {"completedIndexes", "failedIndexes"}) {
      for (const size_t i : indexes_of(text_at(job, {"status", key}), own.size())) ended.insert(i);
    }
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] < units && ended.count(i) == 0) held[own[i]] = {};
    }
    units_by_job[text_at(job, {"metadata", "name"})] = own;
  }
  const json all_pods = json::parse(pods, nullptr, false);
  const json& pod_list = at(all_pods, {"items"});
  for (const json& pod : pod_list.is_array() ? pod_list : json::array()) {
    const auto own = units_by_job.find(text_at(pod, {"metadata", "labels", kJobLabel}));
    const size_t index = number_of(text_at(pod, {"metadata", "annotations", kIndexAnnotation}));
    if (own == units_by_job.end() || index >= own->second.size()) continue;
    const auto found = held.find(own->second[index]);
    if (found == held.end()) continue;
    found->second.is_running = text_at(pod, {"status", "phase"}) == "Running";
    found->second.where = text_at(pod, {"spec", "nodeName"});
    found->second.why = why_waiting(pod);
  }
  return held;
}

std::vector<std::string> hopeless_jobs(std::string_view pods, double now_s,
                                       std::map<std::string, double>* stuck_since) {
  std::set<std::string> running, stuck;
  const json all_pods = json::parse(pods, nullptr, false);
  const json& pod_list = at(all_pods, {"items"});
  for (const json& pod : pod_list.is_array() ? pod_list : json::array()) {
    const std::string job = text_at(pod, {"metadata", "labels", kJobLabel});
    const std::string reason = waiting_of(pod).reason;
    if (text_at(pod, {"status", "phase"}) == "Running") {
      running.insert(job);
    } else if (std::find(kObstacles.begin(), kObstacles.end(), reason) != kObstacles.end()) {
      stuck.insert(job);
    }
  }
  std::vector<std::string> hopeless;
  std::map<std::string, double> since;
  for (const std::string& job : stuck) {
    if (running.count(job) != 0) continue;
    const auto known = stuck_since->find(job);
    since[job] = known == stuck_since->end() ? now_s : known->second;
    if (now_s - since[job] >= kStuckPatience_s) hopeless.push_back(job);
  }
  *stuck_since = std::move(since);
  return hopeless;
}

}  // namespace xsp::executors
