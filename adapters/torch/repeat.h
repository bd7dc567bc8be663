// Repeats each layer's work on a GPU alone, long enough for the GPU's energy counter, which changes
// every 100 ms.
//
// One inference is captured as a CUDA graph. The nodes that were captured while a layer was open
// become a graph of their own, which is launched for about a second. So a layer has no launch costs
// of its own, as within a graph, and it finds its inputs in the caches, unlike within a model.
// Layers of one type, with equal shapes and the same kernels, are repeated once for all.
//
// Each layer gets a span of the level application: the layer's name, type `repetition`, from the
// first to the last of its launches, with the counter `replays`, the number of its executions.
// Layers that were repeated together have the same interval. Finally, a whole inference is repeated
// in the same way: a span `inference` of the type `repetition of all`.
//
// This holds for operators of TorchScript and of packages alike. A layer is repeated at the clock
// and power that it reaches alone, on numbers that its own results may replace, so the sum of the
// layers stands beside an inference that is repeated in the same way, and beside one as it runs.
// Refused: calling the operators again through the dispatcher, which measures launches, and not
// those of a package; and fitting samples of power over the kernels' shares of the time, which are
// alike in every inference.
#ifndef XSP_ADAPTERS_TORCH_REPEAT_H_
#define XSP_ADAPTERS_TORCH_REPEAT_H_

#include <functional>
#include <string>

#include "adapters/torch/layers.h"

namespace xsp::torch_adapter {

// Returns why nothing can be repeated here; empty if it can.
std::string no_repetition();
// `work` runs one inference on the current stream; `layers`, which knows all of them already,
// records its layers. `seconds` is the time of each repetition; that of the inference takes twice
// as long. Reports what is left out through `note`. Throws torch's exceptions.
void repeat_layers(int device, double seconds, Layers* layers, const std::function<void()>& work,
                   const std::function<void(const std::string&)>& note);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_REPEAT_H_
