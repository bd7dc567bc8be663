// Writes a duration for a person.
#ifndef XSP_SHARED_BASE_DURATION_TEXT_H_
#define XSP_SHARED_BASE_DURATION_TEXT_H_

#include <cstdio>
#include <string>

namespace xsp {

// Returns four digits, as a table does, in the largest unit that leaves one before the point:
// "1.234 ms". A duration that a user gave keeps its own: "50 ms".
inline std::string duration_text(double nanoseconds, bool is_given = false) {
  const char* unit = "ns";
  double value = nanoseconds;
  for (const char* larger : {"us", "ms", "s"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = larger;
  }
  char text[48];
  const int decimals = value < 10 ? 3 : value < 100 ? 2 : 1;
  std::snprintf(text, sizeof text, is_given ? "%.*g %s" : "%.*f %s", is_given ? 6 : decimals, value,
                unit);
  return text;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_DURATION_TEXT_H_
