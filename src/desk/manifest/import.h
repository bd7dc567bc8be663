// Reads c3sr's older manifests (dlmodel YAML), as far as they map to ours.
//
// They differ in three ways that a program cannot bridge: a file is known by an MD5 or by nothing,
// so a URL can be taken over only with a sha256; how an image is resized is not said; and a version
// may have two numbers.
#ifndef XSP_DESK_MANIFEST_IMPORT_H_
#define XSP_DESK_MANIFEST_IMPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::manifest {

struct Imported {
  std::string text;                // a manifest that read_manifest accepts
  std::vector<std::string> notes;  // "FILE:LINE: FIELD: what does not map: what to do", by line
};

// `file` names the older manifest in errors and notes.
Result<Imported> import_dlmodel(std::string_view text, const std::string& file);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_IMPORT_H_
