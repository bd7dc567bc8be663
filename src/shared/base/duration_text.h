// Writes a duration for a person.
#ifndef XSP_SHARED_BASE_DURATION_TEXT_H_
#define XSP_SHARED_BASE_DURATION_TEXT_H_

#include <cstdio>
#include <string>

namespace xsp {

struct Duration {
  double value;
  const char* unit;
};

// Returns the duration in the largest unit that leaves one before the point once it is rounded to
// four digits.
inline Duration in_its_unit(double nanoseconds) {
  Duration duration{nanoseconds, "ns"};
  for (const char* larger : {"us", "ms", "s"}) {
    if (duration.value < 999.95) break;
    duration = {duration.value / 1000, larger};
  }
  return duration;
}

// Returns four digits, as a table does: "1.234 ms". From 1,000 s on there are more.
inline std::string duration_text(double nanoseconds) {
  const auto [value, unit] = in_its_unit(nanoseconds);
  const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

// Returns a duration that a user gave with the digits that it needs: "50 ms".
inline std::string given_duration_text(double nanoseconds) {
  const auto [value, unit] = in_its_unit(nanoseconds);
  char text[48];
  std::snprintf(text, sizeof text, "%.6g %s", value, unit);
  return text;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_DURATION_TEXT_H_
