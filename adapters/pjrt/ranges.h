// Layers as XLA launches them: the ranges of NVTX that its plugin for CUDA puts round what it
// executes. Each of them holds the calls of CUDA that its instruction makes, so that kernels find
// their layer. While XLA makes a CUDA graph (a command buffer) of instructions, their ranges are
// open one after another; when it replays the graph, the collector of kernels knows which is whose.
//
// XLA names an instruction "Thunk:#...,hlo_op=NAME,...#", in the domain "TSL".
#ifndef XSP_ADAPTERS_PJRT_RANGES_H_
#define XSP_ADAPTERS_PJRT_RANGES_H_

#include <string_view>

namespace xsp::pjrt {

class Layers;

// To be called before the plugin's library is loaded: names this one as NVTX's tool, where the
// environment names none. NVTX asks once in a process.
void offer_ranges();
// Whether XLA has taken the offer, which it does with the first range that it opens.
bool has_ranges();

// While one lives, ranges that the calling thread opens are layers. One for each thread at a time.
class RecordRanges {
 public:
  explicit RecordRanges(Layers* layers);
  ~RecordRanges();
  RecordRanges(const RecordRanges&) = delete;
  RecordRanges& operator=(const RecordRanges&) = delete;
};

// The instruction that a range's text names; empty: none.
std::string_view instruction_of(std::string_view range);

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_RANGES_H_
