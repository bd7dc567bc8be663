// A chip's metrics by name, and the passes that a selection of them takes.
//
// All of this is computed on the host: CUPTI knows every chip that it supports, even if none is
// present.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_CHIP_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_CHIP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

class Chip {
 public:
  // `name` is CUPTI's name, "GH100". Returns null and a line in *why if CUPTI does not know the
  // chip.
  static std::unique_ptr<Chip> open(const CountingApi& api, const std::string& name,
                                    std::string* why);
  ~Chip();
  Chip(const Chip&) = delete;
  Chip& operator=(const Chip&) = delete;

  const std::string& name() const { return name_; }
  // Returns whether `metric` is the full name of a metric of the chip: with its rollup
  // ("dram__bytes_read.sum") or, for ratios, its kind (".ratio").
  bool has_metric(const std::string& metric) const;
  // Returns every full name, except constants (".peak_sustained") and groups meant for sampling.
  std::vector<std::string> metrics() const;

  // Returns the distribution of the metrics over passes, for the range profiler. If they cannot be
  // counted together, the result is empty, with a line in *why. May be called once.
  std::vector<uint8_t> configure(const std::vector<std::string>& metrics, std::string* why);
  uint64_t passes() const { return passes_; }

  // Computes the configured metrics of one range of a counter data image. Returns false if the
  // image has none.
  bool evaluate(const std::vector<uint8_t>& image, size_t range, std::vector<double>* values) const;

 private:
  Chip(const CountingApi& api, std::string name) : api_(api), name_(std::move(name)) {}
  std::vector<std::string> submetrics(const std::string& metric, CUpti_MetricType type) const;

  const CountingApi& api_;
  std::string name_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::string> configured_;
  std::vector<const char*> configured_names_;
  uint64_t passes_ = 0;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_CHIP_H_
