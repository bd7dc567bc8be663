#include "desk/store/duck.h"

namespace xsp::store {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The markers at which the useful part of a message ends.
constexpr std::string_view kTails[] = {"\n\nLINE ", "\nLINE ", "Stack Trace",
                                       "\nThis error signals", "\n\nThis error"};

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  if (starts_with(text, prefix)) text.remove_prefix(prefix.size());
  return text;
}

// Returns whether the error comes from the file and not from the statement.
bool is_of_the_file(std::string_view text) {
  return starts_with(text, "IO Error") || starts_with(text, "FATAL Error") ||
         starts_with(text, "INTERNAL Error") || starts_with(text, "Serialization Error");
}

bool is_damage(std::string_view text) {
  return is_of_the_file(text) && !contains(text, "file system operations");
}

bool is_full_disk(std::string_view text) {
  return is_of_the_file(text) && (contains(text, "No space left") ||
                                  contains(text, "File too large") || contains(text, "Disk quota"));
}

std::string line_of(std::string_view message) {
  const size_t at = message.find("\nLINE ");
  if (at == std::string_view::npos) return "";
  const size_t begin = at + 6;
  const size_t end = message.find(':', begin);
  if (end == std::string_view::npos || end - begin > 6) return "";
  return std::string(message.substr(begin, end - begin));
}

}  // namespace

std::string condense(std::string_view message) {
  const std::string line = line_of(message);
  for (std::string_view tail : kTails) message = message.substr(0, message.find(tail));
  std::string text;
  bool space = false;
  for (char c : message) {
    if (c == '\n' || c == '\r' || c == '\t' || c == ' ') {
      space = !text.empty();
      continue;
    }
    if (space) text += ' ';
    space = false;
    text += c;
  }
  if (!line.empty() && line != "1") text += " (line " + line + ")";
  return text;
}

Error query_error(std::string_view name, std::string_view message) {
  const std::string file(name);
  if (is_full_disk(message)) {
    return failed(file + ": cannot be written: no space left: free some, or write elsewhere");
  }
  if (is_damage(message)) {
    return corrupt(file + ": damaged: " + condense(without_prefix(message, "IO Error: ")) +
                   ": restore it from a copy, or measure again");
  }
  if (contains(message, "Out of Memory Error")) {
    return Error{Code::kOutOfMemory,
                 "SQL on " + file + ": needs more memory than it may take: " + "ask for less"};
  }
  if (contains(message, "INTERRUPT Error")) {
    return Error{Code::kInterrupted, "SQL on " + file + ": broken off: it took too long"};
  }
  if (contains(message, "file system operations are disabled") ||
      contains(message, "external extensions is disabled") ||
      contains(message, "configuration has been locked") ||
      contains(message, "attached in read-only mode") || contains(message, "in read-only mode!")) {
    return usage("SQL on " + file + ": " + condense(message) +
                 ": an .xsp file is only read, and nothing but it");
  }
  return usage("SQL on " + file + ": " + condense(message));
}

Error open_error(std::string_view path, std::string_view message) {
  const std::string file(path);
  if (contains(message, "Could not set lock") || contains(message, "Conflicting lock")) {
    return failed(file + ": another program has it open for writing: close it there first");
  }
  if (contains(message, "Trying to read a database file with version number")) {
    return corrupt(file + ": written by another version of DuckDB than " +
                   duckdb_library_version() + " can read: update xsp");
  }
  if (is_full_disk(message)) return query_error(path, message);
  if (contains(message, "Permission denied")) {
    return failed(file + ": cannot be opened: Permission denied: check its permissions");
  }
  return corrupt(file + ": damaged: " + condense(without_prefix(message, "IO Error: ")) +
                 ": restore it from a copy, or measure again");
}

}  // namespace xsp::store
