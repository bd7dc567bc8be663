// HTML: pieces of pages. Every text is escaped here, and nowhere else.
#ifndef XSP_DESK_SITE_HTML_H_
#define XSP_DESK_SITE_HTML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/catalogue/figures.h"

namespace xsp::site {

extern const std::string_view kThemeCss;
extern const std::string_view kSiteCss;
extern const std::string_view kSiteJs;

std::string escaped(std::string_view text);

// Returns a number with its unit, scaled for a reader: "3.96 ms", "1,338 /s".
std::string number_text(double value, std::string_view unit);

// One cell of a table.
struct Cell {
  std::string html;
  std::optional<double> key;  // sorts the column; nothing: the text does
  std::string style;          // of the cell; --tint colours it (site.css); empty: none
  bool is_number = false;
};
Cell text_cell(std::string_view text);
// A file's name breaks where it must.
std::string file_html(std::string_view name);
Cell file_cell(std::string_view name);
Cell link_cell(std::string_view text, const std::string& address);
Cell number_cell(double value, std::string_view unit);
Cell batch_cell(int64_t batch);
// Shows the value, its interval below it, and the first words of its doubt, whose rest is their
// title, if it has one. A figure that was not measured says so, with the reason as its title.
Cell figure_cell(const catalogue::Figure* figure);
// Returns the mark of a number that follows from these figures: the first words of the first doubt
// in them, with the rest of all doubts as its title. Empty: there is none.
std::string doubt_html(const std::vector<const catalogue::Figure*>& figures);
Cell not_measured(std::string_view why = {});

// Returns a table that the reader can sort by its columns. `caption` says what it shows.
std::string table_html(const std::string& id, const std::string& caption,
                       const std::vector<std::string>& heads,
                       const std::vector<std::vector<Cell>>& rows);

// Returns a text that says what follows it, and a section that begins with one. They are HTML.
std::string note_html(const std::string& html);
std::string section_html(const std::string& id, const std::string& title, const std::string& html);

// Returns a whole page. `address` is its own, from the folder of the index.
std::string page_html(const std::string& title, const std::string& address,
                      const std::string& body);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_HTML_H_
