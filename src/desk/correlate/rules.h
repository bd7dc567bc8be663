// Rules: define which span is the parent of a span.
//
// A span of level layer or kernel that names a device ran there; all others ran on the host.
//
// 1. If a span ran on a device and carries a correlation id, its parent is the host span with the
//    same correlation id: its launch. If the trace does not have the launch, rule 2 applies.
//    A launch of a CUDA graph stands for many layers, which do not run on the host then. They are
//    in the trace as spans of level layer on the device, with the launch's correlation id. The
//    parent of such a layer is the launch's model span. The layer, not the launch, is the parent
//    of the kernels that it contains and that have the same correlation id, device and stream. If
//    several layers contain a kernel, its parent is the first in the order of ends.
// 2. Otherwise the parent is found by containment on the span's thread. A candidate is a host span
//    of the same thread that
//      - is at a higher level (a smaller number), or at the same level (module in module); and
//      - contains it: equal end points count as contained, but within a level, a span without
//        duration at an end point of another is its neighbour (truncated times make many); and
//      - if at the same level, comes after it in the order of ends (below).
//    The parent is the first candidate in the order of ends: of properly nested spans, the
//    innermost.
//    A collector that does not know the threads of overlapping spans gives the spans lanes of the
//    calling thread (xsp::Lanes). Within a level, a lane is a thread of its own. A span at a higher
//    level contains a lane's span if it is on the same lane or on the thread itself, lane 0.
// 3. Without a candidate a span has no parent. At the levels application and model it is a root;
//    below them it is unattributed.
//
// The order of ends: by end; of equal ends the later start first; of equal intervals the deeper
// level first; of equal levels in the order of emission (stream by stream). So a child comes before
// its parent.
//
// Tolerance. Clocks of different profilers disagree, and some truncate to microseconds. So between
// two levels, if another profiler gave the times of at least one of the spans, a span also counts
// as contained if its middle is inside and it extends past either end by at most the tolerance.
// Such a child is counted as clipped. Within a level containment is exact: one profiler measured
// both.
//
// A span is in doubt (`ambiguous`) if it overlaps one of a higher level on its thread and neither
// contains the other. Of nested spans in doubt, only the outermost is counted.
//
// The tolerance is 5 us. ONNX Runtime truncates to microseconds, and reports many layers of 0 us
// beside others.
#ifndef XSP_DESK_CORRELATE_RULES_H_
#define XSP_DESK_CORRELATE_RULES_H_

#include <cstdint>

namespace xsp::correlate {

inline constexpr int64_t kToleranceNs = 5000;

// The lower bits of a span's thread are the kernel's thread number, below its PID_MAX_LIMIT of
// 2^22. The bits above are the lane.
inline constexpr uint32_t kLaneBits = 22;
inline uint32_t lane_of(uint32_t thread) { return thread >> kLaneBits; }
inline uint32_t without_lane(uint32_t thread) { return thread & ((1u << kLaneBits) - 1); }

// The fields that the rules use. Any type with these fields will do.
struct Extent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint8_t level = 0;         // XSP_LEVEL_*
  bool given_times = false;  // another profiler gave the times
  bool on_device = false;
};

// Compares by the order of ends, without its last rule. Positive: `a` comes after `b`.
template <typename A, typename B>
inline int compare_ends(const A& a, const B& b) {
  if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns ? -1 : 1;
  if (a.start_ns != b.start_ns) return a.start_ns > b.start_ns ? -1 : 1;
  if (a.level != b.level) return a.level > b.level ? -1 : 1;
  return 0;
}

template <typename Parent, typename Child>
inline bool holds_exactly(const Parent& parent, const Child& child) {
  if (parent.start_ns > child.start_ns || child.end_ns > parent.end_ns) return false;
  if (parent.level != child.level || child.start_ns != child.end_ns) return true;
  return parent.start_ns < child.start_ns && child.end_ns < parent.end_ns;
}

template <typename Parent, typename Child>
inline bool holds_with_tolerance(const Parent& parent, const Child& child, int64_t tolerance_ns) {
  if (parent.level >= child.level || !(parent.given_times || child.given_times)) return false;
  const int64_t middle = child.start_ns + (child.end_ns - child.start_ns) / 2;
  return parent.start_ns <= child.start_ns + tolerance_ns &&
         child.end_ns <= parent.end_ns + tolerance_ns && parent.start_ns <= middle &&
         middle <= parent.end_ns;
}

// Returns whether, on one thread, a span on the parent's lane may contain one on the child's lane.
template <typename Parent, typename Child>
inline bool reaches_lane(const Parent& parent, const Child& child) {
  return parent.thread == child.thread ||
         (lane_of(parent.thread) == 0 && parent.level < child.level);
}

// Applies rule 2, without the order of ends, to two spans of a thread.
template <typename Parent, typename Child>
inline bool holds(const Parent& parent, const Child& child, int64_t tolerance_ns) {
  if (parent.level > child.level || parent.on_device || !reaches_lane(parent, child)) return false;
  return holds_exactly(parent, child) || holds_with_tolerance(parent, child, tolerance_ns);
}

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_RULES_H_
