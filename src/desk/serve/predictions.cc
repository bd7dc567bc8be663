// Models that answer a file which is uploaded. Each runs in a process of its own, as by xsp
// predict, and leaves its trace in the served folder.
//
//   POST /predictions?model=NAME&model=NAME[&system=NAME]      the body is the file's bytes
//
// On several systems the models answer at the same time, and on each of them one after another.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <future>
#include <set>

#include "desk/serve/http/routes.h"
#include "shared/base/scratch.h"

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kModels = 4;                         // that answer one file
constexpr size_t kSystems = 4;                        // on which they do
constexpr const char* kHere = "here";                 // what this machine is called
constexpr uint64_t kInputBytes = uint64_t{16} << 20;  // of the file
constexpr size_t kNameLength = 80;
constexpr size_t kKept = 200;  // of the server's traces in the folder; the oldest are removed
constexpr const char* kFolder = "predictions";
constexpr int64_t kSpans = 200;  // of a trace, in an answer

uint64_t max_prediction_bytes(const Services&) { return kInputBytes; }

std::string_view why_no_predictions(const Services& services) {
  if (!services.predict) return "predictions: off: start xsp serve with --catalogue and a token";
  return services.library.folder().empty() ? "predictions: no folder is served" : "";
}

// A name that cannot be a path, nor an option.
bool is_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kNameLength && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || c == '.' || c == '_' || c == '-'; });
}

// The models and systems that a request names.
struct Wanted {
  std::vector<std::string> models;
  std::vector<std::string> systems;
};

Status check_once(const char* what, const std::vector<std::string>& names, size_t most) {
  if (names.empty() || names.size() > most) {
    return usage(std::string(what) + ": give one to four, each as " + what + "=NAME");
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return usage(std::string(what) + ": one is given twice: give each once");
  }
  return Ok{};
}

// Returns the systems on which models may answer, this machine first.
Result<std::vector<std::string>> systems_of(const Services& services) {
  std::vector<std::string> systems = {kHere};
  if (!services.systems) return systems;
  XSP_TRY(const std::vector<std::string> others, services.systems());
  systems.insert(systems.end(), others.begin(), others.end());
  return systems;
}

Result<Wanted> wanted_of(const Request& request, const Services& services) {
  for (const auto& [name, value] : request.query) {
    if (name != "model" && name != "system") {
      return usage("parameter '" + name + "' of predictions: unknown: it takes model and system");
    }
    if (name == "model" && !is_name(value)) {
      return usage("model '" + value + "': not a name: give one of xsp models --list");
    }
  }
  Wanted wanted{request.all("model"), request.all("system")};
  if (wanted.systems.empty()) wanted.systems = {kHere};
  XSP_CHECK_OK(check_once("model", wanted.models, kModels));
  XSP_CHECK_OK(check_once("system", wanted.systems, kSystems));
  if (wanted.systems == std::vector<std::string>{kHere}) return wanted;
  XSP_TRY(const std::vector<std::string> known, systems_of(services));
  for (const std::string& system : wanted.systems) {
    if (std::find(known.begin(), known.end(), system) != known.end()) continue;
    return usage("system '" + system + "': there is none of this name: see GET /predictions");
  }
  return wanted;
}

Status receive(const Body& body, const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed(std::string("predictions: ") + std::strerror(errno));
  uint64_t size = 0;
  Status status = body([&](std::string_view bytes) -> Status {
    size += bytes.size();
    while (!bytes.empty()) {
      const ssize_t written = ::write(file, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed(std::string("predictions: ") + std::strerror(errno));
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return Ok{};
  });
  ::close(file);
  if (status.ok() && size == 0) return usage("predictions: the body is empty: send a file");
  return status;
}

// Returns "20261125T101500-1a2b", which begins the names of one request's traces; their order is
// that of time.
std::string stem() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%S", &parts);
  const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
  char whole[64];
  std::snprintf(whole, sizeof whole, "%s-%06llx", text,
                static_cast<unsigned long long>(ticks) & 0xffffff);
  return whole;
}

// Returns whether the server itself gave this name to a trace. All others are the user's own.
bool is_ours(const std::string& name) {
  constexpr std::string_view kForm = "99999999T999999-ffffff-";  // of stem(), and what follows it
  if (name.size() <= kForm.size() || !name.ends_with(".xsp")) return false;
  return std::equal(kForm.begin(), kForm.end(), name.begin(), [](char form, char c) {
    const bool is_digit = c >= '0' && c <= '9';
    if (form == '9') return is_digit;
    return form == 'f' ? is_digit || (c >= 'a' && c <= 'f') : c == form;
  });
}

// Removes the oldest traces with their notes. Their names have the time first.
void shorten(const fs::path& folder) {
  std::vector<fs::path> traces;
  std::error_code error;
  for (const auto& one : fs::directory_iterator(folder, error)) {
    if (is_ours(one.path().filename().string())) traces.push_back(one.path());
  }
  if (traces.size() <= kKept) return;
  std::sort(traces.begin(), traces.end());
  traces.resize(traces.size() - kKept);
  for (const fs::path& one : traces) {
    fs::remove(one.string() + ".notes", error);
    fs::remove(one, error);
  }
}

// Returns the request's spans, down to the model and the steps around it, the first first. The
// warm-up comes before it.
Result<json> spans_of(Library& library, const std::string& id) {
  XSP_TRY(Held held, library.hold(id));
  XSP_TRY(
      const store::Table table,
      held.database().query(
          "SELECT name, type, level, span_id, parent_id, "
          "start_ns - min(start_ns) OVER () AS start_ns, duration_ns "
          "FROM span WHERE level <= 2 AND start_ns >= coalesce((SELECT "
          "min(start_ns) FROM span WHERE type = 'request'), 0) ORDER BY start_ns, span_id LIMIT " +
          std::to_string(kSpans)));
  static const std::vector<analyze::Column> columns = {
      {"name", "text", ""},      {"type", "text", ""},        {"level", "number", ""},
      {"span_id", "number", ""}, {"parent_id", "number", ""}, {"start_ns", "ns", ""},
      {"duration_ns", "ns", ""}};
  return rows_json(table, columns, kSpans);
}

Result<json> answer_of(const Context& context, const PredictionJob& job) {
  XSP_TRY(const std::string text, context.services.predict(job));
  json rows = json::parse(text, nullptr, false);
  if (!rows.is_array()) return failed("its answer cannot be read");
  for (json& row : rows) row.erase("file");  // a path on this machine
  const std::string id = std::string(kFolder) + "/" + job.output.filename().string();
  XSP_TRY(json spans, spans_of(context.library, id));
  return json{{"outputs", std::move(rows)}, {"evaluation", id}, {"trace", std::move(spans)}};
}

// Lets the models answer on one system. `stem` begins the names of their traces.
json answers_on(const Context& context, const std::vector<std::string>& models,
                const std::string& system, const fs::path& input, const fs::path& stem) {
  json predictions = json::array();
  for (const std::string& model : models) {
    const PredictionJob job = {model, system == kHere ? "" : system, input,
                               stem.string() + "-" + model + ".xsp"};
    Result<json> answer = answer_of(context, job);
    json one = answer.ok() ? std::move(*answer) : json::object();
    one["model"] = model;
    one["system"] = system;
    one["status"] = answer.ok() ? "ok" : "failed";
    one["reason"] = answer.ok() ? "" : answer.error().text;
    predictions.push_back(std::move(one));
  }
  return predictions;
}

Result<json> post_prediction(const Context& context) {
  XSP_TRY(const Wanted wanted, wanted_of(context.request, context.services));
  XSP_TRY(const auto scratch, ScratchFolder::create());
  const fs::path input = scratch->path() / "input";
  XSP_CHECK_OK(receive(*context.body, input));
  const fs::path folder = context.library.folder() / kFolder;
  std::error_code error;
  fs::create_directory(folder, error);
  if (!fs::is_directory(fs::symlink_status(folder, error))) {
    return failed("predictions: the folder cannot be written: give a folder of your own");
  }
  const std::string begin = stem();
  std::vector<std::future<json>> answers;
  for (size_t i = 0; i < wanted.systems.size(); ++i) {
    const fs::path stem = folder / (begin + (i == 0 ? "" : "-" + std::to_string(i)));
    answers.push_back(std::async(std::launch::async, [&, i, stem] {
      return answers_on(context, wanted.models, wanted.systems[i], input, stem);
    }));
  }
  json predictions = json::array();
  for (std::future<json>& one : answers) {
    for (json& prediction : one.get()) predictions.push_back(std::move(prediction));
  }
  const bool is_longer = std::any_of(predictions.begin(), predictions.end(),
                                     [](const json& one) { return one.contains("evaluation"); });
  if (is_longer) shorten(folder);
  return json{{"predictions", std::move(predictions)}};
}

Result<json> get_models(const Context& context) {
  json models = json::array();
  for (const PredictionModel& one : context.services.models) {
    models.push_back(
        {{"name", one.name}, {"version", one.version}, {"task", one.task}, {"from", one.from}});
  }
  XSP_TRY(std::vector<std::string> systems, systems_of(context.services));
  return json{{"models", std::move(models)}, {"systems", std::move(systems)}};
}

// One model's answer: outputs as of xsp predict, its trace's evaluation, and the steps' spans.
constexpr std::string_view kPredictionSchema = R"({
  "type": "object", "required": ["predictions"], "additionalProperties": false,
  "properties": {"predictions": {"type": "array", "minItems": 1, "maxItems": 16, "items": {
    "type": "object", "required": ["model", "system", "status", "reason"],
    "additionalProperties": false,
    "properties": {
      "model": {"type": "string"},
      "system": {"type": "string"},
      "status": {"enum": ["ok", "failed"]},
      "reason": {"type": "string"},
      "evaluation": {"type": "string"},
      "outputs": {"type": "array", "items": {
        "type": "object", "required": ["output", "rank", "label", "score"],
        "additionalProperties": false,
        "properties": {"output": {"type": "string"}, "rank": {"type": ["null", "integer"]},
                       "label": {"type": "string"}, "score": {"type": ["null", "number"]}}}},
      "trace": {"type": "object", "required": ["columns", "rows", "total_rows"]}}}}}
})";

}  // namespace

const std::vector<Route>& prediction_routes() {
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/predictions",
       .scope = catalogue::Scope::kRead,
       .handler = get_models,
       .summary = "The models that may answer an upload, and the systems on which they may.",
       .parameters = {},
       .answer = R"({
         "type": "object", "required": ["models", "systems"], "additionalProperties": false,
         "properties": {"systems": {"type": "array", "items": {"type": "string"}},
                        "models": {"type": "array", "items": {
           "type": "object", "required": ["name", "version", "task", "from"],
           "additionalProperties": {"type": "string"}}}}})"},
      {.method = "POST",
       .pattern = "/predictions",
       .scope = catalogue::Scope::kRun,
       .handler = post_prediction,
       .summary =
           "Lets one to four models answer a file, on one to four systems, and returns their "
           "answers and traces.",
       .parameters = {{"model", "a model's name; given up to four times", "string", true},
                      {"system", "a system's name; given up to four times", "string", false}},
       .answer = kPredictionSchema,
       .body = "application/octet-stream",
       .body_max = max_prediction_bytes,
       .why_off = why_no_predictions,
       .at_once = 2},
  };
  return routes;
}

}  // namespace xsp::serve
