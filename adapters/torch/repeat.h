// What each layer puts on a GPU, alone, again and again: long enough for the GPU's energy counter,
// which moves every 100 ms.
//
// One inference is captured as a CUDA graph. The nodes that came while a layer was open become a
// graph of their own, which is launched for about a second: so a layer costs no launches of its
// own, as within a graph, and it finds its inputs in the caches, unlike within a model. Layers of
// one type, with equal shapes and the same kernels, are repeated once for all.
//
// Each layer gets a span of the level application: the layer's name, type `repetition`, from the
// first to the last of its launches, with the counter `replays`, how often it ran; layers that were
// repeated together have the same interval. Last, all of an inference is repeated likewise: a span
// `inference` of the type `repetition of all`.
#ifndef XSP_ADAPTERS_TORCH_REPEAT_H_
#define XSP_ADAPTERS_TORCH_REPEAT_H_

#include <functional>
#include <string>

#include "adapters/torch/layers.h"

namespace xsp::torch_adapter {

// Why nothing can be repeated here; empty: it can.
std::string no_repetition();
// `work` runs one inference on the current stream, its layers recorded by `layers`, which knows
// them all already; `seconds`: of each repetition, twice that of the inference. Says what is left
// out through `note`. Throws what torch throws.
void repeat_layers(int device, double seconds, Layers* layers, const std::function<void()>& work,
                   const std::function<void(const std::string&)>& note);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_REPEAT_H_
