#include "desk/serve/page.h"

#include <cstddef>

// XSP_PAGE and XSP_HELP are the paths of the built page and help (cmake/page.cmake).
asm(".section .rodata\n"
    "xsp_page_begin: .incbin \"" XSP_PAGE
    "\"\n"
    "xsp_page_end:\n"
    "xsp_help_begin: .incbin \"" XSP_HELP
    "\"\n"
    "xsp_help_end:\n"
    ".previous\n");
extern "C" const char xsp_page_begin[];
extern "C" const char xsp_page_end[];
extern "C" const char xsp_help_begin[];
extern "C" const char xsp_help_end[];

namespace xsp::serve {

std::string_view embedded_page() {
  return {xsp_page_begin, static_cast<size_t>(xsp_page_end - xsp_page_begin)};
}

std::string_view embedded_help() {
  return {xsp_help_begin, static_cast<size_t>(xsp_help_end - xsp_help_begin)};
}

}  // namespace xsp::serve
