// Where libraries of CUDA are: the folders in which installers put libcupti, and what this process
// has loaded.
#ifndef XSP_COLLECTORS_CUPTI_SEARCH_H_
#define XSP_COLLECTORS_CUPTI_SEARCH_H_

#include <string>
#include <vector>

namespace xsp::cupti {

// Files of libcupti in the usual places, each once: the CUDA toolkit's, and those that pip
// installs (beside a torch that is loaded, in the active environment, and in the system's).
std::vector<std::string> installed_libraries();

// The files of the libraries that this process has mapped.
std::vector<std::string> mapped_files();

// Who of the known users of CUPTI is among these files, or in the environment's
// CUDA_INJECTION64_PATH; empty if none.
std::string clients_among(const std::vector<std::string>& files, const char* injection);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_SEARCH_H_
