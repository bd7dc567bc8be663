// planted: rule=locks, culprit=mutex|lock|read, device=cpu
// cause: all threads read through one lock, which is held while a slow store answers.
// bound: the time in which threads wait for the lock, about seven tenths of a step.
// Reads the parts of a model from a store, in four threads.
#include <unistd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr int kThreads = 4;
constexpr int kParts = 4;  // for each thread
constexpr int kAnswerMicroseconds = 2000;

std::mutex store_mutex;

void read_part(std::vector<float>* part, bool is_mended) {
  std::unique_lock<std::mutex> lock(store_mutex, std::defer_lock);
  if (!is_mended) lock.lock();
  usleep(kAnswerMicroseconds);
  for (float& value : *part) value = 0.5f * value + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const planted::Options options(argc, argv);
  std::vector<std::vector<float>> parts(kThreads, std::vector<float>(1 << 14));
  planted::repeat(options, [&] {
    std::vector<std::thread> readers;
    for (std::vector<float>& part : parts) {
      readers.emplace_back([&part, &options] {
        for (int i = 0; i < kParts; ++i) read_part(&part, options.is_mended);
      });
    }
    for (std::thread& reader : readers) reader.join();
  });
}
