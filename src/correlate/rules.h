// Rules: which span is the parent of which.
//
// A span of level layer or kernel that names a device ran there; all others ran on the host.
//
// 1. A span that ran on a device, and that carries a correlation id, has as its parent the host
//    span with the same correlation id: its launch. If the trace has no launch of it, rule 2 holds.
//    A launch of a CUDA graph stands for many layers, which do not run on the host then. They are
//    in the trace as spans of level layer on the device, with the launch's correlation id. The
//    parent of such a layer is the launch's model span; and it, rather than the launch, is the
//    parent of the kernels with the same correlation id, device and stream that it holds: of
//    several, the first in the order of ends.
// 2. Otherwise the parent is found by containment on the span's thread. A candidate is a host span
//    of the same thread that
//      - is at a higher level (a smaller number), or at the same level (module in module); and
//      - holds it: equal end points count as contained, except that within a level a span without
//        duration at an end point of another is its neighbour (truncated times make many); and
//      - if at the same level, comes after it in the order of ends (below).
//    The parent is the first candidate in the order of ends: of properly nested spans, the
//    innermost.
//    Who does not know on which threads spans ran that overlap gives them lanes of the thread that
//    called (xsp::Lanes): within a level a lane is a thread of its own, and what a lane's span is
//    inside at a higher level may be on its lane or on the thread itself, lane 0.
// 3. Without a candidate a span has no parent. At the levels application and model it is a root;
//    below them it is unattributed.
//
// The order of ends: by end; of equal ends the later start first; of equal intervals the deeper
// level first; of equal levels in the order of emission (stream by stream). So a child comes before
// its parent.
//
// Tolerance. Clocks of different profilers disagree, and some truncate to microseconds. Between two
// levels, where the times of one span at least were given by another profiler, a span also counts
// as held if it sticks out by no more than the tolerance at either end and its middle is inside.
// Such a child is counted as clipped. Within a level containment is exact: one profiler measured
// both.
//
// In doubt (`ambiguous`) is a span that overlaps one of a higher level on its thread, when neither
// holds the other. Of spans nested in each other, the outermost that is in doubt is counted.
#ifndef XSP_CORRELATE_RULES_H_
#define XSP_CORRELATE_RULES_H_

#include <cstdint>

namespace xsp::correlate {

inline constexpr int64_t kToleranceNs = 5000;

// A span's thread is the kernel's number, below its PID_MAX_LIMIT of 2^22, and above that the lane.
inline constexpr uint32_t kLaneBits = 22;
inline uint32_t lane_of(uint32_t thread) { return thread >> kLaneBits; }
inline uint32_t without_lane(uint32_t thread) { return thread & ((1u << kLaneBits) - 1); }

// What the rules look at; anything with these fields will do.
struct Extent {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint8_t level = 0;         // XSP_LEVEL_*
  bool given_times = false;  // measured by another profiler
  bool on_device = false;
};

// The order of ends, without its last rule. Positive: `a` comes after `b`.
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

// Of two spans of a thread: may one on the first's lane be around one on the second's?
template <typename Parent, typename Child>
inline bool reaches_lane(const Parent& parent, const Child& child) {
  return parent.thread == child.thread ||
         (lane_of(parent.thread) == 0 && parent.level < child.level);
}

// Rule 2 without the order of ends, of two spans of a thread.
template <typename Parent, typename Child>
inline bool holds(const Parent& parent, const Child& child, int64_t tolerance_ns) {
  if (parent.level > child.level || parent.on_device || !reaches_lane(parent, child)) return false;
  return holds_exactly(parent, child) || holds_with_tolerance(parent, child, tolerance_ns);
}

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_RULES_H_
