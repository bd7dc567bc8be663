// Report: the page with the answers that it asks for, in one HTML file.
//
// The answers are those of the Api, word for word, by their requests as the page spells them
// (requestOf in web/src/data/source.ts): a JSON object, compressed with gzip, as base64, in the
// element #xsp-recorded. What was not recorded, the page says to be `not in this report`.
#ifndef XSP_SERVE_REPORT_H_
#define XSP_SERVE_REPORT_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/library.h"

namespace xsp::serve {

// Rows of one answer that a report keeps; total_rows tells how many there are.
inline constexpr size_t kReportRows = 5'000;

// How far it is: answers recorded, of how many. Called from several threads, by one at a time.
using Progress = std::function<void(size_t done, size_t all)>;

// The whole file's text. Fails if an evaluation of the library cannot be read.
Result<std::string> make_report(Library& library, std::string_view page, const Progress& progress);

}  // namespace xsp::serve

#endif  // XSP_SERVE_REPORT_H_
