// A second offer beside xsp_offer_open_layer, from those who see ranges of others: NVTX's, of which
// XLA's are layers. It is asked where no layer is open by the first.
#ifndef XSP_CAPTURE_ANNOTATE_OPEN_LAYER_H_
#define XSP_CAPTURE_ANNOTATE_OPEN_LAYER_H_

#include "xsp/plugin.h"

extern "C" XSP_API void xsp_offer_open_range(xsp_layer_mark (*now)(void));

#endif  // XSP_CAPTURE_ANNOTATE_OPEN_LAYER_H_
