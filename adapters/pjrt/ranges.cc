#include "adapters/pjrt/ranges.h"

#include <cstring>

#include "adapters/pjrt/layers.h"
#include "xsp/nvtx_layers.hpp"

namespace xsp::pjrt {
namespace {

struct Xla {
  static bool is_domain(const char* name) { return std::strcmp(name, "TSL") == 0; }
  static uint32_t site(void* layers, std::string_view text) {
    const std::string_view name = instruction_of(text);
    return name.empty() ? 0 : static_cast<Layers*>(layers)->site_of_instruction(name);
  }
};

}  // namespace

void offer_ranges() { NvtxLayers<Xla>::offer(); }

bool has_ranges() { return NvtxLayers<Xla>::is_taken(); }

RecordRanges::RecordRanges(Layers* layers) { NvtxLayers<Xla>::begin(layers); }
RecordRanges::~RecordRanges() { NvtxLayers<Xla>::end(); }

std::string_view instruction_of(std::string_view range) {
  static constexpr std::string_view kKey = "hlo_op=";
  if (range.rfind("TSL:", 0) == 0) range.remove_prefix(4);
  if (range.rfind("Thunk:", 0) != 0) return {};
  for (size_t at = 0; (at = range.find(kKey, at)) != std::string_view::npos; ++at) {
    if (range[at - 1] != '#' && range[at - 1] != ',') continue;
    range.remove_prefix(at + kKey.size());
    return range.substr(0, range.find_first_of(",#"));
  }
  return {};
}

// NVTX calls this, by this name, in every library that was compiled with its header.
extern "C" XSP_API int InitializeInjectionNvtx2(nvtx_abi::GetExportTable get) {
  return NvtxLayers<Xla>::initialise(get);
}

}  // namespace xsp::pjrt
