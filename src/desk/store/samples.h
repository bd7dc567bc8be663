// Writes samples of threads' stacks from a trace into the tables `sample` and `stack`. For
// src/desk/store alone.
#ifndef XSP_DESK_STORE_SAMPLES_H_
#define XSP_DESK_STORE_SAMPLES_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "desk/store/database.h"
#include "desk/store/ingest.h"
#include "desk/store/symbols.h"
#include "shared/base/result.h"
#include "shared/trace/reader.h"

namespace xsp::store {

// The stacks of one run, over all its processes. Equal stacks of two processes share one id.
class StackTree {
 public:
  // Returns the id of the stack of a trace's node; 0: there is none. `known` caches the ids of this
  // trace.
  int32_t id_of(const trace::Stacks& stacks, uint32_t node, std::map<uint32_t, int32_t>* known);
  Status insert(Database& database, int32_t run_id) const;

 private:
  // Parent, function, file, line, whether it is compiled code.
  using Frame = std::tuple<int32_t, std::string, std::string, int, bool>;
  Symbols symbols_;
  std::map<Frame, int32_t> ids_;
  std::vector<const Frame*> frames_;  // of id - 1
};

// Inserts the samples of the part of a trace that belongs to the run.
Status insert_samples(Database& database, int32_t run_id, const trace::Reader& reader,
                      const RunTrace& trace, StackTree* tree);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_SAMPLES_H_
