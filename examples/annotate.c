/* annotate.c: annotates a model of one's own, in C, with its layers.
 *
 *   xsp run -o a.xsp -- ./annotate 300         records it, each level undisturbed by deeper ones
 *   XSP_TRACE=a.xtrace ./annotate 300          records itself, and then:
 *   xsp import a.xtrace -o a.xsp
 *
 * A site is a place that emits spans. It is static, and its name is stored once. Spans carry
 * values. Every outermost span at level model is an inference, and the spans at level layer in it
 * are its layers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xsp/xsp.h"

enum { BATCH = 4 };

static double harmonic(int size) {
  double sum = 0;
  for (int i = 1; i <= size; ++i) sum += 1.0 / i;
  return sum;
}

static double alternating(int size) {
  double sum = 0;
  for (int i = 1; i <= size; ++i) sum += (i % 2 != 0 ? 1.0 : -1.0) / i;
  return sum;
}

static double infer(void) {
  static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "series");
  static xsp_site first_site = {"harmonic", "Sum", XSP_LEVEL_LAYER, 0};
  static xsp_site second_site = {"alternating", "Sum", XSP_LEVEL_LAYER, 0};
  double result = 0;
  xsp_span model = xsp_begin(&model_site);
  xsp_span_batch(&model, BATCH);
  xsp_span layer = xsp_begin(&first_site);
  for (int i = 0; i < BATCH; ++i) result += harmonic(20000);
  xsp_end(&layer);
  layer = xsp_begin(&second_site);
  for (int i = 0; i < BATCH; ++i) result += alternating(10000);
  xsp_end(&layer);
  xsp_end(&model);
  return result;
}

int main(int argc, char** argv) {
  static xsp_site request_site = XSP_SITE(XSP_LEVEL_APPLICATION, "request");
  const int requests = argc > 1 ? atoi(argv[1]) : 12;
  const int error = xsp_start(NULL);
  if (error != 0) {
    fprintf(stderr, "error: cannot record: %s: set XSP_TRACE to a file\n", strerror(error));
    return 1;
  }
  const uint32_t result = xsp_intern_key("result");
  const uint32_t user = xsp_intern_key("user");

  for (int i = 0; i < requests; ++i) {
    xsp_span request = xsp_begin(&request_site);
    xsp_span_text(&request, user, i == 0 ? "first" : "another");
    xsp_span_traceparent(&request, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    xsp_span_double(&request, result, infer());
    xsp_end(&request);
  }
  return xsp_stop() == 0 ? 0 : 1;
}
