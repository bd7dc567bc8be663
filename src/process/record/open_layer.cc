// The open layer of plugin.h: stores function pointers of the code that knows the open layer, and
// calls them for the code that asks.
#include "process/record/open_layer.h"

namespace {

using Now = xsp_layer_mark (*)();
Now offered = nullptr;
Now offered_ranges = nullptr;

xsp_layer_mark ask(Now* who) {
  const Now now = __atomic_load_n(who, __ATOMIC_ACQUIRE);
  return now == nullptr ? xsp_layer_mark{0, 0} : now();
}

}  // namespace

extern "C" {

void xsp_offer_open_layer(Now now) { __atomic_store_n(&offered, now, __ATOMIC_RELEASE); }

void xsp_offer_open_range(Now now) { __atomic_store_n(&offered_ranges, now, __ATOMIC_RELEASE); }

xsp_layer_mark xsp_open_layer(void) {
  const xsp_layer_mark mark = ask(&offered);
  return mark.site_id != 0 ? mark : ask(&offered_ranges);
}

}  // extern "C"
