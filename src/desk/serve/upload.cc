#include "desk/serve/upload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "desk/serve/http/routes.h"
#include "shared/base/durable.h"

namespace xsp::serve {
namespace {

constexpr size_t kNameLength = 120;

Status check_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool fits = name.size() > 4 && name.size() <= kNameLength && name.ends_with(".xsp") &&
                    is_plain(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
                      return is_plain(c) || c == '.' || c == '_' || c == '-';
                    });
  if (fits) return Ok{};
  return usage(
      "upload: the name is not one of letters, digits, '.', '_' and '-' that ends in .xsp: "
      "give another");
}

uint64_t max_upload_bytes(const Services& services) { return services.max_upload_bytes; }

std::string_view why_no_uploads(const Services& services) {
  if (services.max_upload_bytes != 0 && services.has_tokens) return {};
  return "upload: off: start xsp serve with --upload and a token";
}

Result<nlohmann::json> post_evaluation(const Context& context) {
  const std::string* name = context.request.find("name");
  XSP_TRY(Upload upload, Upload::begin(context.library.folder(), name == nullptr ? "" : *name,
                                       context.services.max_upload_bytes));
  XSP_CHECK_OK((*context.body)([&](std::string_view bytes) { return upload.write(bytes); }));
  XSP_CHECK_OK(upload.finish(context.library.limits()));
  return nlohmann::json::object();
}

}  // namespace

const std::vector<Route>& upload_routes() {
  static const std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/evaluations",
       .scope = catalogue::Scope::kRun,
       .handler = post_evaluation,
       .summary = "Adds an evaluation to the folder, where the server was started with --upload.",
       .parameters = {{"name", "the file's name, which ends in .xsp", "string", true}},
       .answer = kObjectSchema,
       .success = 201,
       .body = "application/octet-stream",
       .body_max = max_upload_bytes,
       .why_off = why_no_uploads,
       .at_once = 4},
  };
  return routes;
}

Result<Upload> Upload::begin(const std::filesystem::path& folder, const std::string& name,
                             uint64_t max_bytes) {
  static std::atomic<int> count{0};
  XSP_CHECK_OK(check_name(name));
  if (folder.empty()) return usage("upload: no folder is served: xsp serve DIR serves one");
  Upload upload;
  upload.path_ = folder / name;
  if (std::error_code error; std::filesystem::exists(upload.path_, error)) {
    return usage("upload: " + name + " is there: choose another name");
  }
  // The name does not end in .xsp, so that no list shows the file while it grows.
  upload.partial_ =
      folder / (name + ".upload-" + std::to_string(getpid()) + "-" + std::to_string(++count));
  upload.left_ = max_bytes;
  upload.file_ = ::open(upload.partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (upload.file_ < 0) {
    return failed(std::string("upload: the folder cannot be written: ") + std::strerror(errno));
  }
  return upload;
}

Upload::Upload(Upload&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      left_(other.left_),
      partial_(std::move(other.partial_)),
      path_(std::move(other.path_)) {}

Upload::~Upload() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(partial_.c_str());
}

Status Upload::write(std::string_view bytes) {
  if (bytes.size() > left_) {
    return Error{Code::kOutOfMemory, "upload: larger than --max-upload allows"};
  }
  left_ -= bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(std::string("upload: ") + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok{};
}

Status Upload::finish(const store::ReadLimits& limits) {
  const auto database = store::Database::open(partial_, limits);
  if (!database.ok()) return corrupt("upload: not an .xsp file that this xsp can read");
  const auto not_kept = [] { return failed(std::string("upload: ") + std::strerror(errno)); };
  if (!make_durable(partial_)) return not_kept();
  // A link fails if the name is taken; a rename would replace the file.
  if (::link(partial_.c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST) {
      return usage("upload: " + path_.filename().string() + " is there: choose another name");
    }
    return not_kept();
  }
  // Whoever is told that the file is kept may remove the original.
  if (!make_durable(path_.parent_path())) {
    const Error error = not_kept();
    ::unlink(path_.c_str());
    return error;
  }
  return Ok{};
}

}  // namespace xsp::serve
