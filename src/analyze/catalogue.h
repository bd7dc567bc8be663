// The catalogue: every analyses/*.sql, described by its own comment header.
//
// An analysis is one query over the tables of an .xsp file and the macros of
// analyses/prelude_*.sql. Its header is a block of comments at the top of the file:
//
//     -- @id a1                               unique; what the papers call it, or x1, x2, ...
//     -- @name model_information              unique; the words that a person types
//     -- @title Model information
//     -- @question How fast is the model at each batch size?
//     -- Any further prose: how it is computed, what to beware of.
//     -- @needs model,layer                   what must have been measured: levels, or `peak`
//                                          (ceilings), `counters` (of kernels), `memory`
//                                          (allocations), `energy`,
//                                          `clocks` (of the device), `training`,
//                                          `library_calls`, `samples`,
//                                          `watched` (steps of a program)
//     -- @param batch integer - Which batch size; by default the smallest that was measured.
//     -- @column latency_ns ns Trimmed mean of the latency.
//     -- @view table top=20 by=latency_ns bar=latency_ns
//
// A parameter has a name, a type (integer, double, text), a default (- is NULL) and a description;
// the query reads it as $name. A column has a name, a unit and a description, in the order of the
// result. A view says how to draw the result, for faces that draw: `table` is the terminal's, the
// page has those of web/src/views/kinds, where each says its options. Their values are columns, but
// for `top` (a number) and `title` (a word). A view may take several lines; the lists of an option
// that is given again go on.
//
// Which layer or kernel a row is about, faces tell by the columns' names: a text column `layer`
// names the layer, `kernel` the kernel, and `name` what the deepest level in @needs has; `label` is
// how that name is shown.
//
// An analysis may be put together of rules, one file each: analyses/NAME/RULE.sql, where NAME is
// the analysis's. Each is one query, whose rows go into the temporary table `found`, with the
// rule's name; the analysis's own query then reads that. The folder's prelude_*.sql make that
// table, and what several rules ask, anew each time that the analysis runs; they may use its
// parameters, and have no header but @needs. A rule's header has
//
//     -- @title Bound by launches
//     -- @rule The device is idle while the host launches its next kernel.
//     -- @needs kernel                     where that was not measured, the rule is left out
//
// Thread rule: everything here is constant after the first call and may be read by any thread.
#ifndef XSP_ANALYZE_CATALOGUE_H_
#define XSP_ANALYZE_CATALOGUE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/embedded.h"
#include "base/result.h"

namespace xsp::analyze {

struct Param {
  std::string name;
  std::string type;           // "integer", "double", "text"
  std::string default_value;  // as text; "-": NULL
  std::string description;
};

struct Column {
  std::string name;
  std::string unit;  // see units()
  std::string description;
};

struct View {
  std::string kind;  // "table", "bar", "bars", "stacked_bar", "pie", "box", "line", "roofline", ...
  std::map<std::string, std::string> options;
};

struct Rule {
  std::string name;  // the file's
  std::string title;
  std::string sentence;  // what it looks for
  std::vector<std::string> needs;
  std::string_view sql;  // the file's text
};

struct Analysis {
  std::string id;
  std::string name;
  std::string title;
  std::string question;
  std::string description;         // the prose of the header, one paragraph
  std::vector<std::string> needs;  // levels by name, "peak", "counters", "memory", "energy",
                                   // "layer_energy", "clocks", "training", "library_calls",
                                   // "samples", "watched"
  std::vector<Param> params;
  std::vector<Column> columns;
  std::vector<View> views;
  std::vector<Rule> rules;
  std::vector<Rule> facts;  // what the rules share: statements to run before them
  std::string_view sql;     // the file's text

  // The view of this kind, or nullptr.
  const View* view(std::string_view kind) const;
};

// The units that a column may have. Those with a suffix end the names of their columns: latency_ns,
// or just flops.
struct Unit {
  std::string_view name;
  std::string_view suffix;  // empty: none

  bool ends(std::string_view column) const;
};
const std::vector<Unit>& units();

// The names of the levels, by number less one: "application", "model", ...
const std::vector<std::string>& level_names();

// Reads the header of one file. The error says which line is wrong, and how.
Result<Analysis> parse_analysis(std::string_view file, std::string_view text);

// Likewise of one rule of an analysis.
Result<Rule> parse_rule(std::string_view file, std::string_view text);

// Is this file no analysis, but one of those that all of them share?
bool is_prelude(std::string_view file);

// Reads several files: every header, and that ids and names are unique; rules go to their analysis.
// The preludes are left out.
// In order of id: a1 a2 ... a10 ... x1.
Result<std::vector<Analysis>> parse_catalogue(const std::vector<EmbeddedSql>& files);

// What the build compiled in.
const Result<std::vector<Analysis>>& catalogue();

// By id ("a11", "A11") or name ("kernels_by_layer", "kernels-by-layer"). Unknown: Code::kUsage,
// with what may have been meant.
Result<const Analysis*> find(std::string_view id_or_name);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_CATALOGUE_H_
