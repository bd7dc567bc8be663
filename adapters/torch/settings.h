// torch's settings for computing, as facts of the model: the roof of 32-bit layers depends on them.
#ifndef XSP_ADAPTERS_TORCH_SETTINGS_H_
#define XSP_ADAPTERS_TORCH_SETTINGS_H_

#include <cstdint>

namespace xsp::torch_adapter {

// Records the compiler of a package, and whether 32-bit convolutions and products may run in TF32
// on a GPU, as attributes of the model's site (see plugin.h). Settings that this torch does not
// report are left out.
void describe_settings(uint32_t model_site, bool is_package);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_SETTINGS_H_
