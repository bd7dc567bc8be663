/* bare_onnxruntime: a program that only calls ONNX Runtime; xsp's model latency is compared with
 * its latency.
 *
 *   bare_onnxruntime MODEL [BATCH [THREADS [SEED]]]
 *
 * Opens the model as any C program would. For each line of standard input, a number N, it runs N
 * inferences and prints their durations in nanoseconds on one line, so that its blocks can be
 * interleaved with those of xsp-worker. The first dimension, if dynamic, is the batch; other
 * dynamic ones are 1. The values are those that xsp-worker makes with the same seed
 * (src/process/worker/values.h).
 */
#define _POSIX_C_SOURCE 200809L
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kInputsMax = 64, kRankMax = 16 };

static const OrtApi* api;

static void check(OrtStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "error: %s\n", api->GetErrorMessage(status));
  exit(1);
}

static uint64_t next(uint64_t* state) { /* SplitMix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void fill(void* data, size_t elements, ONNXTensorElementDataType type, const char* name,
                 uint64_t state) {
  const int is_mask = strstr(name, "mask") != NULL;
  for (const char* c = name; *c != '\0'; ++c) state = (state ^ (uint8_t)*c) * 0x100000001b3u;
  for (size_t i = 0; i < elements; ++i) {
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
      const uint64_t bits = next(&state);
      const float magnitude = 0x1p-10f + (float)(bits >> 43) * (0x1p-21f * (1.0f - 0x1p-10f));
      ((float*)data)[i] = is_mask ? 1.0f : (bits & 1) != 0 ? -magnitude : magnitude;
    } else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) {
      ((int64_t*)data)[i] = is_mask ? 1 : (int64_t)(next(&state) % 100);
    } else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) {
      ((int32_t*)data)[i] = is_mask ? 1 : (int32_t)(next(&state) % 100);
    } else {
      fprintf(stderr, "error: input %s: only float32, int64 and int32 are made here\n", name);
      exit(1);
    }
  }
}

static OrtValue* make_input(const OrtSession* session, size_t index, const char* name,
                            int64_t batch, uint64_t seed) {
  OrtTypeInfo* info = NULL;
  const OrtTensorTypeAndShapeInfo* tensor = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  int64_t shape[kRankMax] = {0};
  size_t rank = 0;
  OrtAllocator* allocator = NULL;
  OrtValue* value = NULL;
  void* data = NULL;
  check(api->SessionGetInputTypeInfo(session, index, &info));
  check(api->CastTypeInfoToTensorInfo(info, &tensor));
  check(api->GetTensorElementType(tensor, &type));
  check(api->GetDimensionsCount(tensor, &rank));
  if (rank > kRankMax) exit(1);
  check(api->GetDimensions(tensor, shape, rank));
  api->ReleaseTypeInfo(info);
  size_t elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d] < 0) shape[d] = d == 0 ? batch : 1;
    elements *= (size_t)shape[d];
  }
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  check(api->CreateTensorAsOrtValue(allocator, shape, rank, type, &value));
  check(api->GetTensorMutableData(value, &data));
  fill(data, elements, type, name, seed);
  return value;
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char** argv) {
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  OrtAllocator* allocator = NULL;
  char* input_names[kInputsMax];
  char* output_names[kInputsMax];
  OrtValue* inputs[kInputsMax] = {NULL};
  OrtValue* outputs[kInputsMax] = {NULL};
  size_t input_count = 0;
  size_t output_count = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: bare_onnxruntime MODEL [BATCH [THREADS [SEED]]]\n");
    return 2;
  }
  const int64_t batch = argc > 2 ? atoll(argv[2]) : 1;
  const int threads = argc > 3 ? atoi(argv[3]) : 0;
  const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bare", &env));
  check(api->CreateSessionOptions(&options));
  if (threads > 0) check(api->SetIntraOpNumThreads(options, threads));
  check(api->CreateSession(env, argv[1], options, &session));
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  check(api->SessionGetInputCount(session, &input_count));
  check(api->SessionGetOutputCount(session, &output_count));
  if (input_count > kInputsMax || output_count > kInputsMax) return 1;
  for (size_t i = 0; i < input_count; ++i) {
    check(api->SessionGetInputName(session, i, allocator, &input_names[i]));
    inputs[i] = make_input(session, i, input_names[i], batch, seed);
  }
  for (size_t i = 0; i < output_count; ++i) {
    check(api->SessionGetOutputName(session, i, allocator, &output_names[i]));
  }
  for (size_t count = 0; scanf("%zu", &count) == 1;) {
    long long* durations = malloc((count + 1) * sizeof *durations);
    if (durations == NULL) return 1;
    for (size_t i = 0; i < count; ++i) {
      const long long begin = now_ns();
      check(api->Run(session, NULL, (const char* const*)input_names, (const OrtValue* const*)inputs,
                     input_count, (const char* const*)output_names, output_count, outputs));
      durations[i] = now_ns() - begin;
      for (size_t o = 0; o < output_count; ++o) {
        api->ReleaseValue(outputs[o]);
        outputs[o] = NULL;
      }
    }
    for (size_t i = 0; i < count; ++i) printf("%s%lld", i == 0 ? "" : " ", durations[i]);
    printf("\n");
    fflush(stdout);
    free(durations);
  }
  return 0;
}
