// Local frameworks: those of the user's Python environment, whose versions xsp cannot know before.
// A drop-in helper, adapters/NAME_local.py, builds the adapter for the version that is there, when
// it is first used, and writes models that Python code makes as files. In the helper, a comment
// `# opens: .pt` has the endings of files that the adapter opens, and `# makes: .py torchvision/`
// has the endings and prefixes of the models that it makes. A helper that opens nothing has an
// adapter that runs any version: it tells where the environment's library is.
//
// Thread rule: any thread.
#ifndef XSP_DESK_EXPERIMENT_LOCAL_H_
#define XSP_DESK_EXPERIMENT_LOCAL_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::experiment {

struct LocalFramework {
  std::string name;
  std::filesystem::path helper;
  std::vector<std::string> opens;
  std::vector<std::string> makes;
};

// Returns the words of the file's first line that begins with the mark: "# opens:". Empty: none.
std::vector<std::string> words_after(const std::filesystem::path& file, const std::string& mark);

// Returns the helpers in the folder of the adapters, by name.
std::vector<LocalFramework> local_frameworks(const std::filesystem::path& adapters);

// Returns what the helper says of the framework in the Python environment, without building
// anything, and sets the variables by which the adapter finds it. kNotAvailable: it is not there.
Result<std::string> local_status(const LocalFramework& framework);

// Returns the adapter for the framework of the Python environment, and builds it if need be; the
// progress goes to standard error. `library` is what an installed adapter runs ("": none is
// installed): nothing is returned if that is the environment's. kNotAvailable: it is not there, or
// something that building needs is not.
Result<std::optional<std::filesystem::path>> local_adapter(const LocalFramework& framework,
                                                           const std::string& library);

struct LocalModel {
  std::string framework;
  std::filesystem::path file;
  std::vector<std::string> inputs;  // its example inputs, as --input takes them
};

// Returns whether a helper may make the model that the word names: "net.py:build".
bool is_local_model(const std::vector<LocalFramework>& frameworks, const std::string& word);

// Lets the first helper that can make this model write it to a file in xsp's cache, and sets the
// variables by which the adapter finds its framework. `wanted` is a framework's name, or empty.
Result<LocalModel> make_local_model(const std::vector<LocalFramework>& frameworks,
                                    const std::string& word, const std::string& wanted);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_LOCAL_H_
