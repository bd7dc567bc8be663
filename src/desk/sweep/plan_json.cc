// Writes a plan as JSON, and reads it.
#include <nlohmann/json.hpp>

#include "desk/sweep/plan.h"

namespace xsp::sweep {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json json_of(const Task& task) {
  json options = json::array();
  for (const auto& [name, value] : task.options) options.push_back({name, value});
  json object = {{"name", task.name},
                 {"model", task.model},
                 {"framework", task.framework},
                 {"device", task.device},
                 {"batch", task.batch},
                 {"scenario", task.scenario},
                 {"options", std::move(options)},
                 {"system", task.system}};
  if (!task.container.empty()) object["container"] = task.container;
  if (!task.input.empty()) object["input"] = task.input;
  return object;
}

// These return the member, or the default if it is missing or of another kind.
std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number_in(const json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}
std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// A name becomes a file's name.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

Result<Task> task_of(const json& object, const std::string& file) {
  Task task;
  if (object.is_object()) {
    task.name = text_in(object, "name");
    task.model = text_in(object, "model");
    task.framework = text_in(object, "framework");
    task.device = text_in(object, "device");
    task.batch = static_cast<int64_t>(number_in(object, "batch", 0));
    task.scenario = text_in(object, "scenario");
    task.system = text_in(object, "system");
    task.container = text_in(object, "container");
    task.input = text_in(object, "input");
  }
  if (!is_file_name(task.name) || task.model.empty() || task.scenario.empty()) {
    return corrupt(file + ": a task has no name, model or scenario: write the plan again with " +
                   "xsp sweep");
  }
  const auto options = object.find("options");
  if (options == object.end() || !options->is_array()) return task;
  for (const json& pair : *options) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return corrupt(file + ": an option of a task is not two texts: write the plan again");
    }
    task.options.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return task;
}

executors::Settings settings_in(const json& object) {
  executors::Settings settings;
  const auto found = object.find("settings");
  if (found == object.end() || !found->is_object()) return settings;
  for (const auto& [name, texts] : found->items()) {
    if (!texts.is_array()) continue;
    for (const json& text : texts) {
      if (text.is_string()) settings[name].push_back(text.get<std::string>());
    }
  }
  return settings;
}

}  // namespace

std::string to_json(const Plan& plan) {
  json tasks = json::array(), left_out = json::array();
  for (const Task& task : plan.tasks) tasks.push_back(json_of(task));
  for (const LeftOut& one : plan.left_out)
    left_out.push_back({{"what", one.what}, {"why", one.why}});
  json object = {{"version", kVersion},
                 {"id", plan.id},
                 {"name", plan.name},
                 {"source", plan.source},
                 {"executor", plan.executor},
                 {"settings", plan.settings},
                 {"retries", plan.retries},
                 {"timeout_s", plan.timeout_s},
                 {"price", plan.price},
                 {"tasks", std::move(tasks)},
                 {"left_out", std::move(left_out)}};
  if (!plan.place.empty()) object["place"] = plan.place;
  if (plan.budget_s) object["budget_s"] = *plan.budget_s;
  if (plan.budget_cost) object["budget_cost"] = *plan.budget_cost;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Plan> plan_of(std::string_view text, const std::string& name) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return corrupt(name + ": it is no plan: write it with xsp sweep");
  const double version = number_in(object, "version", 0);
  if (version != kVersion) {
    return corrupt(name + ": it is a plan of another version of xsp: use that one");
  }
  Plan plan;
  plan.id = text_in(object, "id");
  plan.name = text_in(object, "name");
  plan.source = text_in(object, "source");
  plan.place = text_in(object, "place");
  plan.executor = text_in(object, "executor");
  plan.settings = settings_in(object);
  plan.retries = static_cast<int>(number_in(object, "retries", plan.retries));
  plan.timeout_s = number_in(object, "timeout_s", plan.timeout_s);
  plan.price = number_in(object, "price", 0);
  plan.budget_s = number_in(object, "budget_s");
  plan.budget_cost = number_in(object, "budget_cost");
  const auto tasks = object.find("tasks");
  if (!is_file_name(plan.id) || tasks == object.end() || !tasks->is_array()) {
    return corrupt(name + ": it is no whole plan: write it with xsp sweep");
  }
  for (const json& one : *tasks) {
    XSP_TRY(Task task, task_of(one, name));
    plan.tasks.push_back(std::move(task));
  }
  const auto left_out = object.find("left_out");
  if (left_out != object.end() && left_out->is_array()) {
    for (const json& one : *left_out) {
      if (one.is_object()) plan.left_out.push_back({text_in(one, "what"), text_in(one, "why")});
    }
  }
  return plan;
}

}  // namespace xsp::sweep
