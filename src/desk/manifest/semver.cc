#include "desk/manifest/semver.h"

#include <algorithm>
#include <charconv>

#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

constexpr size_t kTextMax = 256;
constexpr uint64_t kNumberMax = (uint64_t{1} << 53) - 1;  // what npm admits
constexpr std::string_view kSpaces = " \t\r\n\v\f";

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Numbers have no leading zeros.
std::optional<uint64_t> parse_number(std::string_view text) {
  if (!is_digits(text) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kNumberMax) return std::nullopt;
  return value;
}

// Splits at every separator, and keeps empty parts.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

bool are_identifiers(const std::vector<std::string_view>& parts, bool may_have_zeros) {
  constexpr std::string_view kAllowed =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-";
  return std::all_of(parts.begin(), parts.end(), [&](std::string_view part) {
    if (part.empty() || part.find_first_not_of(kAllowed) != part.npos) return false;
    return may_have_zeros || !is_digits(part) || parse_number(part).has_value();
  });
}

// The numbers of a version, before its prerelease and its build.
struct Split {
  std::string_view numbers;
  std::vector<std::string> prerelease;
  bool has_suffix = false;
};

// Returns nothing if a prerelease or a build is not valid.
std::optional<Split> split_version(std::string_view text) {
  Split split;
  if (const size_t plus = text.find('+'); plus != text.npos) {
    if (!are_identifiers(parts_of(text.substr(plus + 1), "."), true)) return std::nullopt;
    text = text.substr(0, plus);
    split.has_suffix = true;
  }
  if (const size_t dash = text.find('-'); dash != text.npos) {
    const auto parts = parts_of(text.substr(dash + 1), ".");
    if (!are_identifiers(parts, false)) return std::nullopt;
    split.prerelease.assign(parts.begin(), parts.end());
    text = text.substr(0, dash);
    split.has_suffix = true;
  }
  split.numbers = text;
  return split;
}

std::strong_ordering compare_identifiers(const std::string& a, const std::string& b) {
  const auto left = parse_number(a), right = parse_number(b);
  if (left && right) return *left <=> *right;
  if (left.has_value() != right.has_value()) return right.has_value() <=> left.has_value();
  return a.compare(b) <=> 0;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

std::string_view relation_of(std::string_view text) {
  for (const std::string_view relation : {"<=", ">=", "~>", "<", ">", "=", "~", "^"}) {
    if (text.starts_with(relation)) return relation;
  }
  return {};
}

// Splits at white space; an operator that stands alone belongs to what follows it.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!(text = trimmed(text)).empty()) {
    const size_t end = std::min(text.find_first_of(kSpaces), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const bool joins = !words.empty() && relation_of(words.back()) == words.back();
    if (joins) {
      words.back() += word;
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

}  // namespace

std::string Version::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) +
         (prerelease.empty() ? "" : "-" + joined(prerelease, "."));
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  if (const auto order = a.major <=> b.major; order != 0) return order;
  if (const auto order = a.minor <=> b.minor; order != 0) return order;
  if (const auto order = a.patch <=> b.patch; order != 0) return order;
  // A prerelease comes before the release.
  if (a.prerelease.empty() || b.prerelease.empty()) {
    return a.prerelease.empty() <=> b.prerelease.empty();
  }
  for (size_t i = 0; i < std::min(a.prerelease.size(), b.prerelease.size()); ++i) {
    const auto order = compare_identifiers(a.prerelease[i], b.prerelease[i]);
    if (order != 0) return order;
  }
  return a.prerelease.size() <=> b.prerelease.size();
}

bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }

std::optional<Version> parse_version(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kTextMax) return std::nullopt;
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto split = split_version(text);
  if (!split) return std::nullopt;
  const auto parts = parts_of(split->numbers, ".");
  if (parts.size() != 3) return std::nullopt;
  const auto major = parse_number(parts[0]), minor = parse_number(parts[1]),
             patch = parse_number(parts[2]);
  if (!major || !minor || !patch) return std::nullopt;
  return Version{*major, *minor, *patch, split->prerelease};
}

std::optional<Version> parse_framework_version(std::string_view text) {
  if (auto exact = parse_version(text)) return exact;
  text = trimmed(text);
  text = text.substr(0, text.find('+'));
  Version version;
  for (uint64_t* number : {&version.major, &version.minor, &version.patch}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc() || *number > kNumberMax) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const bool goes_on = text.size() > 1 && text[0] == '.' && is_digits(text.substr(1, 1));
    if (!goes_on) break;
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] != '.') {  // "a0", "rc1", "-dev"
    const std::string_view rest = text[0] == '-' ? text.substr(1) : text;
    if (!is_digits(rest.substr(0, 1)) && are_identifiers(parts_of(rest, "."), false)) {
      for (const std::string_view part : parts_of(rest, ".")) version.prerelease.emplace_back(part);
    }
  }
  return version;
}

// A version of which parts may be open.
struct Constraint::Partial {
  std::optional<uint64_t> major, minor, patch;
  std::vector<std::string> prerelease;
  bool has_gap = false;  // a number comes after an x, which has no meaning: 1.x.3
};

std::optional<Constraint::Partial> Constraint::parse_partial(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto split = split_version(text);
  if (!split) return std::nullopt;
  const auto parts = parts_of(split->numbers, ".");
  if (parts.size() > 3 || (split->has_suffix && parts.size() != 3)) return std::nullopt;
  Partial partial;
  std::optional<uint64_t>* const numbers[] = {&partial.major, &partial.minor, &partial.patch};
  bool is_open = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_x = parts[i] == "x" || parts[i] == "X" || parts[i] == "*";
    const auto number = parse_number(parts[i]);
    if (!is_x && !number) return std::nullopt;
    partial.has_gap |= is_open && !is_x;
    is_open |= is_x;
    if (!is_open) *numbers[i] = number;
  }
  if (!is_open) partial.prerelease = split->prerelease;
  return partial;
}

Version Constraint::floor_of(const Partial& partial) {
  return {partial.major.value_or(0), partial.minor.value_or(0), partial.patch.value_or(0),
          partial.prerelease};
}

namespace {

// The first version of a minor or of a major version, below all of its prereleases.
Version below(uint64_t major, uint64_t minor, uint64_t patch = 0) {
  return {major, minor, patch, {"0"}};
}

}  // namespace

void Constraint::add_from(const Partial& partial, Alternative* to) {
  if (partial.major) to->push_back({Relation::kAtLeast, floor_of(partial)});
}

// Adds the meaning of an operator, or of none, before a version that may be open.
void Constraint::add_compared(std::string_view relation, const Partial& partial, Alternative* to) {
  const bool is_full = partial.patch.has_value();
  const uint64_t major = partial.major.value_or(0), minor = partial.minor.value_or(0);
  const Version next = partial.minor ? below(major, minor + 1) : below(major + 1, 0);
  Version next_release = next;
  next_release.prerelease.clear();
  if (!partial.major) {  // no version is above or below all versions
    if (relation == ">" || relation == "<") to->push_back({Relation::kLess, below(0, 0)});
  } else if (relation == ">=") {
    to->push_back({Relation::kAtLeast, floor_of(partial)});
  } else if (relation == "<") {
    to->push_back({Relation::kLess, is_full ? floor_of(partial) : below(major, minor)});
  } else if (relation == ">") {
    to->push_back(is_full ? Comparator{Relation::kMore, floor_of(partial)}
                          : Comparator{Relation::kAtLeast, next_release});
  } else if (relation == "<=") {
    to->push_back(is_full ? Comparator{Relation::kAtMost, floor_of(partial)}
                          : Comparator{Relation::kLess, next});
  } else if (is_full) {
    to->push_back({Relation::kEqual, floor_of(partial)});
  } else {
    to->push_back({Relation::kAtLeast, floor_of(partial)});
    to->push_back({Relation::kLess, next});
  }
}

bool Constraint::add_comparator(std::string_view text, Alternative* to) {
  const std::string_view relation = relation_of(text);
  const auto partial = parse_partial(text.substr(relation.size()));
  if (!partial) return false;
  const bool is_tilde = relation.starts_with('~');
  if (!is_tilde && relation != "^") {
    if (partial->has_gap) return false;
    add_compared(relation, *partial, to);
    return true;
  }
  if (!partial->major) return true;
  const uint64_t major = *partial->major, minor = partial->minor.value_or(0);
  add_from(*partial, to);
  Version end = below(major + 1, 0);
  if (partial->minor && (is_tilde || major == 0)) end = below(major, minor + 1);
  if (!is_tilde && partial->patch && major == 0 && minor == 0) {
    end = below(0, 0, *partial->patch + 1);
  }
  to->push_back({Relation::kLess, end});
  return true;
}

Status Constraint::parse_alternative(std::string_view text, Alternative* to) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() == 3 && words[1] == "-") {
    const auto from = parse_partial(words[0]), end = parse_partial(words[2]);
    if (from && end) {
      add_from(*from, to);
      if (end->major) add_compared("<=", *end, to);
      return Ok{};
    }
  }
  for (const std::string& word : words) {
    if (add_comparator(word, to)) continue;
    const std::string remedy = word.find(',') != word.npos ? "write a space instead of the comma"
                               : word.starts_with("==")    ? "write '=' or nothing"
                                                           : "write one like '>=1.17 <2' or '^1.2'";
    return corrupt("'" + word + "' is no version with an operator: " + remedy);
  }
  return Ok{};
}

Result<Constraint> Constraint::parse(std::string_view text) {
  if (text.size() > kTextMax) {
    return corrupt("a constraint of " + std::to_string(text.size()) + " bytes: at most " +
                   std::to_string(kTextMax) + " are read");
  }
  Constraint constraint;
  for (const std::string_view part : parts_of(text, "||")) {
    XSP_CHECK_OK(parse_alternative(part, &constraint.alternatives_.emplace_back()));
  }
  return constraint;
}

bool Constraint::holds(const Alternative& alternative, const Version& version) {
  for (const Comparator& comparator : alternative) {
    const auto order = version <=> comparator.version;
    const bool fits = comparator.relation == Relation::kLess      ? order < 0
                      : comparator.relation == Relation::kAtMost  ? order <= 0
                      : comparator.relation == Relation::kAtLeast ? order >= 0
                      : comparator.relation == Relation::kMore    ? order > 0
                                                                  : order == 0;
    if (!fits) return false;
  }
  if (version.prerelease.empty()) return true;
  return std::any_of(alternative.begin(), alternative.end(), [&](const Comparator& comparator) {
    const Version& named = comparator.version;
    return !named.prerelease.empty() && named.major == version.major &&
           named.minor == version.minor && named.patch == version.patch;
  });
}

bool Constraint::is_satisfied_by(const Version& version) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(),
                     [&](const Alternative& alternative) { return holds(alternative, version); });
}

}  // namespace xsp::manifest
