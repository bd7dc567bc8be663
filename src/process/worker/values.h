// The values of made-up inputs; inputs.h describes them.
#ifndef XSP_PROCESS_WORKER_VALUES_H_
#define XSP_PROCESS_WORKER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::process {

// Fills `data`, which has the size that the type and the dimensions require. Returns a text for
// people that says how the values were drawn: "random, 0 to 99, seed 1". Integers are `below` that
// limit; 0: there is none.
std::string fill_values(const std::string& name, uint32_t dtype,
                        const std::vector<int64_t>& dimensions, uint64_t below, uint64_t seed,
                        std::vector<std::byte>* data);
// Sets every element to the number in the text. Returns why that is impossible; empty: it is done.
std::string fill_constant(const std::string& text, uint32_t dtype, std::vector<std::byte>* data);
// Writes one number as an element of that type: the nearest that the type can hold, for integers
// without its fraction.
void put_number(double number, uint32_t dtype, std::byte* at);
// Returns whether it is a single integer, a scalar or [1]: a length, or a number of loops.
bool is_lone_integer(uint32_t dtype, const std::vector<int64_t>& dimensions);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_VALUES_H_
