// Audio as windows, for each of which the model runs once. Samples that are missing at the begin
// and the end are zero.
#include <algorithm>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kSizeMax = 1 << 24;

class AudioFrames : public Step {
 public:
  explicit AudioFrames(Parameters& parameters)
      : size_(parameters.integer("size", 1, kSizeMax)),
        hop_(parameters.integer("hop", 1, kSizeMax, size_)),
        context_(parameters.integer("context", 0, kSizeMax, 0)) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kAudio || given.rate <= 0) {
      return usage("audio of a known rate: put resample before it");
    }
    return windows_type(XSP_FLOAT32, {context_ + size_});
  }

  Result<Value> run(Value value) override {
    const int64_t samples = value.type.dimensions[0], window = context_ + size_;
    Type type = windows_type(XSP_FLOAT32, {window});
    type.dimensions[0] = (samples + hop_ - 1) / hop_;
    const int64_t count = element_count(type.dimensions);
    if (count < 0 || count > static_cast<int64_t>(kValueBytesMax / sizeof(float))) {
      return failed("it gives more than 2 GiB of windows: cut the recording into parts");
    }
    Value frames = zeros(type);
    const float* const given = value.as<float>().data();
    float* const made = frames.as<float>().data();
    for (int64_t i = 0; i < type.dimensions[0]; ++i) {
      const int64_t first = i * hop_ - context_;
      const int64_t begin = std::max<int64_t>(first, 0);
      const int64_t end = std::min(first + window, samples);
      if (begin < end) std::copy(given + begin, given + end, made + i * window + begin - first);
    }
    return frames;
  }

 private:
  const int64_t size_, hop_, context_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<AudioFrames>(parameters);
}

}  // namespace

StepKind audio_frames_step() {
  return {
      "audio_frames", "Audio as windows; the model runs once for each of them, in order.",
      "size: new samples of each; hop: samples from one to the next, else size; context: samples "
      "before them that each repeats",
      make};
}

}  // namespace xsp::pipelines
