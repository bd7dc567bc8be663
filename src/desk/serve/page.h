// The page and the help: one HTML file each, built from web/ and docs/, and compiled in.
//
// Thread rule: constant, for any thread.
#ifndef XSP_DESK_SERVE_PAGE_H_
#define XSP_DESK_SERVE_PAGE_H_

#include <string_view>

namespace xsp::serve {

std::string_view embedded_page();
// The documents of docs/, a chapter each.
std::string_view embedded_help();

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_PAGE_H_
