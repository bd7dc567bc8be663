/* annotate.c: spans in a C program.
 *
 *   XSP_TRACE=a.xtrace ./annotate
 *
 * A site is a place that emits spans; it is static, and costs its name once. Values hang on spans.
 */
#include <stdio.h>
#include <string.h>

#include "xsp/xsp.h"

static double work(int size) {
  double sum = 0;
  for (int i = 1; i <= size; ++i) sum += 1.0 / i;
  return sum;
}

int main(void) {
  static xsp_site request_site = XSP_SITE(XSP_LEVEL_APPLICATION, "request");
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "harmonic");
  const int error = xsp_start(NULL);
  if (error != 0) {
    fprintf(stderr, "error: cannot record: %s: set XSP_TRACE to a file\n", strerror(error));
    return 1;
  }
  const uint32_t iteration = xsp_intern_key("iteration");
  const uint32_t result = xsp_intern_key("result");
  const uint32_t user = xsp_intern_key("user");

  for (int i = 0; i < 3; ++i) {
    xsp_span request = xsp_begin(&request_site);
    xsp_span_text(&request, user, i == 0 ? "first" : "another");
    xsp_span_traceparent(&request, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    for (int j = 0; j < 4; ++j) {
      xsp_span model = xsp_begin(&model_site);
      xsp_span_int(&model, iteration, i * 4 + j);
      xsp_span_double(&model, result, work(1000));
      xsp_end(&model);
    }
    xsp_end(&request);
  }

  xsp_counts counts = {sizeof counts, 0, 0, 0, 0, 0};
  xsp_get_counts(&counts);
  printf("%llu spans\n", (unsigned long long)counts.recorded);
  return xsp_stop() == 0 && counts.recorded == 15 ? 0 : 1;
}
