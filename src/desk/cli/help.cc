#include "desk/cli/help.h"

#include <algorithm>
#include <utility>

#include "desk/cli/terminal.h"

namespace xsp::cli {
namespace {

constexpr size_t kNameColumns = 30;     // of the names, beside which the descriptions stand
constexpr size_t kDescriptionMin = 48;  // columns of a description; with less it stands below
constexpr size_t kIndentBelow = 6;

std::string without_indent(std::string_view line) {
  return std::string(line.substr(std::min(line.find_first_not_of(' '), line.size())));
}

// Returns a name, and beside or below it what it is.
std::string entry(const std::string& name, std::string description, size_t width) {
  std::replace(description.begin(), description.end(), '\n', ' ');
  const std::string label = "  " + name;
  if (description.empty()) return label + "\n";
  if (width < kNameColumns + kDescriptionMin) {
    return label + "\n" +
           wrapped(std::string(kIndentBelow, ' ') + description, width, kIndentBelow);
  }
  const std::string beside =
      wrapped(std::string(kNameColumns, ' ') + description, width, kNameColumns);
  if (width_of(label) + 2 > kNameColumns) return label + "\n" + beside;
  return label + beside.substr(width_of(label));
}

class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(size_t width) : width_(width) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option), width_);
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_display_name(true), verb->get_description(), width_);
  }
  // CLI11 would add how many verbs are required, which the line of usage says.
  std::string make_description(const CLI::App* app) const override {
    return wrapped_prose(app->get_description(), width_);
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    constexpr size_t kIndent = 4;
    std::string line = CLI::Formatter::make_usage(app, std::move(name));
    while (!line.empty() && line.back() == '\n') line.pop_back();
    return wrapped(line, width_, kIndent);
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : wrapped_prose(app->get_footer(), width_);
  }

 private:
  size_t width_;
};

}  // namespace

std::string wrapped_prose(std::string_view text, size_t width) {
  std::string all, item;
  size_t column = 0;  // of an item's second word, where its further lines begin
  size_t indent = 0;  // the same, but no more than a third of the width
  bool is_example = false;
  const auto end_item = [&] {
    // The gap behind an item's first word is kept.
    const std::string head = item.substr(0, indent);
    if (!item.empty()) {
      const std::string lines =
          wrapped(std::string(indent, ' ') + item.substr(head.size()), width, indent);
      all += head + lines.substr(head.size());
    }
    item.clear();
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    const bool is_end = line.empty();
    is_example = !is_end && (is_example || line.starts_with("Example"));
    if (is_end || is_example) {
      end_item();
      all += std::string(line) + "\n";
    } else if (!item.empty() && spaces == column) {
      item += " " + without_indent(line);
    } else {
      end_item();
      item = line;
      column = spaces == 0 ? 0 : line.find_first_not_of(' ', line.find(' ', spaces));
      indent = std::min(column, width / 3);
    }
  }
  end_item();
  return all;
}

std::shared_ptr<CLI::FormatterBase> help_formatter(size_t width) {
  return std::make_shared<Formatter>(width);
}

}  // namespace xsp::cli
