/* A program of steps, for bench/bounds.py: its threads emit spans, each at its own pace.
 *
 *   steady_spans THREADS SPANS LAYERS PAUSE_NS
 *
 * A child does the work: SPANS spans in all, with LAYERS of them per model span; after each model
 * span it sleeps for PAUSE_NS. It prints `rss BYTES` ten times, evenly, and `end NS` when it is
 * done; then its parent prints `exit NS` when the child has ended. Times are of CLOCK_MONOTONIC. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "xsp/xsp.h"

static long model_count; /* model spans of each thread */
static int layer_count;
static long pause_ns;

static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static long resident_bytes(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static void* work(void* is_first) {
  static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "model");
  static xsp_site layer = XSP_SITE(XSP_LEVEL_LAYER, "layer");
  const struct timespec pause = {0, pause_ns};
  for (long i = 0; i < model_count; ++i) {
    xsp_span outer = xsp_begin(&model);
    for (int j = 0; j < layer_count; ++j) {
      xsp_span inner = xsp_begin(&layer);
      xsp_end(&inner);
    }
    xsp_end(&outer);
    if (is_first != NULL) xsp_step();
    if (pause_ns > 0) nanosleep(&pause, NULL);
    const int is_tenth = (i + 1) * 10 / model_count != i * 10 / model_count;
    if (is_first != NULL && is_tenth) printf("rss %ld\n", resident_bytes());
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int threads = atoi(argv[1]);
  layer_count = atoi(argv[3]);
  model_count = atol(argv[2]) / threads / (layer_count + 1);
  pause_ns = atol(argv[4]);
  const pid_t child = fork();
  if (child == 0) {
    pthread_t others[256];
    for (int i = 1; i < threads && i < 256; ++i) pthread_create(&others[i], NULL, work, NULL);
    work(others);
    for (int i = 1; i < threads && i < 256; ++i) pthread_join(others[i], NULL);
    printf("end %ld\n", now_ns());
    fflush(stdout);
    return 0;
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  printf("exit %ld\n", now_ns());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
