// Notes on stretches of a run and on spans, which readers of the page write.
//
//   GET /evaluations/{}/notes              all of them, and why none can be written, if so
//   POST /evaluations/{}/notes             adds one; the body is {run, from_ns, to_ns, span, text}
//   POST, DELETE /evaluations/{}/notes/{}  changes its text, the body being {text}; removes it
//
// They are in NAME.xsp.notes beside NAME.xsp, in JSON, and a report has them. They say of which
// evaluation they are, because another one may take the name.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <utility>

#include "desk/serve/http/routes.h"
#include "shared/base/text.h"

namespace xsp::serve {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kNotes = 1'000;                // of an evaluation
constexpr size_t kTextBytes = 2'000;            // of a note
constexpr size_t kFileBytes = size_t{8} << 20;  // larger files were not written by xsp
constexpr int64_t kIdMax = int64_t{1} << 52;    // the page's numbers are exact below it
constexpr uint64_t kBodyBytes = uint64_t{16} << 10;
constexpr int kVersion = 1;

uint64_t max_note_bytes(const Services&) { return kBodyBytes; }

std::string_view why_no_notes(const Services& services) {
  if (services.has_notes && services.has_tokens) return {};
  return "notes: off: start xsp serve with --notes and a token";
}

// The notes of one evaluation, as they are in their file.
struct Notes {
  fs::path evaluation;
  std::string of;  // when that evaluation was started
  json list = json::array();
  std::string problem;  // why the file cannot be used; empty: it can, or there is none

  fs::path file() const { return evaluation.string() + ".notes"; }
};

Result<std::string> read_file(const fs::path& path) {
  // A link could lead to any file of the machine.
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) return std::string();
    return failed("notes: " + path.filename().string() + ": " + std::strerror(errno));
  }
  std::string text;
  char piece[1 << 16];
  ssize_t got = 0;
  while ((got = ::read(file, piece, sizeof piece)) > 0 && text.size() <= kFileBytes) {
    text.append(piece, static_cast<size_t>(got));
  }
  ::close(file);
  if (got < 0) return failed("notes: " + path.filename().string() + ": cannot be read");
  return text;
}

bool is_note(const json& one) {
  const auto has = [&](const char* name, bool (json::*is)() const) {
    return one.contains(name) && (one[name].*is)();
  };
  return one.is_object() && has("id", &json::is_number_integer) && one["id"] > 0 &&
         one["id"] <= kIdMax && has("run", &json::is_number_integer) &&
         has("from_ns", &json::is_number_integer) && has("to_ns", &json::is_number_integer) &&
         has("text", &json::is_string) && has("written_at", &json::is_string) &&
         one.contains("span") && (one["span"].is_null() || one["span"].is_number_integer());
}

// Fails if the evaluation has no such run.
Status check_run(Library& library, const std::string& id, int64_t run) {
  XSP_TRY(Held held, library.hold(id));
  XSP_TRY(const store::Table table,
          held.database().query("SELECT 1 FROM run WHERE run_id = " + std::to_string(run)));
  if (!table.rows.empty()) return Ok{};
  return not_available("run " + std::to_string(run) + ": not in this evaluation");
}

Result<Notes> read_notes(Library& library, const std::string& id) {
  Notes notes;
  {
    XSP_TRY(const Held held, library.hold(id));
    const auto& facts = held.entry().facts;
    const auto started = facts.find("started_at");
    if (started != facts.end()) notes.of = started->second;
  }
  const auto path = library.find(id);
  if (!path) return not_available("evaluation '" + id + "': there is none");
  notes.evaluation = *path;
  XSP_TRY(const std::string text, read_file(notes.file()));
  if (text.empty()) return notes;
  const std::string name = notes.file().filename().string();
  const json known = json::parse(text, nullptr, false);
  const bool is_ours = text.size() <= kFileBytes && known.is_object() &&
                       known.value("version", json()) == kVersion && known.contains("of") &&
                       known.contains("notes") && known["notes"].is_array() &&
                       std::all_of(known["notes"].begin(), known["notes"].end(), is_note);
  if (!is_ours) {
    notes.problem = "notes: " + name + ": not notes that xsp wrote: move the file away";
  } else if (known["of"] != notes.of) {
    notes.problem =
        "notes: " + name + ": of another evaluation, which had this name: move the file away";
  } else {
    notes.list = known["notes"];
  }
  return notes;
}

// Returns why no note can be written; empty: it can.
std::string why_not(const Services& services, const Notes& notes) {
  if (const std::string_view off = why_no_notes(services); !off.empty()) return std::string(off);
  if (!notes.problem.empty()) return notes.problem;
  struct stat facts {};
  const std::string name = notes.evaluation.filename().string();
  if (::stat(notes.evaluation.c_str(), &facts) != 0) return "notes: " + name + ": it is gone";
  if (facts.st_uid != ::geteuid()) {
    return "notes: " + name + ": it belongs to another user: serve a copy of your own";
  }
  if ((facts.st_mode & S_IWUSR) == 0) {
    return "notes: " + name + ": it is read-only: serve a copy that may be written";
  }
  if (::access(notes.evaluation.parent_path().c_str(), W_OK) != 0) {
    return "notes: " + name + ": its folder cannot be written: serve a copy elsewhere";
  }
  return {};
}

json answer_of(const Services& services, const Notes& notes) {
  return {{"notes", notes.list}, {"why_not", why_not(services, notes)}};
}

Result<json> get_notes(const Context& context) {
  XSP_TRY(const Notes notes, read_notes(context.library, context.parts[0]));
  return answer_of(context.services, notes);
}

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(std::string("notes: ") + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file) != 0) return failed(std::string("notes: ") + std::strerror(errno));
  return Ok{};
}

// Writes beside the file and renames, so that it is never half-written.
Status write_notes(const Notes& notes) {
  const json all = {{"version", kVersion}, {"of", notes.of}, {"notes", notes.list}};
  const fs::path partial = notes.file().string() + ".partial-" + std::to_string(::getpid());
  ::unlink(partial.c_str());  // left by a process that had this number
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) {
    return failed(std::string("notes: the folder cannot be written: ") + std::strerror(errno));
  }
  Status written = write_all(file, all.dump(1) + "\n");
  ::close(file);
  if (written.ok() && ::rename(partial.c_str(), notes.file().c_str()) != 0) {
    written = failed(std::string("notes: ") + std::strerror(errno));
  }
  if (!written.ok()) ::unlink(partial.c_str());
  return written;
}

Result<json> body_of(const Context& context) {
  std::string text;
  XSP_CHECK_OK((*context.body)([&](std::string_view bytes) -> Status {
    text += bytes;
    return Ok{};
  }));
  json body = json::parse(text, nullptr, false);
  if (!body.is_object()) return usage("note: its body is no JSON object: see docs/http_api.md");
  return body;
}

Result<std::string> text_in(const json& body) {
  const json text = body.value("text", json());
  if (!text.is_string() || text.get<std::string>().empty()) {
    return usage("note: it has no text: give one");
  }
  if (text.get<std::string>().size() > kTextBytes) {
    return usage("note: longer than " + std::to_string(kTextBytes) + " bytes: shorten it");
  }
  return text.get<std::string>();
}

Result<int64_t> moment_in(const json& body, const char* name) {
  const json value = body.value(name, json());
  if (value.is_number_integer() && value.get<int64_t>() >= 0) return value.get<int64_t>();
  return usage("note: " + std::string(name) + " is no whole number from 0 on: give one");
}

std::string now_text() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Result<json> note_in(const json& body) {
  json note = {{"written_at", now_text()}};
  XSP_TRY(note["text"], text_in(body));
  for (const char* name : {"run", "from_ns", "to_ns"}) {
    XSP_TRY(note[name], moment_in(body, name));
  }
  if (note["to_ns"] < note["from_ns"]) return usage("note: it ends before it begins");
  note["span"] = json();
  if (!body.value("span", json()).is_null()) {
    XSP_TRY(note["span"], moment_in(body, "span"));
  }
  return note;
}

// Reads the notes, lets `change` change them, and writes them. One request at a time does so.
template <typename Change>
Result<json> change_notes(const Context& context, const Change& change) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  XSP_TRY(Notes notes, read_notes(context.library, context.parts[0]));
  const std::string refusal = why_not(context.services, notes);
  if (!refusal.empty()) return usage(refusal);
  XSP_CHECK_OK(change(notes.list));
  XSP_CHECK_OK(write_notes(notes));
  return answer_of(context.services, notes);
}

Result<json> post_note(const Context& context) {
  XSP_TRY(const json body, body_of(context));
  XSP_TRY(json note, note_in(body));
  XSP_CHECK_OK(check_run(context.library, context.parts[0], note["run"].get<int64_t>()));
  return change_notes(context, [&](json& list) -> Status {
    if (list.size() >= kNotes) return usage("notes: there are as many as fit: remove some");
    int64_t last = 0;
    for (const json& one : list) last = std::max(last, one["id"].get<int64_t>());
    note["id"] = last + 1;
    list.push_back(std::move(note));
    return Ok{};
  });
}

// Finds the note that the path names.
Result<json::iterator> find_note(json& list, const std::string& id) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const json& one) {
    return std::to_string(one["id"].get<int64_t>()) == id;
  });
  if (found == list.end()) return not_available("note '" + id + "': there is none");
  return found;
}

Result<json> change_note(const Context& context) {
  XSP_TRY(const json body, body_of(context));
  XSP_TRY(const std::string text, text_in(body));
  return change_notes(context, [&](json& list) -> Status {
    XSP_TRY(const auto note, find_note(list, context.parts[1]));
    (*note)["text"] = text;
    (*note)["written_at"] = now_text();
    return Ok{};
  });
}

Result<json> delete_note(const Context& context) {
  return change_notes(context, [&](json& list) -> Status {
    XSP_TRY(const auto note, find_note(list, context.parts[1]));
    list.erase(note);
    return Ok{};
  });
}

constexpr std::string_view kNoteSchema = R"({
  "type": "object", "required": ["notes", "why_not"], "additionalProperties": false,
  "properties": {
    "why_not": {"type": "string"},
    "notes": {"type": "array", "items": {
      "type": "object",
      "required": ["id", "run", "from_ns", "to_ns", "span", "text", "written_at"],
      "properties": {"span": {"type": ["null", "integer"]}, "text": {"type": "string"}}}}}})";

}  // namespace

const std::vector<Route>& note_routes() {
  const Parameter evaluation = {"evaluation", "the evaluation's id"};
  const Parameter note = {"note", "the note's number", "integer", true};
  static const std::vector<Route> routes = {
      {.method = "GET",
       .pattern = "/evaluations/{}/notes",
       .scope = catalogue::Scope::kRead,
       .handler = get_notes,
       .summary = "The notes on an evaluation, and why none can be written, if so.",
       .parameters = {evaluation},
       .answer = kNoteSchema,
       .is_kept = false},
      {.method = "POST",
       .pattern = "/evaluations/{}/notes",
       .scope = catalogue::Scope::kRun,
       .handler = post_note,
       .summary = "Adds a note on a stretch of a run, or on a span.",
       .parameters = {evaluation},
       .answer = kNoteSchema,
       .success = 201,
       .body = "application/json",
       .body_max = max_note_bytes,
       .why_off = why_no_notes},
      {.method = "POST",
       .pattern = "/evaluations/{}/notes/{}",
       .scope = catalogue::Scope::kRun,
       .handler = change_note,
       .summary = "Changes the text of a note.",
       .parameters = {evaluation, note},
       .answer = kNoteSchema,
       .body = "application/json",
       .body_max = max_note_bytes,
       .why_off = why_no_notes},
      {.method = "DELETE",
       .pattern = "/evaluations/{}/notes/{}",
       .scope = catalogue::Scope::kRun,
       .handler = delete_note,
       .summary = "Removes a note.",
       .parameters = {evaluation, note},
       .answer = kNoteSchema,
       .why_off = why_no_notes},
  };
  return routes;
}

}  // namespace xsp::serve
