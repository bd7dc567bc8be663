#include "desk/machine/peaks.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>

#include "desk/machine/machine.h"
#include "desk/machine/peak_kernels.h"
#include "desk/statistics/steady.h"

namespace xsp::machine {
namespace {

using std::chrono::steady_clock;

// Trials are many and short, so that another program's time slice spoils only some of them.
constexpr int kTrials = 10;
constexpr double kTrialSeconds = 0.008;
// A stream does not fit into the caches if each of its arrays is four times their size (the rule of
// J. D. McCalpin's STREAM benchmark). The size is bounded, because huge caches would need huge
// arrays.
constexpr size_t kArrayCaches = 4;
constexpr size_t kArrayBytesMin = size_t{32} << 20;
constexpr size_t kArrayBytesMax = size_t{512} << 20;

double seconds_between(steady_clock::time_point a, steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// Returns the processors that this process may run on.
std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  // Some containers refuse this call. The scheduler then places the thread, usually just as well.
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

// Runs work(thread) on all threads at once. Returns the seconds from the first start to the last
// end.
double run_on(int threads, const std::function<void(int)>& work) {
  const std::vector<int> processors = allowed_processors();
  std::atomic<int> waiting{0};
  std::vector<steady_clock::time_point> starts(static_cast<size_t>(threads)), ends(starts);
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      const size_t index = static_cast<size_t>(i);
      if (!processors.empty()) pin_to(processors[index % processors.size()]);
      waiting.fetch_add(1);
      while (waiting.load() < threads) std::this_thread::yield();
      starts[index] = steady_clock::now();
      work(i);
      ends[index] = steady_clock::now();
    });
  }
  for (std::thread& thread : pool) thread.join();
  return seconds_between(*std::min_element(starts.begin(), starts.end()),
                         *std::max_element(ends.begin(), ends.end()));
}

std::atomic<double> sink;  // keeps the compiler from removing the results

// Returns the processor time of the calling thread. Unlike the clock, it stands still while others
// use our processor.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns the seconds of processor time that so many rounds take.
double seconds_of(const ArithmeticLoop& loop, uint64_t rounds) {
  const double start = thread_seconds();
  sink = loop.run(rounds);
  return thread_seconds() - start;
}

double rate_of(const ArithmeticLoop& loop, int threads) {
  // The number of rounds that fill a trial is found by doubling.
  uint64_t rounds = 1000;
  double seconds = seconds_of(loop, rounds);
  while (seconds < kTrialSeconds / 4) {
    rounds *= 2;
    seconds = seconds_of(loop, rounds);
  }
  rounds = static_cast<uint64_t>(static_cast<double>(rounds) * kTrialSeconds / seconds) + 1;
  const double operations = loop.operations_per_round * static_cast<double>(rounds);
  std::vector<double> totals;
  std::vector<double> rates(static_cast<size_t>(threads));
  for (int trial = 0; trial < kTrials; ++trial) {
    run_on(threads, [&](int thread) {
      rates[static_cast<size_t>(thread)] = operations / seconds_of(loop, rounds);
    });
    totals.push_back(std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return statistics::median(totals);
}

// A buffer with its own memory pages, which are freed at the end.
class Buffer {
 public:
  explicit Buffer(size_t count) : bytes_(count * sizeof(double)) {
    void* address =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = address == MAP_FAILED ? nullptr : static_cast<double*>(address);
    if (data_ != nullptr) ::madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  double* data() const { return data_; }

 private:
  size_t bytes_;
  double* data_ = nullptr;
};

size_t array_bytes() {
  const Machine machine;
  size_t bytes = std::clamp(kArrayCaches * static_cast<size_t>(machine.last_level_cache_bytes()),
                            kArrayBytesMin, kArrayBytesMax);
  // The three arrays together take at most a quarter of the free memory.
  if (const auto available = machine.available_memory_bytes()) {
    bytes = std::min(bytes, static_cast<size_t>(*available / 12));
  }
  return bytes;
}

struct Bandwidth {
  double read = 0;
  double triad = 0;
};

Bandwidth bandwidth_of(int threads, const Buffer& a, const Buffer& b, const Buffer& c,
                       size_t count) {
  const size_t share = count / static_cast<size_t>(threads) / 16 * 16;
  const double streamed = static_cast<double>(share) * threads * sizeof(double);
  const auto at = [share](const Buffer& buffer, int thread) {
    return buffer.data() + static_cast<size_t>(thread) * share;
  };
  Bandwidth best;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double triad_s =
        run_on(threads, [&](int t) { triad_stream(at(a, t), at(b, t), at(c, t), 3.0, share); });
    const double read_s = run_on(threads, [&](int t) { sink = read_stream(at(b, t), share); });
    best.triad = std::max(best.triad, 3 * streamed / triad_s);
    best.read = std::max(best.read, streamed / read_s);
  }
  return best;
}

void add_bandwidth(int threads, std::vector<Peak>* peaks) {
  const size_t count = array_bytes() / sizeof(double) / 16 * 16;
  const Buffer a(count), b(count), c(count);
  if (a.data() == nullptr || b.data() == nullptr || c.data() == nullptr || count == 0) return;
  const size_t share = count / static_cast<size_t>(threads) / 16 * 16;
  if (share == 0) return;
  // Each thread touches its own part first, so that its pages are placed near its processor.
  run_on(threads, [&](int t) {
    const size_t start = static_cast<size_t>(t) * share;
    const size_t end = t + 1 == threads ? count : start + share;
    for (const Buffer* buffer : {&a, &b, &c}) {
      std::fill(buffer->data() + start, buffer->data() + end, 1.0);
    }
  });
  const Bandwidth all = bandwidth_of(threads, a, b, c, count);
  peaks->push_back({"cpu", "memory_bytes_per_s", std::max(all.read, all.triad), "measured"});
  peaks->push_back({"cpu", "memory_read_bytes_per_s", all.read, "measured"});
  peaks->push_back({"cpu", "memory_triad_bytes_per_s", all.triad, "measured"});
  if (threads == 1) return;
  const Bandwidth one = bandwidth_of(1, a, b, c, count);
  peaks->push_back(
      {"cpu", "memory_1_thread_bytes_per_s", std::max(one.read, one.triad), "measured"});
}

// Turns "fp32_flops_per_s" into "fp32_1_thread_flops_per_s": units come last.
std::string one_thread_name(const std::string& name) {
  const size_t kind_end = name.find('_');
  return name.substr(0, kind_end) + "_1_thread" + name.substr(kind_end);
}

}  // namespace

PeakReport measure_peaks(int threads) {
  PeakReport report;
  report.threads = std::max(1, threads);
  std::string_view done;
  for (const ArithmeticLoop& loop : arithmetic_loops()) {
    if (done == loop.name || !loop.is_supported()) continue;
    done = loop.name;  // the first supported loop is the widest
    if (report.instruction_set.empty()) report.instruction_set = loop.instruction_set;
    const double one = rate_of(loop, 1);
    // All threads together are never slower than one, except when other programs disturb them.
    const double all = report.threads > 1 ? std::max(one, rate_of(loop, report.threads)) : one;
    report.peaks.push_back({"cpu", loop.name, all, "measured"});
    if (report.threads > 1)
      report.peaks.push_back({"cpu", one_thread_name(loop.name), one, "measured"});
  }
  add_bandwidth(report.threads, &report.peaks);
  return report;
}

}  // namespace xsp::machine
