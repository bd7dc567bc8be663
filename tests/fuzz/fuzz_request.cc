// Parses arbitrary bytes as the address of a request to the server.
#include <cstdint>
#include <string_view>

#include "desk/serve/http/request.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto request = xsp::serve::parse_request(bytes);
  if (!request.ok()) {
    require(request.error().code == xsp::Code::kUsage);
    return 0;
  }
  for (const auto& [name, value] : request->query) {
    require(name.size() + value.size() <= size);
    require(xsp::serve::decode(xsp::serve::encode(value)).value() == value);
    const auto number = request->integer(name, 0, -5, 5);
    require(!number.ok() || (number.value() >= -5 && number.value() <= 5));
  }
  for (const char* pattern : {"/evaluations/{}", "/evaluations/{}/analyses/{}", "/catalogue", ""}) {
    const auto parts = xsp::serve::match(pattern, request->path);
    if (!parts) continue;
    for (const std::string_view part : *parts) {
      require(!part.empty() && part.find('/') == std::string_view::npos);
    }
  }
  return 0;
}
