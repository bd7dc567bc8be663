// A program that uses CUDA, as far as `xsp run` can tell. It initialises the fake driver, which
// calls the library that $CUDA_INJECTION64_PATH names, as the real one does. It launches kernels,
// whose records the fake CUPTI produces.
//
//   program [WORD...]     one after another:
//     launch              a kernel, by cudaLaunchKernel, inside a span "step" of the level layer
//     step                xsp_step()
//     fork                a child that does nothing with CUDA, and ends by exit
//     wait                until everything that is flushed periodically has been flushed
//     close               every descriptor but the standard ones
//     subscribe           becomes CUPTI's client itself, as a program linked to it does
//     crash kill _exit exec exit1    ends in this way; exec becomes `true`
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/cupti/fake/control.h"
#include "tests/places.h"
#include "xsp/xsp.h"

namespace {

namespace fake = xsp::cupti::fake;
namespace places = xsp::places;

fake::Control* control = nullptr;
uint32_t correlation = 0;

void* load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fprintf(stderr, "%s\n", dlerror());
  return library;
}

// Does the same as the driver in cuInit.
void initialize() {
  load(places::build("tests/fake_cuda/libcuda.so.1"));
  void* cupti = load(places::build("tests/fake_cuda/libcupti.so.13"));
  control = reinterpret_cast<fake::Control* (*)()>(dlsym(cupti, "fake_cupti_control"))();
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* library = load(path);
  if (library == nullptr) return;
  reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
}

bool is_recorded(CUpti_ActivityKind kind) { return control->kinds.count(kind) != 0; }

void launch() {
  if (control == nullptr) initialize();
  static xsp_site step = XSP_SITE(XSP_LEVEL_LAYER, "step");
  xsp_span span = xsp_begin(&step);
  const uint64_t start = control->now_ns();
  usleep(20);
  const uint64_t end = control->now_ns();
  ++correlation;
  if (control->calls.count({CUPTI_CB_DOMAIN_RUNTIME_API, fake::kLaunchKernel}) != 0) {
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = fake::kLaunchKernel;
    call.correlationId = correlation;
    call.threadId = static_cast<uint32_t>(gettid());
    call.start = start;
    call.end = end;
    control->play(call);
  }
  if (is_recorded(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = "axpy";
    kernel.correlationId = correlation;
    kernel.start = end;
    kernel.end = end + 1000;
    kernel.streamId = 7;
    kernel.gridX = kernel.gridY = kernel.gridZ = 1;
    kernel.blockX = 128;
    kernel.blockY = kernel.blockZ = 1;
    control->play(kernel);
  }
  xsp_end(&span);
}

void close_all() {
  for (int fd = 3; fd < 256; ++fd) close(fd);
}

// The function to which the dynamic linker resolves a call of a linked program.
void subscribe() {
  if (control == nullptr) initialize();
  void* function = dlsym(RTLD_DEFAULT, "cuptiSubscribe");
  if (function == nullptr)
    function = dlsym(load(places::build("tests/fake_cuda/libcupti.so.13")), "cuptiSubscribe");
  CUpti_SubscriberHandle handle = nullptr;
  const auto call = reinterpret_cast<decltype(&cuptiSubscribe)>(function);
  printf("subscribed %d\n", static_cast<int>(call(&handle, nullptr, nullptr)));
}

void do_fork() {
  if (control == nullptr) initialize();
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, nullptr, 0);
}

void do_word(const char* word) {
  const auto is = [word](const char* what) { return strcmp(word, what) == 0; };
  if (is("launch")) launch();
  if (is("fork")) do_fork();
  if (is("wait")) usleep(3'000'000);
  if (is("step")) xsp_step();
  if (is("close")) close_all();
  if (is("subscribe")) subscribe();
  if (is("crash")) raise(SIGSEGV);
  if (is("kill")) raise(SIGKILL);
  if (is("_exit")) _exit(0);
  if (is("exec")) execlp("true", "true", static_cast<char*>(nullptr));
  if (is("exit1")) exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) do_word(argv[i]);
  printf("%u launches\n", correlation);
  return 0;
}
