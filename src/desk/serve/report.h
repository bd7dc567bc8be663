// Report: one HTML file that contains the page and the answers that it asks for.
//
// The answers are those of the Api, unchanged. Their keys are the requests as the page spells them
// (requestOf in web/src/data/source.ts). They are a JSON object, compressed with gzip, as base64,
// in the element #xsp-recorded. If a request was not recorded, the page says that it is `not in
// this report`.
#ifndef XSP_DESK_SERVE_REPORT_H_
#define XSP_DESK_SERVE_REPORT_H_

#include <functional>
#include <string>
#include <string_view>

#include "desk/serve/library.h"
#include "shared/base/result.h"

namespace xsp::serve {

// The number of rows of one answer that a report keeps; total_rows has the number of all rows.
inline constexpr size_t kReportRows = 5'000;

// Reports the progress: recorded answers, of how many. Several threads call it, one at a time.
using Progress = std::function<void(size_t done, size_t all)>;

// Returns the file's whole text. Fails if an evaluation of the library cannot be read.
Result<std::string> make_report(Library& library, std::string_view page, const Progress& progress);

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_REPORT_H_
