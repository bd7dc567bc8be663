// The open layer of plugin.h: one function pointer, from who knows to who asks.
#include "xsp/plugin.h"

namespace {

using Now = xsp_layer_mark (*)();
Now offered = nullptr;

}  // namespace

extern "C" {

void xsp_offer_open_layer(Now now) { __atomic_store_n(&offered, now, __ATOMIC_RELEASE); }

xsp_layer_mark xsp_open_layer(void) {
  const Now now = __atomic_load_n(&offered, __ATOMIC_ACQUIRE);
  return now == nullptr ? xsp_layer_mark{0, 0} : now();
}

}  // extern "C"
