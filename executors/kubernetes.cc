// Runs the tasks as Indexed Jobs of Kubernetes, through kubectl. The folder of the sweep is on a
// volume that is mounted under the same path here and in the pods.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "executors/shared/executor.h"
#include "executors/shared/kubernetes_job.h"
#include "executors/shared/program.h"

namespace xsp::executors {
namespace {

constexpr size_t kUnitsOfJob = 1000;  // the units stand in an annotation and in a command

std::vector<std::string> kubectl(const Settings& settings, std::vector<std::string> words) {
  words.insert(words.begin(), "kubectl");
  const std::string name_space = text_of(settings, "namespace");
  if (!name_space.empty()) words.push_back("--namespace=" + name_space);
  return words;
}

class Cluster : public Session {
 public:
  explicit Cluster(Job job) : job_(std::move(job)) {}

  Status submit(const std::vector<size_t>& indexes) override {
    std::map<KindOfPod, std::vector<size_t>> kinds;
    for (const size_t index : indexes) {
      const Unit& unit = job_.units[index];
      kinds[{unit.system, unit.container, unit.device.starts_with("cuda")}].push_back(index);
    }
    for (const auto& [kind, units] : kinds) {
      for (size_t from = 0; from < units.size(); from += kUnitsOfJob) {
        const auto first = units.begin() + static_cast<std::ptrdiff_t>(from);
        const auto last =
            units.begin() + static_cast<std::ptrdiff_t>(std::min(units.size(), from + kUnitsOfJob));
        const auto created = run_program(kubectl(job_.settings, {"create", "-f", "-"}),
                                         job_manifest(job_, {first, last}, kind));
        if (!created.ok()) {
          return Error{created.error().code, "kubernetes: " + created.error().text};
        }
      }
    }
    return Ok{};
  }

  Result<std::map<size_t, Held>> poll(std::chrono::milliseconds patience) override {
    ::usleep(static_cast<useconds_t>(patience.count()) * 1000);
    XSP_TRY(const std::string jobs, get("jobs"));
    XSP_TRY(const std::string pods, get("pods"));
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    for (const std::string& name : hopeless_jobs(pods, now.count(), &stuck_since_)) {
      // The next poll lacks its units, which count as lost.
      const auto ended = run_program(
          kubectl(job_.settings, {"delete", "job", name, "--ignore-not-found", "--wait=false"}));
      if (!ended.ok()) return ended.error();
    }
    return held_of(jobs, pods, job_.units.size());
  }

  Status cancel() override {
    const auto deleted =
        run_program(kubectl(job_.settings, {"delete", "jobs", "--selector=xsp-sweep=" + job_.id}));
    return deleted.ok() ? Status(Ok{}) : Status(deleted.error());
  }

 private:
  Result<std::string> get(const char* kind) const {
    return run_program(
        kubectl(job_.settings, {"get", kind, "--selector=xsp-sweep=" + job_.id, "--output=json"}));
  }

  Job job_;
  std::map<std::string, double> stuck_since_;
};

Result<std::vector<std::string>> systems(const Settings& settings) {
  XSP_TRY(const std::string listed,
          run_program(kubectl(settings, {"get", "nodes", "--output=json"})));
  std::vector<std::string> names;
  const auto object = nlohmann::json::parse(listed, nullptr, false);
  if (!object.is_object() || !object.contains("items")) return names;
  for (const auto& node : object["items"]) {
    if (node.is_object() && node.contains("metadata")) {
      names.push_back(node["metadata"].value("name", std::string()));
    }
  }
  return names;
}

Result<std::unique_ptr<Session>> open(const Job& job) {
  const std::string plan = job.plan.string(), mount = text_of(job.settings, "mount");
  if (!plan.starts_with(mount + "/")) {
    return usage("executors.kubernetes.mount: the sweep's folder is not below " + mount +
                 ": name a folder there with -o");
  }
  return std::unique_ptr<Session>(new Cluster(job));
}

}  // namespace

std::vector<Executor> kubernetes_executors() {
  return {{"kubernetes",
           "a Kubernetes cluster, by kubectl, with a volume for the sweep",
           {{"image", "the image of the containers", true},
            {"claim", "the persistent volume claim that has the sweep's folder", true},
            {"mount", "where that volume is mounted, here and in the containers", true},
            {"xsp", "the path of xsp in the containers; else it is found by their PATH", false},
            {"namespace", "the namespace; else kubectl's own", false},
            {"cpu", "processors of a task, such as 4", false},
            {"memory", "memory of a task, such as 8Gi", false},
            {"gpu", "what a task on a GPU asks for; else nvidia.com/gpu", false},
            {"nodes", "labels that a node must have, such as [disk=ssd]", false}},
           systems,
           open,
           nullptr,
           true}};
}

}  // namespace xsp::executors
