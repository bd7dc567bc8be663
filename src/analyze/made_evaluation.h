// A random evaluation for tests: SQL that fills an empty one.
#ifndef XSP_ANALYZE_MADE_EVALUATION_H_
#define XSP_ANALYZE_MADE_EVALUATION_H_

#include <string>

namespace xsp::analyze {

// Runs of several batch sizes and sets of levels, with blocks, warm-up, slow inferences, layers
// that nest, repeat with other durations, overlap on a second thread; with every second seed a GPU
// whose kernels overlap. Some runs are not settled, some levels distort. The same seed gives the
// same.
std::string made_evaluation(unsigned seed);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_MADE_EVALUATION_H_
