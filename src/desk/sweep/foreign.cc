#include "desk/sweep/foreign.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "desk/manifest/yaml.h"
#include "desk/sweep/read_sweep.h"

namespace xsp::sweep {
namespace {

using manifest::Node;

// Options of xsp profile and xsp evaluate that name no file, and load no library.
constexpr std::array kOptions = {
    "arrivals", "block-time", "bound",    "clients",       "instances", "max-batch",
    "max-time", "max-wait",   "no-peaks", "output-tokens", "price",     "prompt-tokens",
    "rate",     "requests",   "seed",     "threads",       "timeout",   "width"};

// Such a word is no path, and no option of a program.
bool is_plain(const std::string& text) {
  const auto is_of_word = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_.:=,@+-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return std::all_of(text.begin(), text.end(), is_of_word) &&
         (text.empty() || std::isalnum(static_cast<unsigned char>(text[0])) != 0);
}

Error wrong(const Asked& asked, int line, const std::string& what) {
  return usage(asked.file + ":" + std::to_string(line) + ": " + what);
}

Status check_words(const Asked& asked, const Node& node) {
  if (node.is_scalar() && !is_plain(node.text)) {
    return wrong(asked, node.line,
                 "'" + node.text + "': not a plain word: a sweep over the network names no files");
  }
  for (const Node& item : node.items) XSP_CHECK_OK(check_words(asked, item));
  return Ok{};
}

Status check_options(const Asked& asked, const Node* map, const std::string& field) {
  if (map == nullptr || !map->is_map()) return Ok{};
  for (const manifest::Key& key : map->keys) {
    const bool is_known = key.text == "name" ||
                          std::find(kOptions.begin(), kOptions.end(), key.text) != kOptions.end();
    if (is_known) continue;
    return wrong(asked, key.line,
                 field + "." + key.text + ": not an option of a sweep over the network");
  }
  return Ok{};
}

}  // namespace

Status check_foreign(const Asked& asked, const CheckModel& check_model) {
  XSP_TRY(const Node tree, read_sweep(asked));
  for (const char* field : {"container", "executors", "systems"}) {
    if (const Node* node = tree.find(field)) {
      return wrong(asked, node->line,
                   std::string(field) + ": who started the server says where tasks run");
    }
  }
  XSP_CHECK_OK(check_words(asked, tree));
  XSP_CHECK_OK(check_options(asked, tree.find("options"), "options"));
  if (const Node* scenarios = tree.find("scenarios")) {
    for (const Node& item : scenarios->items) {
      XSP_CHECK_OK(check_options(asked, &item, "scenarios"));
    }
  }
  std::vector<std::pair<std::string, const Node*>> models;
  for (const Node& item : tree.find("models")->items) {
    models.emplace_back("models[" + std::to_string(models.size()) + "]", &item);
  }
  if (const Node* reference = tree.find("reference")) {
    models.emplace_back("reference.model", reference->find("model"));
  }
  for (const auto& [field, model] : models) {
    const Status may_run = check_model(model->text);
    if (!may_run.ok()) return wrong(asked, model->line, field + ": " + may_run.error().text);
  }
  return Ok{};
}

}  // namespace xsp::sweep
