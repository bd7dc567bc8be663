#include "desk/sweep/answer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "desk/sweep/stream.h"
#include "shared/base/text.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kHeaderBytesMax = 16 << 20;  // what a prediction prints is in it
constexpr size_t kReasonBytesMax = 2000;

}  // namespace

Answer::Answer(const fs::path& output)
    : fd_(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {}

Answer::~Answer() { ::close(fd_); }

bool Answer::take(std::string_view bytes) {
  if (!has_header_) {
    const size_t end = bytes.find('\n');
    header_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return header_.size() <= kHeaderBytesMax;
    has_header_ = true;
    bytes.remove_prefix(end + 1);
  }
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    written_ += static_cast<uint64_t>(count);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool Answer::read(Attempt* attempt, std::string* printed) const {
  const json object = json::parse(header_, nullptr, false);
  if (!has_header_ || !object.is_object()) return false;
  const auto number = [&](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  const auto text = [&](const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (number("bytes") != static_cast<double>(written_)) return false;
  const double end = number("end");
  if (end < 1 || end > static_cast<double>(End::kLost)) return false;
  attempt->end = static_cast<End>(static_cast<int>(end));
  attempt->seconds = number("seconds");
  attempt->reason = check_text(text("reason"), kReasonBytesMax).text;
  *printed = text("printed");
  return true;
}

Status send_answer(int out, const Attempt& attempt, const std::string& printed,
                   const fs::path& evaluation) {
  std::error_code error;
  const bool has_file = attempt.end == End::kDone;
  json header = {{"end", static_cast<int>(attempt.end)},
                 {"reason", attempt.reason},
                 {"seconds", attempt.seconds},
                 {"bytes", has_file ? fs::file_size(evaluation, error) : 0}};
  if (!printed.empty()) header["printed"] = printed;
  XSP_CHECK_OK(send(out, header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"));
  return has_file ? send_file(out, evaluation) : Status(Ok{});
}

}  // namespace xsp::sweep
