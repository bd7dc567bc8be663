// cublasLt: reads the descriptors of the product and of its matrices, and the chosen algorithm.
#include <iterator>

#include "collectors/library_calls/describe.h"
#include "library_calls/headers.h"

namespace xsp::library_calls {
namespace {

// All getters have this form, for every type of object.
using Get = int(void* from, int attribute, void* value, size_t bytes, size_t* written);

struct Attribute {
  int number;
  size_t bytes;
};

void add_all(Problem* problem, Get* get, void* from, const Attribute* attributes, size_t count,
             const Field* fields) {
  if (get == nullptr || from == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    int64_t value = 0;
    size_t written = 0;
    if (get(from, attributes[i].number, &value, attributes[i].bytes, &written) != 0) continue;
    problem->add(&fields[i],
                 attributes[i].bytes == sizeof value ? value : static_cast<int32_t>(value));
  }
}

constexpr Attribute kMatmul[] = {{CUBLASLT_MATMUL_DESC_TRANSA, 4},
                                 {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                                 {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4},
                                 {CUBLASLT_MATMUL_DESC_EPILOGUE, 4}};
constexpr Attribute kLayout[] = {
    {CUBLASLT_MATRIX_LAYOUT_TYPE, 4}, {CUBLASLT_MATRIX_LAYOUT_ORDER, 4},
    {CUBLASLT_MATRIX_LAYOUT_ROWS, 8}, {CUBLASLT_MATRIX_LAYOUT_COLS, 8},
    {CUBLASLT_MATRIX_LAYOUT_LD, 8},   {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4}};
constexpr Attribute kAlgorithm[] = {{CUBLASLT_ALGO_CONFIG_ID, 4}};

Sibling<Get> get_matmul{"cublasLtMatmulDescGetAttribute"};
Sibling<Get> get_layout{"cublasLtMatrixLayoutGetAttribute"};
Sibling<Get> get_algorithm{"cublasLtMatmulAlgoConfigGetAttribute"};

}  // namespace

void describe_matmul(Problem* problem, const Function* function, void* matmul,
                     const Field* fields) {
  add_all(problem, get_matmul.of(function), matmul, kMatmul, std::size(kMatmul), fields);
}

void describe_layout(Problem* problem, const Function* function, void* layout,
                     const Field* fields) {
  add_all(problem, get_layout.of(function), layout, kLayout, std::size(kLayout), fields);
}

void describe_algorithm(Problem* problem, const Function* function, void* algorithm,
                        const Field* fields) {
  add_all(problem, get_algorithm.of(function), algorithm, kAlgorithm, std::size(kAlgorithm),
          fields);
}

}  // namespace xsp::library_calls
