// A library for the tests: once it is stripped, only one of its functions has a name.
typedef void (*chain_call)(void* context);

static volatile int deep;

__attribute__((noinline, noclone)) static int third(chain_call call, void* context) {
  call(context);
  return deep + 3;
}

__attribute__((noinline, noclone)) static int second(chain_call call, void* context) {
  return third(call, context) + deep;
}

__attribute__((visibility("default"))) int chain_enter(chain_call call, void* context) {
  return second(call, context) + deep;
}
