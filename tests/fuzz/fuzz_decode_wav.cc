// Feeds any bytes to the step `decode_wav`. What it accepts is audio of as many bytes as its
// dimensions say.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "pipelines/shared/step.h"

using xsp::pipelines::Parameters;
using xsp::pipelines::Step;
using xsp::pipelines::StepKind;
using xsp::pipelines::Value;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Step> step = [] {
    Parameters none{{}};
    for (const StepKind& kind : xsp::pipelines::all_steps()) {
      if (kind.name == "decode_wav") return kind.make(none);
    }
    return std::unique_ptr<Step>();
  }();
  if (step == nullptr) std::abort();  // it is not built
  Value bytes;
  bytes.type = xsp::pipelines::bytes_type();
  bytes.type.dimensions = {static_cast<int64_t>(size)};
  bytes.data.resize(size);
  if (size > 0) std::memcpy(bytes.data.data(), data, size);
  const xsp::Result<Value> audio = step->run(std::move(bytes));
  if (audio.ok() &&
      (audio->type.rate < 1 || static_cast<int64_t>(audio->data.size() / sizeof(float)) !=
                                   xsp::pipelines::element_count(audio->type.dimensions))) {
    std::abort();
  }
  return 0;
}
