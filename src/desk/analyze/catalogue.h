// The catalogue: every analyses/*.sql, described by its own comment header.
//
// An analysis is one query over the tables of an .xsp file and the macros of
// analyses/prelude_*.sql. Its header is a block of comments at the top of the file:
//
//     -- @id a1                               unique; the name in the papers, or x1, x2, ...
//     -- @name model_information              unique; the words that a person types
//     -- @title Model information
//     -- @question How fast is the model at each batch size?
//     -- Any further prose: how it is computed, and its limits.
//     -- @needs model,layer                   what must have been measured: levels, or `peak`
//                                          (ceilings), `counters` (of kernels), `memory`
//                                          (allocations), `energy`,
//                                          `clocks` (of the device), `training`,
//                                          `library_calls`, `samples`,
//                                          `watched` (steps of a program), `requests`, `tokens`,
//                                          `batches` (kernels at several batch sizes), `part` (that
//                                          of a program which xsp run was to record), `causes` (of
//                                          a device's waiting, or of a program's step)
//     -- @doubts kernel                    further levels whose doubts are doubts about its result
//     -- @param batch integer - Which batch size; by default the smallest that was measured.
//     -- @column latency_ns ns Trimmed mean of the latency.
//     -- @view table top=20 by=latency_ns bar=latency_ns
//
// A parameter has a name, a type (integer, double, text), a default (- is NULL) and a description;
// the query reads it as $name. The type of a number may end with the least that it may be, as in
// double>=0, or with what it must be above, as in double>0. A column has a name, a unit and a
// description, in the order of the result. A view tells a program how to draw the result: `table`
// is for the terminal. The page draws the views of web/src/views/kinds, where each file lists its
// options. The values of options are columns, except `top` (a number) and `title` (a word). A view
// may take several lines; if an option with a list is given again, its values are appended. Of a
// table's rows, `top` are shown: the largest by `by`, or in their own order the largest by
// `largest`.
//
// The columns' names tell which layer or kernel a row is about: a text column `layer` names the
// layer, `kernel` names the kernel, and `name` names the object of the deepest level in @needs.
// `label` is the text that is shown for that name.
//
// An analysis may consist of rules, one file each: analyses/NAME/RULE.sql, where NAME is the
// analysis's. Each rule is one query. Its rows go into the temporary table `found`, with the rule's
// name, and the analysis's own query reads that table. The folder's prelude_*.sql make that table,
// and the tables that several rules share. They run again each time that the analysis runs. They
// may use its parameters, and their only header is @needs. A rule's header has
//
//     -- @title Bound by launches
//     -- @rule The device is idle while the host launches its next kernel.
//     -- @needs kernel                     if that was not measured, the rule is left out
//
// Thread rule: everything here is constant after the first call and may be read by any thread.
#ifndef XSP_DESK_ANALYZE_CATALOGUE_H_
#define XSP_DESK_ANALYZE_CATALOGUE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desk/analyze/embedded.h"
#include "shared/base/result.h"

namespace xsp::analyze {

struct Param {
  std::string name;
  std::string type;               // "integer", "double", "text"
  std::optional<double> least{};  // the least value of a number; nothing: any
  bool is_above = false;          // the number is above `least`, and not equal to it
  std::string default_value;      // as text; "-": NULL
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
  std::string name;  // the file's name
  std::string title;
  std::string sentence;  // the sentence that says what it looks for
  std::vector<std::string> needs;
  std::string_view sql;  // the text of the file
};

struct Analysis {
  std::string id;
  std::string name;
  std::string title;
  std::string question;
  std::string description;          // the prose of the header, one paragraph
  std::vector<std::string> needs;   // levels by name, "peak", "counters", "memory", "energy",
                                    // "layer_energy", "clocks", "training", "library_calls",
                                    // "samples", "watched"
  std::vector<std::string> doubts;  // further levels whose doubts stand below the result
  std::vector<Param> params;
  std::vector<Column> columns;
  std::vector<View> views;
  std::vector<Rule> rules;
  std::vector<Rule> facts;  // statements to run before the rules, which share their results
  std::string_view sql;     // the text of the file

  // Returns the view of this kind, or nullptr.
  const View* view(std::string_view kind) const;
};

// The units that a column may have. A unit with a suffix ends the names of its columns, as in
// latency_ns; a name may also be the suffix alone, as in flops.
struct Unit {
  std::string_view name;
  std::string_view suffix;  // empty: no suffix

  bool ends(std::string_view column) const;
};
const std::vector<Unit>& units();

// Returns the names of the levels, by number less one: "application", "model", ...
const std::vector<std::string>& level_names();

// Reads the header of one file. The error says which line is wrong, and why.
Result<Analysis> parse_analysis(std::string_view file, std::string_view text);

// Reads the header of one rule of an analysis.
Result<Rule> parse_rule(std::string_view file, std::string_view text);

// Returns whether this file is one that all analyses share, and not an analysis.
bool is_prelude(std::string_view file);

// Reads the headers of several files, and checks that ids and names are unique. Adds rules to their
// analysis, and leaves out the preludes. Sorts by id: a1 a2 ... a10 ... x1.
Result<std::vector<Analysis>> parse_catalogue(const std::vector<EmbeddedSql>& files);

// Returns the analyses that the build compiled in.
const Result<std::vector<Analysis>>& catalogue();

// Finds an analysis by id ("a11", "A11") or name ("kernels_by_layer", "kernels-by-layer"). An
// unknown one gives Code::kUsage, with similar names.
Result<const Analysis*> find(std::string_view id_or_name);

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_CATALOGUE_H_
