// Simulates a machine whose driver reserves hardware counters to administrators, for a program
// without such rights. It is preloaded, because the real setting needs root and a reload of the
// driver. It changes only the files that the program reads: the driver would not refuse.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Returns a file with a descriptor, because C++'s streams read from that.
static FILE* answer(const char* path) {
  if (strcmp(path, "/proc/driver/nvidia/params") != 0) return NULL;
  FILE* file = tmpfile();
  if (file == NULL) return NULL;
  fputs("RmProfilingAdminOnly: 1\n", file);
  rewind(file);
  return file;
}

typedef FILE* open_function(const char*, const char*);

FILE* fopen(const char* path, const char* mode) {
  FILE* file = answer(path);
  return file != NULL ? file : ((open_function*)dlsym(RTLD_NEXT, "fopen"))(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  FILE* file = answer(path);
  return file != NULL ? file : ((open_function*)dlsym(RTLD_NEXT, "fopen64"))(path, mode);
}
uid_t geteuid(void) { return 1000; }
