// Reads arbitrary bytes as the record of XLA's profiler, an XSpace.
#include <cstdint>
#include <initializer_list>

extern "C" {
#include "python/xsp/watch/jax/xplane.h"
#include "tests/fuzz/require.h"
}

namespace {

struct Whole {
  const char* begin;
  const char* end;
};

XplaneSite site_of(void* context, int64_t program_id, XplaneText module, XplaneText instruction) {
  const auto* whole = static_cast<const Whole*>(context);
  for (const XplaneText& text : {module, instruction}) {
    require(text.size == 0 || (text.at >= whole->begin && text.at + text.size <= whole->end));
  }
  return {static_cast<uint32_t>(program_id % 4), program_id % 2 == 1};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const XplaneAnchor anchors[] = {{100, 1'000'000, 1'000'100, 1'000'200},
                                  {101, 1'000'300, 1'000'400, 1'000'500}};
  Whole whole = {reinterpret_cast<const char*>(data), reinterpret_cast<const char*>(data) + size};
  const int64_t emitted = xsp_xplane_emit(data, size, anchors, 2, site_of, &whole);
  require(emitted >= -1 && emitted <= static_cast<int64_t>(size));
  return 0;
}
