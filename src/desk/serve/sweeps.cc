// Sweeps that requests start.
//
//   POST /sweeps             the body is a sweep's file, in YAML
//   GET, DELETE /sweeps/{}   its state; ends it
#include "desk/serve/http/routes.h"

namespace xsp::serve {
namespace {

using nlohmann::json;

constexpr uint64_t kPlanBytes = uint64_t{64} << 10;  // of a sweep's file

uint64_t max_sweep_bytes(const Services&) { return kPlanBytes; }

std::string_view why_no_sweeps(const Services& services) {
  return services.sweeps == nullptr
             ? "sweeps: off: start xsp serve with --catalogue and --allow-run"
             : "";
}

json json_of(const SweepState& state) {
  return {{"name", state.name},       {"id", state.id},        {"state", state.state},
          {"reason", state.reason},   {"tasks", state.tasks},  {"done", state.done},
          {"running", state.running}, {"failed", state.failed}};
}

Result<json> post_sweep(const Context& context) {
  std::string text;
  XSP_CHECK_OK((*context.body)([&](std::string_view bytes) -> Status {
    text += bytes;
    return Ok{};
  }));
  XSP_TRY(const SweepState state, context.services.sweeps->start(text));
  return json_of(state);
}

Result<json> get_sweep(const Context& context) {
  if (context.services.sweeps == nullptr) {
    return not_available("sweep '" + context.parts[0] + "': no request has started it");
  }
  XSP_TRY(const SweepState state, context.services.sweeps->find(context.parts[0]));
  return json_of(state);
}

Result<json> delete_sweep(const Context& context) {
  XSP_TRY(const SweepState state, context.services.sweeps->cancel(context.parts[0]));
  return json_of(state);
}

constexpr std::string_view kSweepSchema = R"({
  "type": "object", "additionalProperties": false,
  "required": ["name", "id", "state", "reason", "tasks", "done", "running", "failed"],
  "properties": {
    "name": {"type": "string"},
    "id": {"type": "string"},
    "state": {"enum": ["waiting", "running", "done", "failed", "cancelled", "stopped"]},
    "reason": {"type": "string"},
    "tasks": {"type": "integer"}, "done": {"type": "integer"},
    "running": {"type": "integer"}, "failed": {"type": "integer"}}
})";

}  // namespace

const std::vector<Route>& sweep_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/sweeps",
       .scope = catalogue::Scope::kRun,
       .handler = post_sweep,
       .summary = "Starts a sweep; it runs once those before it have ended.",
       .parameters = {},
       .answer = kSweepSchema,
       .success = 201,
       .body = "application/yaml",
       .body_max = max_sweep_bytes,
       .why_off = why_no_sweeps},
      {.method = "GET",
       .pattern = "/sweeps/{}",
       .scope = catalogue::Scope::kRead,
       .handler = get_sweep,
       .summary = "The state of a sweep that a request started.",
       .parameters = {{"sweep", "its name or id", "string", true}},
       .answer = kSweepSchema},
      {.method = "DELETE",
       .pattern = "/sweeps/{}",
       .scope = catalogue::Scope::kRun,
       .handler = delete_sweep,
       .summary = "Ends a sweep that waits or runs; what it has measured stays.",
       .parameters = {{"sweep", "its name or id", "string", true}},
       .answer = kSweepSchema,
       .why_off = why_no_sweeps},
  };
  return routes;
}

}  // namespace xsp::serve
