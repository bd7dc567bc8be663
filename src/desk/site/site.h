// Site: writes a catalogue as pages of HTML, which any static host can serve, and which a browser
// opens from disk.
//
// The pages: those over all models (addresses.h), models/NAME.html, systems/NAME.html. style.css
// and site.js are beside the index; nothing is loaded from elsewhere, and the pages work without
// the script.
//
// Refused: a framework of JavaScript, or the page of `xsp serve`, which asks a server: a site is
// read for years, by anyone, from any host.
#ifndef XSP_DESK_SITE_SITE_H_
#define XSP_DESK_SITE_SITE_H_

#include <cstddef>
#include <filesystem>

#include "desk/catalogue/catalogue.h"
#include "shared/base/result.h"

namespace xsp::site {

struct Written {
  size_t pages = 0;
  size_t evaluations = 0;
};

// Writes the pages into `folder`, which is made if it does not exist. Replaces pages that an
// earlier site wrote there, and fails if the folder has other files.
Result<Written> write_site(catalogue::Catalogue& catalogue, const std::filesystem::path& folder);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_SITE_H_
