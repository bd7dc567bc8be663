/* Tests that the public headers are C11, and that a span which is not recorded needs only the
   headers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xsp/plugin.h"
#include "xsp/xsp.h"

static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "model");
static const xsp_adapter adapter = {.struct_size = sizeof(xsp_adapter), .abi = XSP_PLUGIN_ABI};

int main(void) {
  int failures = 0;
  xsp_span span = xsp_begin(&site);
  xsp_span_int(&span, 0, 1);
  xsp_end(&span);
  failures += span.start != 0;
  failures += adapter.struct_size < sizeof(size_t);
  failures += xsp_is_recorded(XSP_LEVEL_MODEL) != 0;

  xsp_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.path = "/no/such/folder/a.xtrace";
  failures += xsp_start(&options) != ENOENT;
  /* A caller that was compiled with an older header knows fewer fields. */
  options.struct_size = offsetof(xsp_options, levels);
  failures += xsp_start(&options) != ENOENT;
  failures += xsp_stop() != 0;
  failures += xsp_intern_key("key") == 0;
  failures += xsp_now_ns() <= 0;
  if (failures != 0) fprintf(stderr, "%d failures\n", failures);
  return failures;
}
