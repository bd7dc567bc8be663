// The manifests that come with xsp, and the user's: how they are found by name.
#ifndef XSP_DESK_MANIFEST_SHIPPED_H_
#define XSP_DESK_MANIFEST_SHIPPED_H_

#include <filesystem>
#include <string>
#include <vector>

#include "desk/manifest/manifest.h"
#include "shared/base/result.h"

namespace xsp::manifest {

// Returns share/xsp of this installation, or of the build tree. It is relative to the program, so
// that the tree can be moved.
Result<std::filesystem::path> shipped_folder();

struct Found {
  std::string path;
  Result<Manifest> manifest;  // an Error says what is wrong with the file
};

// Returns the manifests that are shipped, and those in the folders of $XSP_MANIFESTS, which colons
// separate; ordered by name. A folder is searched with all its folders.
std::vector<Found> all_manifests();
// Returns the manifest of that name. Of several versions, the newest; "NAME@CONSTRAINT" asks for
// the newest of those that satisfy it. Returns kUsage if there is none.
Result<Manifest> find_manifest(const std::string& name);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_SHIPPED_H_
