// NVTX: the ranges and marks that a program has in its code already become spans (see nvtx_names.h
// for their levels). Ranges that are pushed and popped are spans of their thread; those that are
// started and ended too, of the thread that started them; a mark is a span without a duration.
// Payloads are the attribute `payload`; those of the level model are iterations.
#ifndef XSP_CAPTURE_ATTACH_NVTX_H_
#define XSP_CAPTURE_ATTACH_NVTX_H_

namespace xsp::capture {

// In the child of a fork: the ranges that are open are the parent's.
void forget_ranges();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_NVTX_H_
