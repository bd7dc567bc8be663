// Bytes as hexadecimal digits, for texts that must be kept as they are.
#ifndef XSP_SHARED_BASE_HEX_H_
#define XSP_SHARED_BASE_HEX_H_

#include <optional>
#include <string>
#include <string_view>

namespace xsp {

// Returns two small digits for each byte.
std::string hex_of(std::string_view bytes);
// Returns nothing if the text is not what hex_of() writes.
std::optional<std::string> bytes_of_hex(std::string_view hex);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_HEX_H_
