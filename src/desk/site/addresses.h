// Addresses: where each page lies, from the folder of the index.
#ifndef XSP_DESK_SITE_ADDRESSES_H_
#define XSP_DESK_SITE_ADDRESSES_H_

#include <string>

namespace xsp::site {

inline constexpr const char* kIndexPage = "index.html";
inline constexpr const char* kBatchesPage = "batches.html";
inline constexpr const char* kFrameworksPage = "frameworks.html";
inline constexpr const char* kEnergyPage = "energy.html";
inline constexpr const char* kLoadsPage = "loads.html";
std::string model_page(const std::string& model);
std::string system_page(const std::string& fingerprint);

// Returns what leads from the page at the address to the folder of the index: "" or "../".
std::string root_of(const std::string& address);

// Returns a name for a file: letters, digits, '.', '-' and '_'. Different texts have different
// names.
std::string file_name(const std::string& text);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_ADDRESSES_H_
