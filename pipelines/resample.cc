// Audio at another rate, with one channel: the mean of all channels, low-passed and interpolated.
//
// The method is interpolation by a windowed sinc (J. O. Smith, "Digital Audio Resampling Home
// Page"), with the parameters that torchaudio.functional.resample has by default: a Hann window of
// 6 zero crossings a side, and a cutoff at 0.99 of the lower of the two Nyquist frequencies:
//
//   y[j] = c * sum over n of x[n] * sinc(t) * cos(pi * t / 12)^2,
//   c = 0.99 * min(1, to / from),  t = c * (n - j * from / to),  |t| < 6
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr double kCrossings = 6, kRolloff = 0.99;
constexpr int64_t kRateMin = 1000, kRateMax = 768'000;

std::vector<float> mean_of_channels(const Value& audio) {
  const auto channels = static_cast<size_t>(audio.type.dimensions[1]);
  const auto samples = audio.as<float>();
  std::vector<float> mean(static_cast<size_t>(audio.type.dimensions[0]));
  for (size_t i = 0; i < mean.size(); ++i) {
    const float* const first = samples.data() + i * channels;
    mean[i] = std::accumulate(first, first + channels, 0.0F) / static_cast<float>(channels);
  }
  return mean;
}

double weight(double t) {
  if (std::abs(t) >= kCrossings) return 0;
  const double window = std::cos(std::numbers::pi * t / (2 * kCrossings));
  const double angle = std::numbers::pi * t;
  return window * window * (t == 0 ? 1 : std::sin(angle) / angle);
}

// `from` and `to` have no common divisor, so the outputs j, j + to, ... have the same weights.
void interpolate(const std::vector<float>& given, int64_t from, int64_t to,
                 std::span<float> result) {
  const double cutoff =
      kRolloff * std::min(1.0, static_cast<double>(to) / static_cast<double>(from));
  const auto reach = static_cast<int64_t>(std::ceil(kCrossings / cutoff));
  const auto count = static_cast<int64_t>(given.size());
  const auto results = static_cast<int64_t>(result.size());
  std::vector<double> weights(static_cast<size_t>(2 * reach + 2));
  for (int64_t phase = 0; phase < std::min(to, results); ++phase) {
    const double part =
        static_cast<double>(phase * from % to) / static_cast<double>(to);  // of an input sample
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] =
          cutoff * weight(cutoff * (static_cast<double>(static_cast<int64_t>(i) - reach) - part));
    }
    for (int64_t j = phase; j < results; j += to) {
      const int64_t first = j * from / to - reach;
      const int64_t begin = std::max<int64_t>(first, 0);
      const int64_t end = std::min(first + static_cast<int64_t>(weights.size()), count);
      double sum = 0;
      for (int64_t n = begin; n < end; ++n) {
        sum += given[static_cast<size_t>(n)] * weights[static_cast<size_t>(n - first)];
      }
      result[static_cast<size_t>(j)] = static_cast<float>(sum);
    }
  }
}

class Resample : public Step {
 public:
  explicit Resample(Parameters& parameters)
      : rate_(parameters.integer("rate", kRateMin, kRateMax)) {
    parameters.integer("channels", 1, 1, 1);
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kAudio) return usage("audio: put decode_wav before it");
    return type_of(kUnknown);
  }

  Result<Value> run(Value value) override {
    const int64_t divisor = std::gcd(value.type.rate, rate_);
    const int64_t from = value.type.rate / divisor, to = rate_ / divisor;
    const std::vector<float> mono = mean_of_channels(value);
    const int64_t count = (static_cast<int64_t>(mono.size()) * to + from - 1) / from;
    if (count > static_cast<int64_t>(kValueBytesMax / sizeof(float))) {
      return failed("it gives more than 2 GiB of samples: cut the recording into parts");
    }
    Value result = zeros(type_of(count));
    if (from == to) {
      std::copy(mono.begin(), mono.end(), result.as<float>().begin());
    } else {
      interpolate(mono, from, to, result.as<float>());
    }
    return result;
  }

 private:
  Type type_of(int64_t count) const {
    Type type{Kind::kAudio, XSP_FLOAT32, {count, 1}, "", ""};
    type.rate = rate_;
    return type;
  }

  const int64_t rate_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Resample>(parameters);
}

}  // namespace

StepKind resample_step() {
  return {"resample",
          "Audio at another rate, with the mean of its channels, as torchaudio does it.",
          "rate: in Hz; channels: 1", make};
}

}  // namespace xsp::pipelines
