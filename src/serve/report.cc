#include "serve/report.h"

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analyze/catalogue.h"
#include "serve/api.h"
#include "serve/routes.h"
#include "serve/timeline.h"

namespace xsp::serve {
namespace {

constexpr std::string_view kMarker = "<!--xsp:recorded-->";

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t some = std::min<size_t>(3, bytes.size() - i);
    unsigned word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < some ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= some ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, and gzip's header
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    return failed("report: zlib could not start: is memory short?");
  }
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  // zlib reads through a pointer that it does not declare const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int ended = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) return failed("report: zlib stopped half-way");
  return bytes;
}

// Every analysis as it stands, and at each batch size where it takes one.
void add_analyses(const Entry& entry, std::vector<std::string>& requests) {
  for (const analyze::Analysis& one : analyze::catalogue().value()) {
    const std::string request =
        std::string(kApiPrefix) + "/evaluations/" + encode(entry.id) + "/analyses/" + one.name;
    requests.push_back(request);
    for (const analyze::Param& param : one.params) {
      if (param.name != "batch") continue;
      for (const int batch : entry.batches) {
        requests.push_back(request + "?batch=" + std::to_string(batch));
      }
    }
  }
}

Result<std::vector<std::string>> requests_of(Library& library) {
  if (!analyze::catalogue().ok()) return analyze::catalogue().error();
  const std::string prefix(kApiPrefix);
  std::vector<std::string> requests = {prefix + "/catalogue", prefix + "/evaluations"};
  const std::vector<Entry> entries = library.entries();
  for (const Entry& entry : entries) {
    if (!entry.reason.empty()) return failed(entry.reason);
    requests.push_back(prefix + "/evaluations/" + encode(entry.id));
    add_analyses(entry, requests);
    XSP_TRY(const std::vector<std::string> timeline, timeline_requests(library, entry.id));
    requests.insert(requests.end(), timeline.begin(), timeline.end());
  }
  for (std::string& one : compare_requests(entries)) requests.push_back(std::move(one));
  return requests;
}

}  // namespace

Result<std::string> make_report(Library& library, std::string_view page, const Progress& progress) {
  const size_t marker = page.find(kMarker);
  if (marker == std::string_view::npos) {
    return failed("page: it has no place for a report's answers: build it anew from web/");
  }
  XSP_TRY(const std::vector<std::string> requests, requests_of(library));
  Api api(library, kReportRows);
  std::string answers = "{";
  for (size_t i = 0; i < requests.size(); ++i) {
    const Answer answer = api.answer(requests[i]);
    progress(i + 1, requests.size());
    if (answer.status != 200) continue;  // the page says that it is not here
    answers += (answers.size() > 1 ? "," : "") + nlohmann::json(requests[i]).dump() + ":";
    answers += answer.body;
  }
  answers += "}";
  XSP_TRY(const std::string packed, gzip(answers));
  std::string report(page.substr(0, marker));
  report += "<script id=\"xsp-recorded\" type=\"application/gzip+base64\">" + base64(packed) +
            "</script>";
  report += page.substr(marker + kMarker.size());
  return report;
}

}  // namespace xsp::serve
