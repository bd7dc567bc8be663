// This is a second offer beside xsp_offer_open_layer. It comes from code that sees ranges of other
// libraries, such as NVTX's, of which XLA's are layers. It is asked when the first offer knows no
// open layer.
#ifndef XSP_PROCESS_RECORD_OPEN_LAYER_H_
#define XSP_PROCESS_RECORD_OPEN_LAYER_H_

#include "xsp/plugin.h"

extern "C" XSP_API void xsp_offer_open_range(xsp_layer_mark (*now)(void));

#endif  // XSP_PROCESS_RECORD_OPEN_LAYER_H_
