// The values of made inputs; see worker_inputs.h for what they are.
#ifndef XSP_CAPTURE_WORKER_VALUES_H_
#define XSP_CAPTURE_WORKER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::capture {

// `data` has the size that the type and the dimensions ask for. How the values were drawn, for
// people: "random, 0 to 99, seed 1".
std::string fill_values(const std::string& name, uint32_t dtype,
                        const std::vector<int64_t>& dimensions, uint64_t seed,
                        std::vector<std::byte>* data);
// Every element is the number that the text says. Why it cannot be; empty: it is.
std::string fill_constant(const std::string& text, uint32_t dtype, std::vector<std::byte>* data);
// An integer that is alone, as a scalar or [1]: a length, a count of loops.
bool is_lone_integer(uint32_t dtype, const std::vector<int64_t>& dimensions);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_VALUES_H_
