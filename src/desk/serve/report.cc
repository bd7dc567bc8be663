#include "desk/serve/report.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "desk/analyze/catalogue.h"
#include "desk/serve/api.h"
#include "desk/serve/http/routes.h"
#include "desk/serve/timeline/timeline.h"

namespace xsp::serve {
namespace {

constexpr std::string_view kMarker = "<!--xsp:recorded-->";
constexpr const char* kBatch = "?batch=";

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
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
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

// Adds every analysis without a batch size, and at each batch size if it takes one. Those of one
// analysis are adjacent.
void add_analyses(const Entry& entry, std::vector<Recorded>* requests) {
  for (const analyze::Analysis& one : analyze::catalogue().value()) {
    const std::string request =
        std::string(kApiPrefix) + "/evaluations/" + encode(entry.id) + "/analyses/" + one.name;
    requests->push_back({request, ""});
    for (const analyze::Param& param : one.params) {
      if (param.name != "batch") continue;
      for (const int batch : entry.batches) {
        requests->push_back({request + kBatch + std::to_string(batch), ""});
      }
    }
  }
}

Result<std::vector<Recorded>> requests_of(Library& library) {
  if (!analyze::catalogue().ok()) return analyze::catalogue().error();
  const std::string prefix(kApiPrefix);
  std::vector<Recorded> requests = {{prefix + "/catalogue", ""}, {prefix + "/evaluations", ""}};
  const std::vector<Entry> entries = library.list().entries;
  for (const Entry& entry : entries) {
    if (!entry.reason.empty()) return failed(entry.reason);
    requests.push_back({prefix + "/evaluations/" + encode(entry.id), ""});
    requests.push_back({prefix + "/evaluations/" + encode(entry.id) + "/notes", ""});
    add_analyses(entry, &requests);
    XSP_TRY(auto timeline, timeline_requests(library, entry.id));
    std::move(timeline.begin(), timeline.end(), std::back_inserter(requests));
  }
  for (std::string& one : compare_requests(entries)) requests.push_back({std::move(one), ""});
  return requests;
}

// An analysis that takes a batch size uses the smallest by default. Returns the answer at that
// size, made from the answer without a size. Returns an empty text if its rows do not show that
// they are of this size only.
std::string at_batch(const std::string& answer, int64_t batch) {
  nlohmann::json known = nlohmann::json::parse(answer);
  const auto& columns = known["columns"];
  const auto column = std::find_if(columns.begin(), columns.end(),
                                   [](const auto& one) { return one["name"] == "batch"; });
  const auto& rows = known["rows"];
  if (column == columns.end() || rows.empty() || known["total_rows"] != rows.size()) return {};
  const auto place = static_cast<size_t>(column - columns.begin());
  for (const auto& row : rows) {
    if (row[place] != batch) return {};
  }
  known["parameters"]["batch"] = std::to_string(batch);
  return known.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the batch size that a request names, or 0.
int64_t batch_of(const std::string& request) {
  const size_t at = request.rfind(kBatch);
  return at == std::string::npos ? 0
                                 : std::stoll(request.substr(at + std::string_view(kBatch).size()));
}

// Answers the requests that have no answer yet. Several threads work, each with its own open files.
//
// The analyses of an evaluation are one piece of work, those of one batch size after each other,
// because a session keeps what several of them need of the batch size that was asked for last.
class Recorder {
 public:
  Recorder(std::vector<Recorded>* all, const Progress& progress) : all_(*all), progress_(progress) {
    std::string_view last;
    for (size_t i = 0; i < all_.size(); ++i) {
      const std::string_view evaluation = analyses_of(all_[i].request);
      if (evaluation.empty() || evaluation != last) pieces_.emplace_back();
      pieces_.back().push_back(i);
      last = evaluation;
    }
    // Analyses take longest.
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }

  void run(Library& library) {
    // Each thread opens the files again, which costs more than to answer what is left beside the
    // analyses of one evaluation.
    const auto large =
        static_cast<size_t>(std::count_if(pieces_.begin(), pieces_.end(), [&](const auto& piece) {
          const std::string& request = all_[piece.front()].request;
          return piece.size() > 1 || request.find("/compare/") != std::string::npos;
        }));
    const size_t most = std::min<size_t>(std::thread::hardware_concurrency(), kThreads);
    const size_t threads = std::clamp<size_t>(large, 1, std::max<size_t>(most, 1));
    std::vector<std::thread> others;
    for (size_t i = 1; i < threads; ++i) {
      others.emplace_back([this, own = library.again()] { work(*own); });
    }
    work(library);
    for (std::thread& one : others) one.join();
  }

 private:
  static constexpr size_t kThreads = 4;

  // Returns the evaluation whose analysis the request is; empty: it is none.
  static std::string_view analyses_of(std::string_view request) {
    const size_t at = request.find("/analyses/");
    return at == std::string_view::npos ? std::string_view() : request.substr(0, at);
  }

  void work(Library& library) {
    Api api(library, kReportRows);
    for (size_t next = next_++; next < pieces_.size(); next = next_++) {
      std::vector<size_t>& piece = pieces_[next];
      // Without a batch size comes first, and some of the others follow from its answer.
      std::stable_sort(piece.begin(), piece.end(), [&](size_t a, size_t b) {
        return batch_of(all_[a].request) < batch_of(all_[b].request);
      });
      std::map<std::string, const std::string*> whole;  // by the request
      for (const size_t i : piece) {
        Recorded& one = all_[i];
        if (const int64_t batch = batch_of(one.request); batch != 0) {
          const auto found = whole.find(one.request.substr(0, one.request.rfind(kBatch)));
          const bool is_known = found != whole.end() && !found->second->empty();
          if (is_known) one.answer = at_batch(*found->second, batch);
        }
        if (one.answer.empty()) fill(api, &one);
        whole[one.request] = &one.answer;
        const std::lock_guard lock(mutex_);
        progress_(++done_, all_.size());
      }
    }
  }

  static void fill(Api& api, Recorded* one) {
    Answer answer = api.answer(one->request);
    // If a request has no answer, the page says that it is not in this report.
    if (answer.status == 200) one->answer = std::move(answer.body);
  }

  std::vector<Recorded>& all_;
  const Progress& progress_;
  std::vector<std::vector<size_t>> pieces_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  size_t done_ = 0;
};

}  // namespace

Result<std::string> make_report(Library& library, std::string_view page, const Progress& progress) {
  const size_t marker = page.find(kMarker);
  if (marker == std::string_view::npos) {
    return failed("page: it has no place for a report's answers: build it anew from web/");
  }
  XSP_TRY(std::vector<Recorded> requests, requests_of(library));
  Recorder(&requests, progress).run(library);
  std::string answers = "{";
  for (const Recorded& one : requests) {
    if (one.answer.empty()) continue;
    answers += (answers.size() > 1 ? "," : "") + nlohmann::json(one.request).dump() + ":";
    answers += one.answer;
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
