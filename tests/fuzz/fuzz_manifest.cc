// Reads arbitrary bytes as a manifest.
#include <cstdint>
#include <string_view>

#include "desk/manifest/import.h"
#include "desk/manifest/manifest.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifests = xsp::manifest::parse_manifests(text, "m.yaml");
  if (manifests.ok()) {
    require(!manifests->empty());
    for (const xsp::manifest::Manifest& manifest : *manifests) {
      require(!manifest.name.empty());
      require(!manifest.model.place.empty());
    }
  } else {
    require(manifests.error().text.starts_with("m.yaml"));
  }
  const auto imported = xsp::manifest::import_dlmodel(text, "m.yaml");
  if (imported.ok()) require(xsp::manifest::parse_manifest(imported->text, "m.yaml").ok());
  return 0;
}
