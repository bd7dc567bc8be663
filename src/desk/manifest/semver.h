// Semantic versions and constraints on them, with the meaning that npm's package `semver` gives
// them.
//
//   >=1.17 <2      all of them hold          ^1.2.3   below the next version that may break: <2.0.0
//   1.x || >=3.1   one of them holds         ~1.2.3   below the next minor version: <1.3.0
//   1.2 - 2.3      from, to and including    1.2.*    any 1.2; an absent part is an x as well
//
// A version with a prerelease, 2.0.0-rc.1, satisfies a constraint only if a comparator of it has a
// prerelease of the same major, minor and patch version.
#ifndef XSP_DESK_MANIFEST_SEMVER_H_
#define XSP_DESK_MANIFEST_SEMVER_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::manifest {

struct Version {
  uint64_t major = 0;
  uint64_t minor = 0;
  uint64_t patch = 0;
  std::vector<std::string> prerelease;  // "rc", "1" of 2.0.0-rc.1; a build (+x) is not kept

  std::string text() const;
};

std::strong_ordering operator<=>(const Version& a, const Version& b);
bool operator==(const Version& a, const Version& b);

// Returns nothing if the text is no semantic version. A "v" in front is admitted.
std::optional<Version> parse_version(std::string_view text);
// Reads a version as frameworks write it: "2.13", "1.13.1+cu117", "2.1.0a0+git1" (a prerelease).
// Returns nothing if it does not begin with a number.
std::optional<Version> parse_framework_version(std::string_view text);

class Constraint {
 public:
  // The error's text is "what is wrong: what would be right".
  static Result<Constraint> parse(std::string_view text);
  bool is_satisfied_by(const Version& version) const;

 private:
  enum class Relation { kLess, kAtMost, kEqual, kAtLeast, kMore };
  struct Comparator {
    Relation relation;
    Version version;
  };
  using Alternative = std::vector<Comparator>;  // all must hold; none: any version
  struct Partial;

  static std::optional<Partial> parse_partial(std::string_view text);
  static Version floor_of(const Partial& partial);
  static void add_from(const Partial& partial, Alternative* to);
  static bool add_comparator(std::string_view text, Alternative* to);
  static void add_compared(std::string_view relation, const Partial& partial, Alternative* to);
  static Status parse_alternative(std::string_view text, Alternative* to);
  static bool holds(const Alternative& alternative, const Version& version);

  std::vector<Alternative> alternatives_;
};

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_SEMVER_H_
