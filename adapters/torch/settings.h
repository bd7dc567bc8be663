// How torch is set to compute, as facts of the model: what the roof of 32-bit layers depends on.
#ifndef XSP_ADAPTERS_TORCH_SETTINGS_H_
#define XSP_ADAPTERS_TORCH_SETTINGS_H_

#include <cstdint>

namespace xsp::torch_adapter {

// May 32-bit convolutions and products run in TF32 on a GPU? Attributes of the model's site (see
// plugin.h); what this torch does not tell is left out.
void describe_settings(uint32_t model_site);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_SETTINGS_H_
