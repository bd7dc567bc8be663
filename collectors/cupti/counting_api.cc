#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

const char* CountingApi::load(const Symbol& cupti, const Symbol& driver) {
  const char* missing = nullptr;
#define XSP_COUNTING_LOOK_UP(name)                       \
  name = reinterpret_cast<decltype(name)>(cupti(#name)); \
  if (name == nullptr && missing == nullptr) missing = #name;
#define XSP_COUNTING_LOOK_UP_DRIVER(name, exported)          \
  name = reinterpret_cast<decltype(name)>(driver(exported)); \
  if (name == nullptr && missing == nullptr) missing = exported;
  XSP_COUNTING_CUPTI(XSP_COUNTING_LOOK_UP)
  XSP_COUNTING_DRIVER(XSP_COUNTING_LOOK_UP_DRIVER)
#undef XSP_COUNTING_LOOK_UP
#undef XSP_COUNTING_LOOK_UP_DRIVER
  return missing;
}

std::string CountingApi::error_text(CUptiResult result) const {
  const char* text = nullptr;
  if (cuptiGetResultString == nullptr || cuptiGetResultString(result, &text) != CUPTI_SUCCESS ||
      text == nullptr) {
    return "CUPTI error " + std::to_string(static_cast<int>(result));
  }
  return text;
}

}  // namespace xsp::cupti
