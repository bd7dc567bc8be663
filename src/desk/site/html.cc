#include "desk/site/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "desk/site/addresses.h"

namespace xsp::site {
namespace {

struct Step {
  double factor;
  const char* label;
};

std::vector<Step> steps_of(std::string_view unit) {
  if (unit == "ns") return {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
  if (unit == "bytes") return {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
  if (unit == "flops") return {{1, "flop"}, {1e6, "Mflop"}, {1e9, "Gflop"}, {1e12, "Tflop"}};
  if (unit == "flops_per_s") return {{1, "flop/s"}, {1e9, "Gflop/s"}, {1e12, "Tflop/s"}};
  if (unit == "bytes_per_s") return {{1, "B/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
  if (unit == "flops_per_byte") return {{1, "flop/B"}};
  if (unit == "per_s") return {{1, "/s"}};
  if (unit == "pct") return {{1, "%"}};
  if (unit == "j") return {{1e-6, "uJ"}, {1e-3, "mJ"}, {1, "J"}, {1e3, "kJ"}};
  if (unit == "w") return {{1, "W"}};
  return {{1, ""}};
}

std::string with_groups(std::string digits) {
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > 3 && std::isdigit(static_cast<unsigned char>(digits[at - 4]));) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// Returns four significant digits at most.
std::string digits_of(double value) {
  const double size = std::abs(value);
  if (size >= 1000 || value == std::floor(value)) return with_groups(fmt::format("{:.0f}", value));
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return size >= 0.001 ? fmt::format("{:.3f}", value) : fmt::format("{:.3g}", value);
}

// Each page links to these. A place has an address, from the folder of the index, and a name.
constexpr std::array<std::pair<const char*, const char*>, 6> kPlaces = {{
    {kIndexPage, "Models"},
    {kBatchesPage, "Batch sizes"},
    {kFrameworksPage, "Frameworks"},
    {kEnergyPage, "Energy"},
    {kLoadsPage, "Load"},
    {"index.html#systems", "Systems"},
}};

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string number_text(double value, std::string_view unit) {
  const std::vector<Step> steps = steps_of(unit);
  Step best = steps.front();
  for (const Step& step : steps) {
    if (step.factor <= std::abs(value)) best = step;
  }
  const std::string digits = digits_of(value / best.factor);
  return *best.label == '\0' ? digits : digits + " " + best.label;
}

Cell text_cell(std::string_view text) { return {escaped(text), std::nullopt, "", false}; }

std::string file_html(std::string_view name) {
  std::string text;
  for (const char c : escaped(name)) {
    text += c;
    if (c == '.' || c == '/') text += "<wbr>";
  }
  return "<span class=\"file\">" + text + "</span>";
}

Cell file_cell(std::string_view name) { return {file_html(name), std::nullopt, "", false}; }

Cell link_cell(std::string_view text, const std::string& address) {
  return {"<a href=\"" + escaped(address) + "\">" + escaped(text) + "</a>", std::nullopt, "",
          false};
}

Cell number_cell(double value, std::string_view unit) {
  return {escaped(number_text(value, unit)), value, "", true};
}

Cell batch_cell(int64_t batch) {
  if (batch == catalogue::kBatchUnknown) return text_cell(catalogue::batch_text(batch));
  return number_cell(static_cast<double>(batch), "count");
}

Cell figure_cell(const catalogue::Figure* figure) {
  if (figure == nullptr) return not_measured();
  if (!figure->word.empty()) {
    Cell cell = text_cell(figure->word);
    if (figure->value) {
      cell.html += "<small>" + escaped(number_text(*figure->value, figure->unit)) + "</small>";
    }
    return cell;
  }
  if (!figure->value) return not_measured(figure->note);
  Cell cell = number_cell(*figure->value, figure->unit);
  if (figure->low && figure->high) {
    cell.html += "<small>" + escaped(number_text(*figure->low, figure->unit)) + " to " +
                 escaped(number_text(*figure->high, figure->unit)) + "</small>";
  }
  cell.html += doubt_html({figure});
  return cell;
}

std::string doubt_html(const std::vector<const catalogue::Figure*>& figures) {
  std::vector<std::string> doubts;
  for (const catalogue::Figure* figure : figures) {
    if (figure == nullptr || figure->doubt.empty()) continue;
    if (std::find(doubts.begin(), doubts.end(), figure->doubt) == doubts.end()) {
      doubts.push_back(figure->doubt);
    }
  }
  if (doubts.empty()) return {};
  const std::string mark = doubts[0].substr(0, doubts[0].find(':'));
  for (std::string& doubt : doubts) {
    if (doubt.starts_with(mark + ": ")) doubt.erase(0, mark.size() + 2);
  }
  // An ending that all have, "1.0 % was wanted", is told once.
  const std::string ending = doubts[0].substr(std::min(doubts[0].rfind(", "), doubts[0].size()));
  const bool is_shared = doubts.size() > 1 && !ending.empty() &&
                         std::all_of(doubts.begin(), doubts.end(), [&](const std::string& doubt) {
                           return doubt.ends_with(ending);
                         });
  std::string all;
  for (const std::string& doubt : doubts) {
    all +=
        (all.empty() ? "" : "; ") + doubt.substr(0, doubt.size() - (is_shared ? ending.size() : 0));
  }
  if (is_shared) all += "; " + ending.substr(2);
  return "<small class=\"doubt\" title=\"" + escaped(all) + "\">" + escaped(mark) + "</small>";
}

Cell not_measured(std::string_view why) {
  constexpr std::string_view kPrefix = "not measured: ";
  if (why.starts_with(kPrefix)) why.remove_prefix(kPrefix.size());
  const std::string title = why.empty() ? "" : " title=\"" + escaped(why) + "\"";
  return {"<span class=\"none\"" + title + ">not measured</span>", std::nullopt, "", false};
}

std::string table_html(const std::string& id, const std::string& caption,
                       const std::vector<std::string>& heads,
                       const std::vector<std::vector<Cell>>& rows) {
  std::string html = "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"" + id +
                     "-caption\"><table id=\"" + id + "\"><caption id=\"" + id + "-caption\">" +
                     escaped(caption) + "</caption><thead><tr>";
  for (const std::string& head : heads) html += "<th scope=\"col\">" + escaped(head) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      const bool is_head = &cell == &row.front();
      html += is_head ? "<th scope=\"row\"" : "<td";
      if (cell.is_number) html += " class=\"n\"";
      if (cell.key) html += " data-key=\"" + fmt::format("{:.6g}", *cell.key) + "\"";
      if (!cell.style.empty()) html += " style=\"" + escaped(cell.style) + "\"";
      html += ">" + cell.html + (is_head ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string note_html(const std::string& html) { return "<p class=\"note\">" + html + "</p>\n"; }

std::string section_html(const std::string& id, const std::string& title, const std::string& html) {
  return "<h2 id=\"" + id + "\">" + escaped(title) + "</h2>\n" + note_html(html);
}

std::string page_html(const std::string& title, const std::string& address,
                      const std::string& body) {
  const std::string root = root_of(address);
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
      escaped(title) +
      " · xsp</title><link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" "
      "href=\"" +
      root + "style.css\"><script src=\"" + root +
      "site.js\" defer></script></head><body>\n<a class=\"skip\" href=\"#content\">To the "
      "content</a><header><a class=\"brand\" href=\"" +
      root + kIndexPage + "\" aria-label=\"xsp, start\">xsp</a><nav aria-label=\"Pages\">";
  for (const auto& [its_address, name] : kPlaces) {
    html += "<a href=\"" + root + its_address + "\"" +
            (address == its_address ? " aria-current=\"page\"" : "") + ">" + name + "</a>";
  }
  return html +
         "</nav><button id=\"theme\" type=\"button\" hidden>Theme</button></header>\n"
         "<main id=\"content\" tabindex=\"-1\"><h1>" +
         escaped(title) + "</h1>\n" + body +
         "</main>\n<footer>Written by xsp " XSP_VERSION
         ". Intervals are 95 % intervals. Files are the truth: each figure is one that xsp shows "
         "for the file.</footer></body></html>\n";
}

}  // namespace xsp::site
