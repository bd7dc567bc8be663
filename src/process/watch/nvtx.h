// NVTX: the ranges and marks that a program already has in its code become spans (see nvtx_names.h
// for their levels). A range that is pushed and popped is a span of its thread. A range that is
// started and ended is a span of the thread that started it. A mark is a span without a duration.
// Payloads become the attribute `payload`. Ranges of the level model are iterations.
//
// A tool that the user had put into NVTX_INJECTION64_PATH keeps the ranges, and xsp says so: the
// functions that a program calls go to one tool. Refused: CUPTI's activity for NVTX, which needs a
// GPU.
#ifndef XSP_PROCESS_WATCH_NVTX_H_
#define XSP_PROCESS_WATCH_NVTX_H_

namespace xsp::process {

// Forgets the open ranges in the child of a fork: they belong to the parent.
void forget_ranges();

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_NVTX_H_
