// Makes evaluations for tests: SQL of a random one, and a database that SQL fills.
#ifndef XSP_DESK_COMPARE_MADE_EVALUATION_H_
#define XSP_DESK_COMPARE_MADE_EVALUATION_H_

#include <string>

#include "desk/store/database.h"

namespace xsp::compare {

// Returns runs of several batch sizes and sets of levels, with blocks, warm-up, and slow
// inferences. Layers nest, repeat with other durations, and overlap on a second thread, which seeds
// 1, 5, 9 ... do not have. Every second seed has a GPU whose kernels overlap. Some runs are not
// settled, and some levels distort. The same seed gives the same result.
std::string made_evaluation(unsigned seed);

// Returns a database in memory that the SQL has filled. A failure is one of the test.
store::Database filled(const std::string& sql);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_MADE_EVALUATION_H_
