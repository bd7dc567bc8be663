#include "desk/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <vector>

namespace xsp::cli {
namespace {

constexpr size_t kWidthMin = 40;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    std::string value = std::getenv(name);
    for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

// Returns the offset at which each code point of the text begins, and the text's end.
std::vector<size_t> code_points(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80u) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.is_terminal = isatty(descriptor) == 1;
  const char* term = std::getenv("TERM");
  const bool is_dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  terminal.colours = terminal.is_terminal && !is_set("NO_COLOR") && !is_dumb;
  terminal.utf8 = locale_is_utf8();
  winsize size{};
  if (terminal.is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::max<size_t>(size.ws_col, kWidthMin);
  }
  return terminal;
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
  if (!terminal.colours || style == Style::kPlain || text.empty()) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kTitle:
      code = "\x1b[1m";
      break;
    case Style::kFaint:
      code = "\x1b[2m";
      break;
    case Style::kBar:
      code = "\x1b[36m";
      break;
    case Style::kBad:
      code = "\x1b[31m";
      break;
    case Style::kGood:
      code = "\x1b[32m";
      break;
  }
  return code + std::string(text) + "\x1b[0m";
}

size_t width_of(std::string_view text) { return code_points(text).size() - 1; }

std::string shortened(const Terminal& terminal, std::string_view text, size_t width) {
  const std::vector<size_t> starts = code_points(text);
  const size_t length = starts.size() - 1;
  if (length <= width) return std::string(text);
  const std::string_view ellipsis = terminal.utf8 ? "…" : "..";
  const size_t kept = width - std::min(width, width_of(ellipsis));
  const size_t head = (kept + 1) / 2;
  std::string result(text.substr(0, starts[head]));
  result += ellipsis;
  result += text.substr(starts[length - (kept - head)]);
  return result;
}

namespace {

// The shortened form of each text.
using Forms = std::map<std::string, std::string>;

// Returns groups of texts whose forms are equal.
std::vector<std::vector<std::string>> alike(const std::vector<std::string>& texts,
                                            const Forms& forms) {
  std::map<std::string, std::set<std::string>> by_form;
  for (const std::string& text : texts) by_form[forms.at(text)].insert(text);
  std::vector<std::vector<std::string>> groups;
  for (const auto& [form, group] : by_form) {
    if (group.size() > 1) groups.emplace_back(group.begin(), group.end());
  }
  return groups;
}

// Returns how many code points all texts begin with.
size_t common_length(const std::vector<std::string>& sorted) {
  const std::string &first = sorted.front(), &last = sorted.back();
  const std::vector<size_t> starts = code_points(first);
  size_t length = 0;
  while (length + 1 < starts.size() &&
         first.compare(0, starts[length + 1], last, 0, starts[length + 1]) == 0) {
    ++length;
  }
  return length;
}

// Gives texts that look the same, of which all begin with `shared` code points at least, forms that
// differ.
void tell_apart(const Terminal& terminal, const std::vector<std::string>& group, size_t width,
                size_t shared, Forms* forms) {
  const std::string ellipsis = terminal.utf8 ? "…" : "..";
  const size_t head = width / 4, common = common_length(group);
  if (common < shared || width < head + 2 * width_of(ellipsis) + 1) return;
  const size_t room = width - head - 2 * width_of(ellipsis);
  for (const std::string& text : group) {
    const std::vector<size_t> starts = code_points(text);
    const size_t length = starts.size() - 1;
    if (common <= head || length <= width) continue;
    const bool is_end = length - common <= room + width_of(ellipsis);
    const size_t from = is_end ? length - (room + width_of(ellipsis)) : common;
    std::string form = text.substr(0, starts[head]) + ellipsis;
    form +=
        text.substr(starts[from], is_end ? std::string::npos : starts[from + room] - starts[from]);
    (*forms)[text] = form + (is_end ? "" : ellipsis);
  }
  for (const auto& rest : alike(group, *forms)) {
    tell_apart(terminal, rest, width, common + 1, forms);
  }
}

}  // namespace

std::vector<std::string> shortened_apart(const Terminal& terminal,
                                         const std::vector<std::string>& texts, size_t width) {
  Forms forms;
  for (const std::string& text : texts) forms[text] = shortened(terminal, text, width);
  for (const auto& group : alike(texts, forms)) tell_apart(terminal, group, width, 0, &forms);
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(forms.at(text));
  return result;
}

std::string wrapped(std::string_view text, size_t width, size_t indent) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string result;
  std::string line(text.substr(0, begin));
  bool has_word = false;
  text.remove_prefix(begin);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (has_word && width_of(line) + 1 + width_of(word) > width) {
      result += line + "\n";
      line = std::string(indent, ' ');
      has_word = false;
    }
    line += has_word ? " " : "";
    line += word;
    has_word = true;
  }
  return result + line + "\n";
}

std::string bar(const Terminal& terminal, double part, size_t width) {
  if (!(part > 0)) return {};
  const double filled = std::min(part, 1.0) * static_cast<double>(width);
  std::string text;
  if (!terminal.utf8) {
    const auto count = static_cast<size_t>(std::max(1.0, std::round(filled)));
    return std::string(count, '#');
  }
  const auto eighths = static_cast<size_t>(std::max(1.0, std::round(filled * 8)));
  static const char* const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + parts[eighths % 8];
}

Status write_stdout(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return Ok{};
  return failed(std::string("standard output: cannot be written: ") + std::strerror(errno) +
                ": make room, or redirect it elsewhere");
}

}  // namespace xsp::cli
