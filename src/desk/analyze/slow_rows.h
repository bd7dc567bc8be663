// Reads the raw rows of the run from which a step's causes are computed, for slow_causes.h.
#ifndef XSP_DESK_ANALYZE_SLOW_ROWS_H_
#define XSP_DESK_ANALYZE_SLOW_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::analyze::slow {

inline constexpr int64_t kNone = -1;

struct Span {
  int64_t id = 0, parent = kNone, process = 0, thread = kNone, level = 0, site = 0, self_ns = 0;
  int64_t start = 0, end = 0, device = kNone, correlation = kNone;
  std::string name;
  std::optional<std::string> type;
  bool is_open = false;

  bool is(std::initializer_list<const char*> types) const {
    return std::any_of(types.begin(), types.end(), [&](const char* one) { return type == one; });
  }
};

// The calls of one correlation id, from the first start to the last end.
struct Call {
  const Span* first = nullptr;
  int64_t start = 0, end = 0;
};

struct Operation {
  const Span* span = nullptr;
  std::optional<Call> call;
  int kind = 1;  // 1: a kernel, 2: communication, 3: a copy
};

struct Step {
  int64_t process = 0, thread = 0, number = 0, start = 0, end = 0;
  int part = 0;
  int64_t own_end = 0;  // end of the call with which it begins
  bool is_whole = true;
};

bool starts_with(const std::string& words, const char* beginning);

class RawRows {
 protected:
  explicit RawRows(store::Database& database) : database_(database) {}
  Status read();

  bool in_python_ = false, is_profile_ = false, is_on_gpu_ = false;
  std::vector<Span> spans_;
  std::vector<Operation> operations_;  // in order of their start
  std::vector<Step> steps_, inferences_;
  std::map<int64_t, std::string> phase_of_;  // by site
  std::set<std::string> products_;           // names of kernels that multiply matrices

 private:
  Status read_steps();
  void find_operations();

  store::Database& database_;
};

}  // namespace xsp::analyze::slow

#endif  // XSP_DESK_ANALYZE_SLOW_ROWS_H_
