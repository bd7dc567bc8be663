// Launches: which host span launched what ran under a correlation id. Bounded: of far more ids than
// kBuckets * kWays at once, the oldest are forgotten.
#ifndef XSP_CORRELATE_LAUNCHES_H_
#define XSP_CORRELATE_LAUNCHES_H_

#include <array>
#include <cstdint>
#include <vector>

namespace xsp::correlate {

// What the execution inherits from its launch.
struct Launch {
  uint64_t correlation_id = 0;  // 0: no launch
  uint64_t id = 0;              // of the launch's span
  uint64_t number = 0;          // of its entry into the window
  bool is_emitted = false;      // the following are known
  uint64_t model_id = 0;
  uint64_t layer_id = 0;
  uint32_t model_slot = 0;
  int64_t iteration = 0;
  bool is_matched = false;  // an execution has asked for it
};

class Launches {
 public:
  void insert(uint64_t correlation_id, uint64_t id, uint64_t number) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    Bucket& bucket = buckets_[place(correlation_id)];
    Launch* oldest = &bucket[0];
    for (Launch& launch : bucket) {
      if (launch.correlation_id == correlation_id) {
        oldest = &launch;
        break;
      }
      if (launch.number < oldest->number) oldest = &launch;
    }
    forget(*oldest);
    *oldest = Launch{};
    oldest->correlation_id = correlation_id;
    oldest->id = id;
    oldest->number = number;
    ++count_;
  }
  // The latest launch with this id; nullptr: none.
  Launch* find(uint64_t correlation_id) {
    if (buckets_.empty()) return nullptr;
    for (Launch& launch : buckets_[place(correlation_id)]) {
      if (launch.correlation_id == correlation_id) return &launch;
    }
    return nullptr;
  }
  uint64_t count() const { return count_; }
  // Launches that no execution asked for; call it at the end.
  uint64_t count_unmatched() {
    for (Bucket& bucket : buckets_) {
      for (Launch& launch : bucket) forget(launch);
    }
    return unmatched_;
  }

 private:
  static constexpr size_t kBuckets = size_t{1} << 16;
  static constexpr size_t kWays = 4;
  using Bucket = std::array<Launch, kWays>;

  static size_t place(uint64_t correlation_id) {
    // Ids usually count upwards: the product spreads any others as well.
    return static_cast<size_t>((correlation_id * 0x9e3779b97f4a7c15u) >> 48) % kBuckets;
  }
  void forget(Launch& launch) {
    if (launch.correlation_id != 0 && !launch.is_matched) ++unmatched_;
    launch.correlation_id = 0;
  }

  std::vector<Bucket> buckets_;
  uint64_t count_ = 0;
  uint64_t unmatched_ = 0;
};

}  // namespace xsp::correlate

#endif  // XSP_CORRELATE_LAUNCHES_H_
