// The range profiler on one CUDA context: one range for each kernel, in the order of their
// execution, or one for everything between start and stop.
//
// A session is start, work, stop. With kernel replay a session counts everything; with application
// replay it counts one pass, and is_complete() tells whether that was the last. Then read() returns
// the ranges, and the next session begins anew. All calls come from one thread, while the context
// runs no kernels.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_RANGES_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_RANGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectors/cupti/counting_api.h"
#include "collectors/cupti/counting_chip.h"

namespace xsp::cupti {

enum class Replay { kKernel, kApplication };
enum class Scope { kEachKernel, kWhole };  // kWhole needs application replay

class Ranges {
 public:
  // `config` and `metrics` are those of chip.configure; `chip` and `config` outlive this object.
  // Returns null and a line in *why if counting is not permitted or not possible.
  static std::unique_ptr<Ranges> open(const CountingApi& api, const Chip& chip, CUcontext context,
                                      const std::vector<uint8_t>& config,
                                      const std::vector<std::string>& metrics, std::string* why);
  ~Ranges();
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  CUcontext context() const { return context_; }

  // Makes room for `capacity` ranges in a session, and begins anew.
  bool prepare(Replay replay, Scope scope, size_t capacity, std::string* why);
  bool start(std::string* why);
  bool stop(std::string* why);
  // Returns whether every pass has been taken since prepare or the last read.
  bool is_complete() const { return is_complete_; }

  // Reads the counts of the sessions: the metrics' values for each range, empty where there are
  // none. Ranges beyond the capacity are missing.
  bool read(std::vector<std::vector<double>>* values, std::string* why);

 private:
  Ranges(const CountingApi& api, const Chip& chip, CUcontext context,
         const std::vector<uint8_t>& config, const std::vector<std::string>& metrics);
  bool configure(std::string* why);
  bool number_of(size_t range, uint64_t* number, std::string* why) const;
  bool is_fine(CUptiResult result, const char* what, std::string* why) const;

  const CountingApi& api_;
  const Chip& chip_;
  CUcontext context_;
  const std::vector<uint8_t>& config_;
  std::vector<const char*> metric_names_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<uint8_t> image_;
  Replay replay_ = Replay::kKernel;
  Scope scope_ = Scope::kEachKernel;
  size_t capacity_ = 0;
  bool is_complete_ = false;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_RANGES_H_
