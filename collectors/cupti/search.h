// Finds libraries of CUDA: in the folders where installers put libcupti, and among those that this
// process has loaded.
#ifndef XSP_COLLECTORS_CUPTI_SEARCH_H_
#define XSP_COLLECTORS_CUPTI_SEARCH_H_

#include <string>
#include <vector>

namespace xsp::cupti {

// Returns the files of libcupti in the usual places, without duplicates: those of the CUDA toolkit,
// and those that pip installs (beside a loaded torch, in the active environment, and in the
// system's).
std::vector<std::string> installed_libraries();

// Returns the files of the libraries that this process has mapped.
std::vector<std::string> mapped_files();

// Returns the known users of CUPTI that are among these files, or in the environment's
// CUDA_INJECTION64_PATH; empty if there are none.
std::string clients_among(const std::vector<std::string>& files, const char* injection);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_SEARCH_H_
