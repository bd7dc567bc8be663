// Launches: finds the host span that launched an execution, by correlation id. Memory is bounded:
// if far more than kBuckets * kWays ids are open at once, the oldest are forgotten.
#ifndef XSP_DESK_CORRELATE_LAUNCHES_H_
#define XSP_DESK_CORRELATE_LAUNCHES_H_

#include <array>
#include <cstdint>
#include <vector>

namespace xsp::correlate {

// The values that an execution inherits from its launch.
struct Launch {
  uint64_t correlation_id = 0;  // 0: the entry is empty
  uint64_t id = 0;              // id of the launch's span
  uint64_t number = 0;          // number of its entry into the window
  bool is_emitted = false;      // the members below are known
  uint64_t model_id = 0;
  uint64_t layer_id = 0;
  uint32_t model_slot = 0;
  int64_t iteration = 0;
  bool is_matched = false;  // an execution has used it
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
  // Returns the latest launch with this id, or nullptr if there is none.
  Launch* find(uint64_t correlation_id) {
    if (buckets_.empty()) return nullptr;
    for (Launch& launch : buckets_[place(correlation_id)]) {
      if (launch.correlation_id == correlation_id) return &launch;
    }
    return nullptr;
  }
  uint64_t count() const { return count_; }
  // Returns the number of launches that no execution has used. Call it at the end.
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
    // Ids usually count upwards; the product also spreads other ids well.
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

#endif  // XSP_DESK_CORRELATE_LAUNCHES_H_
