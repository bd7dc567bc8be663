// xsp doctor: lists what can be measured on this machine. For the rest, it says why not, and what
// to do.
#include "desk/cli/doctor.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "desk/cli/output.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/capabilities.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/interrupt.h"
#include "desk/experiment/local.h"
#include "desk/experiment/monitor.h"
#include "desk/machine/gpu.h"
#include "desk/store/apart.h"
#include "desk/store/database.h"
#include "shared/base/words.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

// The collectors are probed for runs on this device.
constexpr const char* kGpu = "cuda:0";
constexpr const char* kToAGpu = "run on a machine with an NVIDIA GPU and its driver";

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Splits an error's text, which is `what: why: what to do`.
Finding not_available(const std::string& kind, const std::string& name, const std::string& text,
                      const std::string& otherwise) {
  const size_t cut = text.rfind(": ");
  if (cut == std::string::npos) return {kind, name, kNotAvailable, text, otherwise};
  return {kind, name, kNotAvailable, text.substr(0, cut), text.substr(cut + 2)};
}

// `collectors` were probed for a GPU; `others` were probed for their own kind of device.
void add_levels(const machine::Gpu& gpu, const std::vector<experiment::Collector>& collectors,
                const std::vector<experiment::Collector>& others, bool has_framework,
                Findings* findings) {
  const Finding base = has_framework
                           ? Finding{"level", "", kAvailable, "", ""}
                           : Finding{"level", "", kNotAvailable, "no framework is available",
                                     "see the frameworks below"};
  findings->push_back({"level", "application", kAvailable, "by annotation: include/xsp/xsp.h", ""});
  for (const char* name : {"model", "layer"}) {
    findings->push_back(base);
    findings->back().name = name;
    if (has_framework) findings->back().reason = "xsp profile";
  }
  for (const char* name : {"library", "api", "kernel"}) {
    const experiment::Collector* collector = collector_of(collectors, name);
    if (collector != nullptr) {
      findings->push_back({"level", name, kAvailable, "collector " + collector->name, ""});
      continue;
    }
    const std::string why = experiment::why_no_level(name, collectors, kGpu, gpu);
    if (const experiment::Collector* other = collector_of(others, name)) {
      findings->push_back(
          {"level", name, kLimited,
           "collector " + other->name + ", in runs on " + other->probe->device + " alone; " + why,
           gpu.count == 0 ? kToAGpu : "see the collectors below"});
      continue;
    }
    findings->push_back(gpu.count == 0
                            ? Finding{"level", name, kNotAvailable, why, kToAGpu}
                            : not_available("level", name, why, "see the collectors below"));
  }
}

Finding framework_finding(const experiment::Framework& framework) {
  if (framework.probe.ok()) {
    const experiment::Probe& probe = *framework.probe;
    return {"framework", framework.name, kAvailable,
            probe.version + " on " + joined(probe.devices) + ", opens " + joined(probe.formats) +
                ", " + probe.library,
            ""};
  }
  return not_available("framework", framework.name, framework.probe.error().text, "");
}

// Lists every framework that xsp knows: those whose adapter is installed, those of the Python
// environment, and those whose adapter could not be built.
void add_frameworks(const experiment::Installation& installation,
                    const std::vector<experiment::Framework>& installed, Findings* findings) {
  std::map<std::string, Finding> all;
  for (const experiment::Framework& framework : installed) {
    all.emplace(framework.name, framework_finding(framework));
  }
  for (const auto& [name, reason] : experiment::absent_adapters(installation)) {
    all.emplace(name, not_available("framework", name, reason, ""));
  }
  for (const auto& local : experiment::local_frameworks(installation.adapters)) {
    const Result<std::string> there = experiment::local_status(local);
    if (local.opens.empty()) {
      // The adapter runs any version, and the environment's is what makes models of functions.
      const auto at = all.find(local.name);
      if (at == all.end()) continue;
      at->second.reason += "; FILE.py:FUNCTION: " + (there.ok() ? *there : there.error().text);
    } else if (there.ok()) {
      const Finding finding = {"framework", local.name, kAvailable,
                               *there + ", opens " + joined(local.opens), ""};
      all.insert_or_assign(local.name, finding);
    } else {
      // An installed adapter that works is not worse for the environment's lack of the framework.
      const auto at = all.find(local.name);
      if (at != all.end() && at->second.status == kAvailable) continue;
      all.insert_or_assign(local.name,
                           not_available("framework", local.name, there.error().text, ""));
    }
  }
  for (auto& [name, finding] : all) findings->push_back(std::move(finding));
}

Finding collector_finding(const experiment::Collector& collector) {
  if (!collector.probe.ok()) {
    return {"collector", collector.name, kNotAvailable, collector.probe.error().text,
            "reinstall xsp, if this is not a machine that it is meant for"};
  }
  const experiment::CollectorProbe& probe = *collector.probe;
  if (!probe.unavailable.empty()) {
    return not_available("collector", collector.name, probe.unavailable,
                         "see the facilities below");
  }
  std::string reason = joined(probe.counters);
  if (!probe.levels.empty()) {
    reason = "levels " + joined(probe.levels) + (reason.empty() ? "" : "; " + reason);
  }
  if (probe.absent.empty()) return {"collector", collector.name, kAvailable, reason, ""};
  return {"collector", collector.name, kLimited, reason + "; not " + probe.absent,
          "see the facilities below"};
}

// Probes a collector of another kind of device than GPUs for its own kind.
experiment::Collector on_its_device(const experiment::Installation& installation,
                                    const experiment::Collector& collector,
                                    const std::atomic<int>& stop) {
  constexpr experiment::WorkerLimits kLimits{.answer_s = 60, .grace_s = 0};
  const std::string kind = collector.probe.ok() ? collector.probe->device : "";
  if (kind.empty() || std::string(kGpu).rfind(kind, 0) == 0) return collector;
  return {
      collector.name, collector.path,
      experiment::probe_collector(installation.worker, collector.path, kind + ":0", kLimits, stop)};
}

Finding clock_finding() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  const bool invariant = false;
#endif
  if (invariant) {
    return {"facility", "processor clock", kAvailable, "invariant time stamp counter", ""};
  }
  return {"facility", "processor clock", kLimited,
          "no invariant time stamp counter: spans are timed by the system's clock, some 20 ns more "
          "each",
          ""};
}

// Opens a counter of this process. Returns -1, and errno, where the kernel has or permits none.
long open_counter(uint32_t type, uint64_t config) {
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = type;
  wanted.config = config;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  return ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

Finding perf_finding() {
  const std::string text = first_line("/proc/sys/kernel/perf_event_paranoid");
  if (text.empty()) {
    return {"facility", "processor counters", kNotAvailable,
            "the kernel has no perf_event_paranoid: built without performance events, or hidden by "
            "a container",
            "run outside of the container"};
  }
  if (std::atoi(text.c_str()) > 2 && ::geteuid() != 0) {
    return {"facility", "processor counters", kNotAvailable, "perf_event_paranoid is " + text,
            "sudo sysctl kernel.perf_event_paranoid=2"};
  }
  // A virtual machine may hide the counters that its kernel permits.
  const long file = open_counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  if (file < 0) {
    const bool is_absent = errno == ENOENT || errno == ENODEV || errno == EOPNOTSUPP;
    return {"facility", "processor counters", kNotAvailable,
            is_absent ? "perf_event_paranoid is " + text +
                            ", but this processor or virtual machine offers none"
                      : "the kernel refuses perf_event_open: " + std::string(std::strerror(errno)),
            is_absent ? "measure on a machine that is not virtual, or let the host pass them on"
                      : "let a container use perf_event_open"};
  }
  ::close(static_cast<int>(file));
  return {"facility", "processor counters", kAvailable, "perf_event_paranoid is " + text, ""};
}

// Reports whether the kernel samples the registers of running threads, as xsp run asks it to.
Finding native_stacks_finding() {
#ifdef __x86_64__
  const long file = open_counter(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  if (file < 0) {
    return {"facility", "native stacks", kLimited,
            "of threads that wait alone, as the kernel refuses perf_event_open: " +
                std::string(std::strerror(errno)),
            "sudo sysctl kernel.perf_event_paranoid=2, and let a container use perf_event_open"};
  }
  ::close(static_cast<int>(file));
  return {"facility", "native stacks", kAvailable, "the kernel notes registers of threads", ""};
#else
  return {"facility", "native stacks", kLimited,
          "callers of compiled code are found on x86-64 alone", ""};
#endif
}

using Facts = std::map<std::string, std::string>;

// Returns the collectors' facts about the first GPU.
Facts facts_of_gpu(const experiment::Installation& installation,
                   const std::vector<experiment::Collector>& collectors,
                   const std::atomic<int>& stop) {
  experiment::Monitors monitors(kGpu, stop);
  monitors.start(installation.worker, experiment::monitors_of(collectors));
  return monitors.facts();
}

Finding gpu_finding(const machine::Gpu& gpu, Facts facts) {
  if (gpu.count == 0) {
    return {"facility", "GPU", kNotAvailable, gpu.reason,
            "install the NVIDIA driver, if the machine has a GPU"};
  }
  std::string text = std::to_string(gpu.count);
  const auto add = [&](const char* before, const char* key) {
    if (!facts[key].empty()) text += before + facts[key];
  };
  add(": ", "gpu.0.name");
  add(", compute capability ", "gpu.0.compute_capability");
  add(", driver ", "gpu.driver_version");
  return {"facility", "GPU", kAvailable, text + ", CUDA driver interface " + gpu.driver, ""};
}

void add_gpu(const machine::Gpu& gpu, Facts facts, Findings* findings) {
  findings->push_back(gpu_finding(gpu, facts));
  if (!facts["cupti_version"].empty()) {
    const std::string what = facts["cupti_version"] + ", " + facts["cupti_library"];
    const std::string& defects = facts["cupti_known_defects"];
    findings->push_back(defects.empty()
                            ? Finding{"facility", "CUPTI", kAvailable, what, ""}
                            : Finding{"facility", "CUPTI", kLimited, what + "; " + defects, ""});
  }
  const auto add = [&](const char* name, const machine::Library& library, const char* action) {
    findings->push_back(library.path.empty()
                            ? Finding{"facility", name, kNotAvailable, library.reason, action}
                            : Finding{"facility", name, kAvailable, library.path, ""});
  };
  if (facts["cupti_version"].empty()) {
    add("CUPTI", machine::find_cupti(),
        "install the CUDA toolkit, or set LD_LIBRARY_PATH to its CUPTI");
  }
  add("NVML", machine::find_nvml(), "install the NVIDIA driver");
}

Finding store_finding() {
  auto database = store::Database::in_memory();
  if (!database.ok()) {
    return {"facility", "DuckDB", kNotAvailable, database.error().text, "run tools/deps.sh"};
  }
  const auto version = database->query("SELECT version()");
  if (!version.ok() || version->rows.empty()) {
    return {"facility", "DuckDB", kNotAvailable, "it does not answer", "run tools/deps.sh"};
  }
  return {"facility", "DuckDB", kAvailable, std::get<std::string>(version->rows[0][0]), ""};
}

Finding confinement_finding() {
  const std::string gaps = store::not_confined();
  return {"facility", "confined reading", gaps.empty() ? kAvailable : kLimited,
          gaps.empty() ? "of .xsp files, in a process of its own" : gaps, ""};
}

Finding terminal_finding() {
  const Terminal terminal = terminal_of(1);
  if (!terminal.is_terminal) {
    return {"facility", "terminal", kLimited, "the output is not a terminal: plain text", ""};
  }
  std::string text = std::to_string(terminal.width) + " columns";
  text += terminal.colours ? ", colours" : ", no colours";
  text += terminal.utf8 ? ", UTF-8" : ", ASCII";
  return {"facility", "terminal", kAvailable, text, ""};
}

Result<Findings> examine() {
  const experiment::Interrupts interrupts;
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  const auto frameworks = experiment::probe_frameworks(
      installation, experiment::framework_names(installation), interrupts.count());
  bool has_framework = false;
  for (const experiment::Framework& framework : frameworks) has_framework |= framework.probe.ok();
  const machine::Gpu gpu = machine::find_gpu();
  Findings findings;
  const auto collectors = experiment::probe_collectors(installation, kGpu, interrupts.count());
  std::vector<experiment::Collector> others;
  for (const experiment::Collector& collector : collectors) {
    others.push_back(on_its_device(installation, collector, interrupts.count()));
  }
  add_levels(gpu, collectors, others, has_framework, &findings);
  add_frameworks(installation, frameworks, &findings);
  for (const experiment::Collector& collector : others) {
    findings.push_back(collector_finding(collector));
  }
  findings.push_back(clock_finding());
  findings.push_back(perf_finding());
  findings.push_back(native_stacks_finding());
  add_gpu(gpu, facts_of_gpu(installation, collectors, interrupts.count()), &findings);
  findings.push_back(store_finding());
  findings.push_back(confinement_finding());
  findings.push_back(cache_finding());
  std::error_code error;
  fs::path scratch = fs::temp_directory_path(error);
  if (error) scratch = "/tmp";
  findings.push_back(folder_finding("temporary folder", scratch, "TMPDIR"));
  findings.push_back(terminal_finding());
  for (Finding& finding : findings_of_run(installation, collectors)) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

// Formats the findings for the terminal: grouped by kind, without shortening.
std::string render_findings(const Findings& findings, const Terminal& terminal) {
  constexpr size_t kNameColumns = 22;
  std::string text, kind;
  for (const Finding& finding : findings) {
    if (finding.kind != kind) {
      text += (kind.empty() ? "" : "\n") + styled(terminal, Style::kTitle, finding.kind) + "\n";
    }
    kind = finding.kind;
    const Style style = finding.status == kAvailable      ? Style::kGood
                        : finding.status == kNotAvailable ? Style::kBad
                                                          : Style::kPlain;
    std::string name = "  " + finding.name;
    name.resize(std::max(kNameColumns, name.size() + 1), ' ');
    text += name + styled(terminal, style, finding.status);
    const size_t indent = kNameColumns + 2;
    const std::string spaces(indent, ' ');
    const size_t used = name.size() + finding.status.size() + 2;
    if (finding.status == kAvailable && used + width_of(finding.reason) <= terminal.width) {
      text += finding.reason.empty() ? "\n" : "  " + finding.reason + "\n";
    } else {
      text += "\n" + wrapped(spaces + finding.reason, terminal.width, indent);
    }
    if (!finding.action.empty()) {
      text += wrapped(spaces + "do: " + finding.action, terminal.width, indent);
    }
  }
  return text;
}

Sheet sheet_of_findings(const Findings& findings) {
  Sheet sheet;
  sheet.columns = {{"kind", "text", ""},
                   {"name", "text", ""},
                   {"status", "text", ""},
                   {"reason", "text", ""},
                   {"what_to_do", "text", ""}};
  for (const analyze::Column& column : sheet.columns) {
    sheet.table.columns.push_back({column.name, "VARCHAR"});
  }
  for (const Finding& finding : findings) {
    sheet.table.rows.push_back(
        {finding.kind, finding.name, finding.status, finding.reason, finding.action});
  }
  return sheet;
}

Status doctor(const OutputOptions& options) {
  XSP_TRY(const Findings findings, examine());
  const Terminal terminal = terminal_of(1);
  if (options.format == Format::kTable) return write_stdout(render_findings(findings, terminal));
  return write_stdout(render(sheet_of_findings(findings), options, terminal));
}

// Replaces this process with the script that installs an adapter's framework.
Status install(const std::string& framework) {
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  const fs::path script = installation.adapters / "get_framework.sh";
  ::execl(script.c_str(), script.c_str(), framework.c_str(), nullptr);
  return failed(script.string() + ": cannot be run: " + std::strerror(errno) + ": reinstall xsp");
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<OutputOptions>();
  auto framework = std::make_shared<std::string>();
  CLI::App* verb =
      app.add_subcommand("doctor", "What can be measured here, and if not, why not and what to do");
  add_output_options(*verb, *options, false);
  verb->add_option("--install", *framework,
                   "Fetch the framework that this adapter runs, in the version that xsp is tested "
                   "with, to ~/.cache/xsp/frameworks: tensorflow, ...")
      ->type_name("NAME");
  auto most = std::make_shared<uint64_t>(0);
  CLI::Option* clean = verb->add_option(
      "--clean-models", *most,
      "Remove models from the cache folder, the least recently used first, until at most this much "
      "is left: 5GiB, 0. Those of the last hour stay; xsp fetches, exports or builds them again");
  clean->type_name("SIZE")->transform(CLI::AsSizeValue(true));
  verb->footer(
      "Examples:\n"
      "  xsp doctor\n"
      "  xsp doctor --install tensorflow\n"
      "  xsp doctor --clean-models 5GiB\n"
      "  xsp doctor --format json | jq '.[] | select(.status != \"available\")'");
  verb->callback([options, framework, clean, most, &exit_status] {
    const Status status = clean->count() > 0   ? clean_models(*most)
                          : framework->empty() ? doctor(*options)
                                               : install(*framework);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
