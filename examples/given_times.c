/* given_times.c: adds spans that another profiler measured to the same trace.
 *
 *   XSP_TRACE=a.xtrace ./given_times
 *
 * A collector gets its events late, in any order, and from any thread; it reports where and when
 * each ran, which call launched it, and how many events it lost. The process ends without xsp_stop;
 * the file is complete nevertheless.
 */
#include <stdio.h>
#include <string.h>

#include "xsp/xsp.h"

int main(void) {
  const int error = xsp_start(NULL);
  if (error != 0) {
    fprintf(stderr, "error: cannot record: %s: set XSP_TRACE to a file\n", strerror(error));
    return 1;
  }
  const uint32_t launch = xsp_intern_site(XSP_LEVEL_API, "cudaLaunchKernel", "launch");
  const uint32_t gemm = xsp_intern_site(XSP_LEVEL_KERNEL, "gemm_128x64", "kernel");
  const uint32_t flops = xsp_intern_key("flops");
  const int64_t now_ns = xsp_now_ns();

  for (int i = 0; i < 5; ++i) {
    xsp_complete_span call;
    memset(&call, 0, sizeof call);
    call.struct_size = sizeof call;
    call.site_id = launch;
    call.start_ns = now_ns + i * 10000;
    call.duration_ns = 4000;
    call.correlation_id = (uint64_t)i + 1;
    xsp_emit(&call);

    xsp_value counted;
    counted.key = flops;
    counted.kind = XSP_VALUE_COUNTER;
    counted.value.as_double = 2.0 * 128 * 64 * 64;
    xsp_complete_span kernel = call;
    kernel.site_id = gemm;
    kernel.start_ns = now_ns + 7000 + i * 10000;
    kernel.duration_ns = 9000;
    kernel.device = 0 + 1;
    kernel.stream = 7 + 1;
    kernel.values = &counted;
    kernel.value_count = 1;
    xsp_emit(&kernel);
  }
  xsp_count_loss("example", "buffer full", 2);
  return 0;
}
