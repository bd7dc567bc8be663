#include "desk/sweep/plan.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>

#include "desk/catalogue/drift.h"
#include "desk/manifest/manifest.h"
#include "desk/manifest/shipped.h"
#include "desk/sweep/read_sweep.h"
#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;
using manifest::Node;

constexpr size_t kTasksMax = 100000;
constexpr size_t kNameBytesMax = 100;
constexpr size_t kReferenceEvery = 10;  // tasks

std::vector<std::string> texts(const Node* node) {
  std::vector<std::string> all;
  if (node == nullptr) return all;
  if (node->is_scalar()) all.push_back(node->text);
  for (const Node& item : node->items) all.push_back(item.text);
  return all;
}

// Returns the texts, or one that is empty: a dimension that is not given has one member.
std::vector<std::string> texts_or_one(const Node* node) {
  std::vector<std::string> all = texts(node);
  if (all.empty()) all.emplace_back();
  return all;
}

struct Scenario {
  std::string name;
  Words options;
};

std::vector<Scenario> scenarios_of(const Node* node) {
  if (node == nullptr) return {{"profile", {}}};
  std::vector<Scenario> all;
  for (const Node& item : node->items) {
    Scenario one;
    one.name = item.is_map() ? item.text_of("name") : item.text;
    for (size_t i = 0; i < item.keys.size(); ++i) {
      if (item.keys[i].text != "name") {
        one.options.emplace_back(item.keys[i].text, item.items[i].text);
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

// A model of the sweep, and what its manifest demands.
struct Model {
  std::string word;  // a path is absolute
  std::string name;
  std::vector<std::string> devices;  // empty: any
  std::string container;             // empty: none
};

Result<Model> model_of(const std::string& word, const fs::path& folder, const Names& names) {
  Model model{word, word, {}, {}};
  std::error_code error;
  const fs::path path = fs::absolute(folder / word, error).lexically_normal();
  if (word.find('/') != std::string::npos || fs::exists(path, error)) {
    if (!word.starts_with("fake:") && !fs::exists(path, error)) {
      return usage("no such file: " + path.string());
    }
    if (fs::exists(path, error)) model.word = path.string();
    model.name = path.stem().string();
  } else {
    XSP_CHECK_OK(names.model(word));
  }
  std::optional<manifest::Manifest> manifest;
  if (manifest::is_manifest(model.word)) {
    XSP_TRY(manifest, manifest::read_manifest(model.word));
  } else if (auto found = manifest::find_manifest(word); found.ok()) {
    manifest = std::move(*found);
  }
  if (!manifest) return model;
  model.container = manifest->container;
  if (manifest->hardware) model.devices = manifest->hardware->devices;
  return model;
}

// Returns why the combination cannot be measured; empty: it can.
std::string obstacle(const Model& model, const Task& task) {
  const std::string device = task.device.substr(0, task.device.find(':'));
  if (!device.empty() && !model.devices.empty() &&
      std::find(model.devices.begin(), model.devices.end(), device) == model.devices.end()) {
    return "its manifest names the devices " + joined(model.devices);
  }
  return {};
}

bool is_excluded(const Node* rules, const Model& model, const Task& task) {
  if (rules == nullptr) return false;
  const std::map<std::string, std::string> values = {
      {"model", model.name},
      {"framework", task.framework},
      {"device", task.device},
      {"batch", task.batch > 0 ? std::to_string(task.batch) : ""},
      {"scenario", task.scenario}};
  return std::any_of(rules->items.begin(), rules->items.end(), [&](const Node& rule) {
    for (size_t i = 0; i < rule.keys.size(); ++i) {
      const std::string& key = rule.keys[i].text;
      const bool is_word = key == "model" && rule.items[i].text == model.word;
      if (!is_word && values.at(key) != rule.items[i].text) return false;
    }
    return true;
  });
}

std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, kNameBytesMax)) {
    const bool is_kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                         (c == '.' && !name.empty());
    name += is_kept ? c : '_';
  }
  return name;
}

std::string name_of(const Model& model, const Task& task) {
  std::string name = model.name;
  if (!task.framework.empty()) name += "-" + task.framework;
  if (!task.device.empty()) name += "-" + task.device;
  if (task.batch > 0) name += "-b" + std::to_string(task.batch);
  if (task.scenario != "profile") name += "-" + task.scenario;
  if (!task.system.empty()) name += "-" + task.system;
  return file_name(name);
}

// Expands the file's lists to tasks, the models fastest.
class Expansion {
 public:
  Expansion(const Node& tree, std::vector<Model> models, std::vector<std::string> systems)
      : tree_(tree), models_(std::move(models)), systems_(std::move(systems)) {
    for (const char* key : {"levels", "counters"}) {
      if (tree.find(key) != nullptr)
        profiled_.emplace_back(key, joined(texts(tree.find(key)), ","));
    }
    if (const Node* options = tree.find("options"); options != nullptr) {
      for (size_t i = 0; i < options->keys.size(); ++i) {
        options_.emplace_back(options->keys[i].text, options->items[i].text);
      }
    }
  }

  // Puts the reference task, whose options are those of the others, between them: first, after
  // every so many tasks, and last.
  void add_references(const Node& reference, const Model& model, Plan* plan) {
    Task task;
    task.model = model.word;
    task.container = container_of(model);
    task.framework = reference.text_of("framework");
    task.device = reference.text_of("device");
    if (task.device.empty()) task.device = texts_or_one(tree_.find("devices")).front();
    task.batch = std::atoll(reference.text_of("batch").c_str());
    task.scenario = "profile";
    task.options = options_;
    task.options.insert(task.options.end(), profiled_.begin(), profiled_.end());
    const std::string given = reference.text_of("every");
    const auto every =
        given.empty() ? kReferenceEvery : static_cast<size_t>(std::atoll(given.c_str()));
    std::vector<Task> all;
    int number = 0;
    const auto add_reference = [&] {
      ++number;
      for (const std::string& system : systems_) {
        task.system = system;
        task.name = file_name(catalogue::kReferencePrefix + std::to_string(number) +
                              (system.empty() ? "" : "-" + system));
        all.push_back(task);
      }
    };
    const size_t stride = every * systems_.size();
    for (size_t i = 0; i < plan->tasks.size(); ++i) {
      if (i % stride == 0) add_reference();
      all.push_back(std::move(plan->tasks[i]));
    }
    add_reference();
    plan->tasks = std::move(all);
  }

  void fill(Plan* plan) {
    for (const Scenario& scenario : scenarios_of(tree_.find("scenarios"))) {
      // A load forms its own batches.
      const std::vector<std::string> batches = scenario.name == "profile"
                                                   ? texts_or_one(tree_.find("batches"))
                                                   : std::vector<std::string>{""};
      for (const std::string& batch : batches) fill_batch(scenario, batch, plan);
    }
  }

 private:
  // The model's own image takes precedence over the image of the sweep.
  std::string container_of(const Model& model) const {
    return model.container.empty() ? tree_.text_of("container") : model.container;
  }

  void fill_batch(const Scenario& scenario, const std::string& batch, Plan* plan) {
    for (const std::string& device : texts_or_one(tree_.find("devices"))) {
      for (const std::string& framework : texts_or_one(tree_.find("frameworks"))) {
        for (const std::string& system : systems_) {
          Task task;
          task.framework = framework;
          task.device = device;
          task.batch = batch.empty() ? 0 : std::atoll(batch.c_str());
          task.scenario = scenario.name;
          task.system = system;
          task.options = options_;
          const Words& own = scenario.name == "profile" ? profiled_ : scenario.options;
          task.options.insert(task.options.end(), own.begin(), own.end());
          for (const Model& model : models_) add(model, task, plan);
        }
      }
    }
  }

  void add(const Model& model, Task task, Plan* plan) {
    if (plan->tasks.size() >= kTasksMax) return;
    task.model = model.word;
    task.container = container_of(model);
    task.name = name_of(model, task);
    if (is_excluded(tree_.find("exclude"), model, task)) {
      plan->left_out.push_back({task.name, "it is excluded"});
      return;
    }
    if (const std::string why = obstacle(model, task); !why.empty()) {
      plan->left_out.push_back({task.name, why});
      return;
    }
    for (int number = 2; !names_.insert(task.name).second; ++number) {
      task.name = name_of(model, task) + "-" + std::to_string(number);
    }
    plan->tasks.push_back(std::move(task));
  }

  const Node& tree_;
  std::vector<Model> models_;
  std::vector<std::string> systems_;
  Words profiled_;
  Words options_;
  std::set<std::string> names_;
};

std::string new_id() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S-", &parts);
  char random[16];
  std::snprintf(random, sizeof random, "%08x", std::random_device()());
  return std::string(text) + random;
}

Error wrong(const Asked& asked, const Node& node, const std::string& field,
            const std::string& what) {
  return usage(asked.file + ":" + std::to_string(node.line) + ": " + field + ": " + what);
}

// Returns the models of the list, and then that of the reference, if there is one.
Result<std::vector<Model>> models_of(const Asked& asked, const Node& tree, const Names& names) {
  std::vector<std::pair<std::string, const Node*>> words;
  const Node& list = *tree.find("models");
  for (size_t i = 0; i < list.items.size(); ++i) {
    words.emplace_back("models[" + std::to_string(i) + "]", &list.items[i]);
  }
  if (const Node* reference = tree.find("reference")) {
    words.emplace_back("reference.model", reference->find("model"));
  }
  std::vector<Model> models;
  for (const auto& [field, node] : words) {
    auto model = model_of(node->text, fs::path(asked.file).parent_path(), names);
    if (!model.ok()) return wrong(asked, *node, field, model.error().text);
    models.push_back(std::move(*model));
  }
  return models;
}

// Checks the frameworks and the scenarios.
Status check_names(const Asked& asked, const Node& tree, const Names& names) {
  if (const Node* list = tree.find("frameworks")) {
    for (size_t i = 0; i < list->items.size(); ++i) {
      const Status known = names.framework(list->items[i].text);
      const std::string field = "frameworks[" + std::to_string(i) + "]";
      if (!known.ok()) return wrong(asked, list->items[i], field, known.error().text);
    }
  }
  const Node* reference = tree.find("reference");
  if (const Node* framework = reference != nullptr ? reference->find("framework") : nullptr) {
    const Status known = names.framework(framework->text);
    if (!known.ok()) return wrong(asked, *framework, "reference.framework", known.error().text);
  }
  for (const auto& [field, check] :
       {std::pair("levels", &names.levels), std::pair("counters", &names.counters)}) {
    const Node* list = tree.find(field);
    if (list == nullptr) continue;
    const Status known = (*check)(joined(texts(list), ","));
    if (!known.ok()) return wrong(asked, *list, field, known.error().text);
  }
  const std::vector<Scenario> scenarios = scenarios_of(tree.find("scenarios"));
  for (size_t i = 0; i < scenarios.size(); ++i) {
    if (scenarios[i].name == "profile") continue;
    const Status known = names.scenario(scenarios[i].name);
    const std::string field = "scenarios[" + std::to_string(i) + "]";
    if (known.ok()) continue;
    return wrong(asked, tree.find("scenarios")->items[i], field, known.error().text);
  }
  return Ok{};
}

Result<std::vector<std::string>> systems_of(const Asked& asked, const Node& tree,
                                            const executors::Executor& executor,
                                            const executors::Settings& settings) {
  const Node* list = tree.find("systems");
  const std::vector<std::string> given = texts(list);
  if (list != nullptr && given.empty()) {
    return wrong(asked, *list, "systems", "it names no machine: write some, or any, or all");
  }
  if (given.empty() || given == std::vector<std::string>{"any"})
    return std::vector<std::string>{""};
  XSP_TRY(const std::vector<std::string> known, executor.systems(settings));
  if (given == std::vector<std::string>{"all"}) return known;
  for (const std::string& name : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return wrong(asked, *list, "systems",
                 "the executor " + executor.name + " has no machine '" + name +
                     "': write some of " + joined(known) + ", or all");
  }
  return given;
}

}  // namespace

std::vector<std::string> Task::words() const {
  std::vector<std::string> all;
  if (scenario == "profile") {
    all = {"profile", model};
    if (batch > 0) all.insert(all.end(), {"--batch", std::to_string(batch)});
  } else {
    all = {"evaluate", model, "--scenario", scenario};
  }
  if (!framework.empty()) all.insert(all.end(), {"--framework", framework});
  if (!device.empty()) all.insert(all.end(), {"--device", device});
  for (const auto& [name_of_option, value] : options) {
    all.push_back("--" + name_of_option);
    if (value != "true") all.push_back(value);  // a flag has no value
  }
  return all;
}

std::string Task::subject() const { return joined(words(), " "); }

double seconds_of(const std::string& text) {
  const double number = std::atof(text.c_str());
  return text.ends_with("h") ? number * 3600 : text.ends_with("m") ? number * 60 : number;
}

Result<executors::Settings> settings_of(const Asked& asked, const executors::Executor& executor) {
  XSP_TRY(const Node tree, read_sweep(asked));
  const Node* all = tree.find("executors");
  const Node* own = all != nullptr ? all->find(executor.name) : nullptr;
  executors::Settings settings;
  for (size_t i = 0; own != nullptr && i < own->keys.size(); ++i) {
    settings[own->keys[i].text] = texts(&own->items[i]);
  }
  const Status checked = executors::check_settings(executor, settings);
  if (checked.ok()) return settings;
  const int line = own != nullptr ? own->line : tree.line;
  return usage(asked.file + ":" + std::to_string(line) + ": " + checked.error().text);
}

Result<Plan> expand(const Asked& asked, const executors::Executor& executor, const Names& names) {
  XSP_TRY(const Node tree, read_sweep(asked));
  Plan plan;
  plan.id = new_id();
  plan.name = tree.text_of("name");
  plan.source = asked.text;
  plan.executor = executor.name;
  XSP_TRY(plan.settings, settings_of(asked, executor));
  if (const Node* retries = tree.find("retries")) plan.retries = std::atoi(retries->text.c_str());
  if (const Node* timeout = tree.find("timeout")) plan.timeout_s = seconds_of(timeout->text);
  if (const Node* price = tree.find("price")) plan.price = std::atof(price->text.c_str());
  if (const Node* budget = tree.find("budget")) {
    if (const Node* time = budget->find("time")) plan.budget_s = seconds_of(time->text);
    if (const Node* cost = budget->find("cost")) plan.budget_cost = std::atof(cost->text.c_str());
    if (plan.budget_cost && plan.price <= 0) {
      return usage(asked.file + ":" + std::to_string(budget->line) +
                   ": budget.cost: it needs the price of an hour: write 'price: 3.5'");
    }
  }
  XSP_TRY(std::vector<Model> models, models_of(asked, tree, names));
  XSP_CHECK_OK(check_names(asked, tree, names));
  const Node* reference = tree.find("reference");
  std::optional<Model> reference_model;
  if (reference != nullptr) {
    reference_model = std::move(models.back());
    models.pop_back();
  }
  XSP_TRY(const std::vector<std::string> systems, systems_of(asked, tree, executor, plan.settings));
  Expansion expansion(tree, std::move(models), systems);
  expansion.fill(&plan);
  if (reference_model) expansion.add_references(*reference, *reference_model, &plan);
  if (plan.tasks.size() >= kTasksMax) {
    return usage(asked.file + ": it has " + std::to_string(kTasksMax) +
                 " tasks or more: divide it into several sweeps");
  }
  if (plan.tasks.empty()) {
    return usage(asked.file + ": it has no task: " +
                 (plan.left_out.empty() ? std::string("no machine is there")
                                        : plan.left_out.front().what + " is left out, because " +
                                              plan.left_out.front().why));
  }
  return plan;
}

}  // namespace xsp::sweep
