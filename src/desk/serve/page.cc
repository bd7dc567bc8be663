#include "desk/serve/page.h"

#include <cstddef>

// XSP_PAGE is the built page's path (cmake/page.cmake).
asm(".section .rodata\n"
    "xsp_page_begin: .incbin \"" XSP_PAGE
    "\"\n"
    "xsp_page_end:\n"
    ".previous\n");
extern "C" const char xsp_page_begin[];
extern "C" const char xsp_page_end[];

namespace xsp::serve {

std::string_view embedded_page() {
  return {xsp_page_begin, static_cast<size_t>(xsp_page_end - xsp_page_begin)};
}

}  // namespace xsp::serve
