// Layers as XLA launches them: the ranges of NVTX that its plugin for CUDA opens around its work.
// Each range contains the calls of CUDA of its instruction, so that kernels can be assigned to
// their layers. While XLA makes a CUDA graph (a command buffer) of instructions, it opens their
// ranges one after another; when it replays the graph, the collector of kernels knows the layer of
// each kernel.
//
// XLA names an instruction "Thunk:#...,hlo_op=NAME,...#", in the domain "TSL".
//
// The ranges leave CUPTI to the collector, so all levels work together. A command buffer is no
// layer, but its instructions are: one span for all of it would stand for the whole model. Refused:
// the library of `xsp run` in the worker, which knows no facts of the program.
#ifndef XSP_ADAPTERS_PJRT_RANGES_H_
#define XSP_ADAPTERS_PJRT_RANGES_H_

#include <string_view>

namespace xsp::pjrt {

class Layers;

// Must be called before the plugin's library is loaded. It names this library as NVTX's tool,
// unless the environment names one. NVTX reads that once in a process.
void offer_ranges();
// Returns whether XLA has loaded this tool, which happens with the first range that it opens.
bool has_ranges();

// During its lifetime, ranges that the calling thread opens are layers. A thread has at most one at
// a time.
class RecordRanges {
 public:
  explicit RecordRanges(Layers* layers);
  ~RecordRanges();
  RecordRanges(const RecordRanges&) = delete;
  RecordRanges& operator=(const RecordRanges&) = delete;
};

// Returns the instruction that a range's text names; empty if there is none.
std::string_view instruction_of(std::string_view range);

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_RANGES_H_
