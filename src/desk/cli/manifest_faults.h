// manifest_faults: what would stop xsp predict or xsp profile with a manifest that fits its schema.
#ifndef XSP_DESK_CLI_MANIFEST_FAULTS_H_
#define XSP_DESK_CLI_MANIFEST_FAULTS_H_

#include <string>
#include <vector>

#include "desk/manifest/manifest.h"

namespace xsp::cli {

// Returns a line for each fault of the manifests of one file, as far as it can be known without a
// download, an export or a build: "FILE:LINE: FIELD: what is wrong: what to do (model NAME)". The
// functions that a real run calls find them. What this machine lacks is no fault of a manifest.
std::vector<std::string> faults_of(const std::vector<manifest::Manifest>& manifests);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_MANIFEST_FAULTS_H_
