// The values of made inputs; see worker_inputs.h for what they are.
#ifndef XSP_CAPTURE_WORKER_VALUES_H_
#define XSP_CAPTURE_WORKER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::capture {

// `data` has the size that the type and the dimensions ask for.
void fill_values(const std::string& name, uint32_t dtype, const std::vector<int64_t>& dimensions,
                 uint64_t seed, std::vector<std::byte>* data);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_VALUES_H_
