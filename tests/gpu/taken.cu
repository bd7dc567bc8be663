// A client that holds CUPTI's only subscription from the start of the process, as another profiler
// would. CUDA_INJECTION64_PATH names it.
#include <cupti.h>

static void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

extern "C" int InitializeInjection() {
  static CUpti_SubscriberHandle subscriber;
  return cuptiSubscribe(&subscriber, ignore, nullptr) == CUPTI_SUCCESS;
}
