// The page: one HTML file, built from web/ and compiled in.
//
// Thread rule: constant, for any thread.
#ifndef XSP_DESK_SERVE_PAGE_H_
#define XSP_DESK_SERVE_PAGE_H_

#include <string_view>

namespace xsp::serve {

std::string_view embedded_page();

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_PAGE_H_
