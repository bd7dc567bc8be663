// Writes a duration for a person.
#ifndef XSP_SHARED_BASE_DURATION_TEXT_H_
#define XSP_SHARED_BASE_DURATION_TEXT_H_

#include <cstdio>
#include <string>

namespace xsp {

// Returns three digits at least, in the largest unit that leaves one before the point: "1.23 ms".
inline std::string duration_text(double nanoseconds) {
  const char* unit = "ns";
  double value = nanoseconds;
  for (const char* larger : {"us", "ms", "s"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = larger;
  }
  char text[48];
  const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_DURATION_TEXT_H_
