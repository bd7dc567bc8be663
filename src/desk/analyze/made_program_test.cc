#include "desk/analyze/made_program.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace xsp::analyze {
namespace {

struct Site {
  int id, level;
  const char *name, *type;  // nullptr: no type
};

constexpr Site kModel = {1, 2, "net", "Net"};
constexpr Site kLaunches[] = {{11, 5, "cudaLaunchKernel", "launch"},
                              {12, 5, "cudaGraphLaunch", "graph_launch"},
                              {13, 5, "cudaMemsetAsync", "memset"},
                              {14, 5, "cudaMemcpyAsync", "copy"},
                              {29, 5, "cuOther", nullptr}};
constexpr Site kBlocking[] = {{15, 5, "cudaStreamSynchronize", "synchronization"},
                              {14, 5, "cudaMemcpyAsync", "copy"},
                              {16, 5, "cudaFree", "allocation"}};
constexpr Site kHolders[] = {{2, 3, "conv", "Conv2d"},
                             {3, 3, "aten::add", "aten::add"},
                             {4, 3, "aten::sort", "aten::sort"},
                             {5, 3, "AddmmBackward0", "AddmmBackward0"},
                             {6, 3, "loader", "enumerate(DataLoader)#next"},
                             {7, 1, "next batch", "phase"},
                             {8, 1, "backward", "phase"},
                             {9, 1, "my part", nullptr},
                             {10, 4, "cublasSgemm", "cublas"},
                             {28, 3, "nameless", nullptr},
                             {17, 5, "command buffer is full", "overhead"},
                             {18, 5, "CUPTI flushes buffers", "overhead"},
                             {19, 5, "allocate", "memory"}};
constexpr Site kSort = kHolders[2];
constexpr Site kStep[] = {{20, 1, "step", "step"}, {21, 1, "step", "step"}};
constexpr Site kOperations[] = {{30, 6, "sgemm_128", "kernel"},
                                {31, 6, "vectorized_elementwise_kernel", "kernel"},
                                {32, 6, "ncclDevKernel_AllReduce", "kernel"},
                                {33, 6, "memcpy HtoD", "memcpy"},
                                {34, 6, "odd", nullptr},
                                {35, 6, "NCCL_again", "kernel"}};

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    is_profile_ = seed % 6 == 5;
    has_device_ = seed % 5 != 3;
    grain_ns_ = std::vector<int64_t>{1, 1000, 7000}[seed % 3];
    has_turns_ = !is_profile_ && one_in(3);
    steps_ = one_in(30) ? 60 : 5 + pick(8);
    recorded_by_ = one_in(3) ? "a program" : "xsp run";
    framework_ = one_in(2) ? "torch" : "none";
  }

  std::string make() {
    const int processes = 1 + pick(3);
    for (int process = 0; process < processes; ++process) run_process(process);
    std::string sql = "INSERT INTO evaluation VALUES ('model', 'made'), ('framework', '" +
                      framework_ + "')" +
                      (is_profile_ ? "" : ", ('recorded_by', '" + recorded_by_ + "')") + ";";
    const std::string inner = std::string(is_profile_ ? "model" : "application,model") + ",layer" +
                              (has_device_ ? ",api,kernel" : "");
    const std::string device = has_device_ ? "cuda:0" : "cpu";
    sql +=
        "INSERT INTO run(run_id, levels, batch, device, threads, iterations, status) VALUES "
        "(2, '" +
        inner + "', 1, '" + device + "', 1, " + std::to_string(steps_) + ", 'ok')";
    if (has_turns_) sql += ", (1, 'application,model', 1, '" + device + "', 1, 5, 'ok')";
    sql += ";INSERT INTO site_attribute VALUES ";
    for (const char* run : {"1", "2"}) {
      for (const char* rest : {"7, 'phase', 'data'", "8, 'phase', 'backward'",
                               "20, 'step_of', 'mark'", "21, 'step_of', 'optimizer'"}) {
        sql += std::string(sql.back() == ')' ? ", (" : "(") + run + ", " + rest + ")";
      }
    }
    if (!attributes_.empty()) sql += ";INSERT INTO span_attribute VALUES " + attributes_;
    return sql +
           ";INSERT INTO span(run_id, span_id, parent_id, level, name, type, iteration, start_ns, "
           "duration_ns, process, thread, device, stream, correlation_id, site_id, depth, self_ns, "
           "is_open) VALUES " +
           spans_ + ";";
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return pick(count) == 0; }
  template <class T, size_t n>
  const T& any(const T (&all)[n]) {
    return all[pick(static_cast<int>(n))];
  }
  int64_t grains(int most) { return grain_ns_ * pick(most + 1); }

  struct Thread {
    int process, thread;
    int64_t now_ns;
    int64_t parent = 0, children_ns = 0;
    int run = 2, iteration = 0, depth = 0, level = 1;
  };

  static std::string or_null(int64_t value) { return value == 0 ? "NULL" : std::to_string(value); }

  void write(const Thread& on, const Site& site, int64_t id, int64_t parent, int64_t start_ns,
             int64_t end_ns, int64_t self_ns, int64_t correlation = 0, int stream = 0) {
    const bool is_device = site.level == 6;
    const bool is_open = correlation != 0 && one_in(200);
    spans_ += (spans_.empty() ? "(" : ",(") + std::to_string(on.run) + "," + std::to_string(id) +
              "," + or_null(parent) + "," + std::to_string(site.level) + ",'" + site.name + "'," +
              (site.type == nullptr ? "NULL" : "'" + std::string(site.type) + "'") + "," +
              (site.level == 2 ? std::to_string(on.iteration) : "NULL") + "," +
              std::to_string(start_ns) + "," + std::to_string(end_ns - start_ns) + "," +
              std::to_string(on.process) + "," + (is_device ? "NULL" : std::to_string(on.thread)) +
              "," + (is_device ? "0" : "NULL") + "," + or_null(stream) + "," +
              or_null(correlation) + "," + std::to_string(site.id) + ",0," +
              std::to_string(self_ns) + "," + (is_open ? "true" : "false") + ")";
  }

  // Adds a span around the actions of `inside`.
  template <class Inside>
  void span(Thread& on, const Site& site, Inside inside, int64_t correlation = 0) {
    const int64_t id = ++span_id_, parent = on.parent, start = on.now_ns;
    const int64_t beside = on.children_ns;
    on.parent = id;
    on.children_ns = 0;
    const int level = std::exchange(on.level, site.level);
    ++on.depth;
    inside();
    --on.depth;
    on.level = level;
    write(on, site, id, parent, start, on.now_ns, on.now_ns - start - on.children_ns, correlation);
    on.parent = parent;
    on.children_ns = beside + on.now_ns - start;
  }

  void launch(Thread& on) {
    const int64_t correlation = ++correlation_;
    const int64_t start = on.now_ns;
    const Site& site = any(kLaunches);
    span(
        on, site, [&] { on.now_ns += grains(4); }, correlation);
    if (one_in(40))
      span(
          on, site, [&] { on.now_ns += grains(2); }, correlation);
    if (one_in(20)) return;
    for (int i = site.id == 12 ? 3 : 1; i > 0; --i) {
      const int stream = 1 + pick(3);
      int64_t& free_ns = free_ns_[{on.process, stream}];
      const int64_t begin = std::max(free_ns, start + grains(8));
      const int64_t end = begin + grains(8) * pace_;
      const int64_t known = one_in(20) ? 0 : one_in(50) ? correlation + 1'000'000 : correlation;
      Thread device = on;
      write(device, any(kOperations), ++span_id_, on.parent, begin, end, 0, known, stream);
      free_ns = one_in(8) ? begin : end;  // sometimes the next one overlaps
    }
  }

  // Waits until the device has done all, or for another time. Some blocking calls contain another.
  void block(Thread& on) {
    span(on, any(kBlocking), [&] {
      if (one_in(6)) block(on);
      int64_t done_ns = on.now_ns;
      for (const auto& [stream, free_ns] : free_ns_) {
        if (stream.first == on.process) done_ns = std::max(done_ns, free_ns);
      }
      on.now_ns = one_in(3) ? on.now_ns + grains(20) : done_ns + grains(3);
    });
  }

  void work(Thread& on, int actions) {
    while (actions-- > 0) {
      const int action = pick(10);
      if (action < 2) on.now_ns += grains(5);
      if (action == 2 && one_in(6)) on.now_ns += 120'000;
      if (action == 3 && one_in(3) && on.level <= kSort.level) {
        span(on, kSort, [&] { on.now_ns += 30'000 + 1000 * pick(90); });
      }
      if (action >= 4 && action < 7 && on.depth < 5) {
        const Site& holder = any(kHolders);  // only inside a span of the same or a higher level
        if (holder.level >= on.level) span(on, holder, [&] { work(on, pick(4)); });
      }
      if (!has_device_ || on.run == 1) continue;
      if (action >= 7 && action < 9) launch(on);
      if (action == 9 && one_in(3)) block(on);
    }
  }

  void step(Thread& on, int number, int kind, bool is_other_marked) {
    Thread second = {on.process, 2, std::max(on.now_ns, second_ns_), 0, 0, on.run, 0, 0, 1};
    const int64_t id = ++span_id_, parent = on.parent, start = on.now_ns;
    const bool is_idle = one_in(15);
    if (kind < 2) on.parent = id;
    on.iteration = number;
    const auto body = [&] { work(on, is_idle ? 1 : 4 + pick(12)); };
    if (kind == 2) {
      span(on, kModel, body);
      work(on, pick(3));
    } else {
      body();
    }
    if (number == 40) on.now_ns += 50'000'000;
    if (!is_idle && one_in(2)) work(second, 1 + pick(8));
    second_ns_ = second.now_ns;
    if (kind == 2) return;
    if (!one_in(30)) on.now_ns = std::max(on.now_ns, second.now_ns);
    write(on, kStep[kind], id, parent, start, on.now_ns, 0);
    attribute(on.run, id, number);
    if (is_other_marked) {
      const int64_t other = ++span_id_;
      second.run = on.run;
      write(second, kStep[kind], other, 0, start + grains(2),
            std::max(second.now_ns, start) + grain_ns_ * 2, 0);
      attribute(on.run, other, number);
    }
    on.parent = parent;
  }

  void attribute(int run, int64_t id, int number) {
    attributes_ += (attributes_.empty() ? "(" : ",(") + std::to_string(run) + "," +
                   std::to_string(id) + ",'step','" + std::to_string(number) + "')";
  }

  void run_process(int process) {
    static constexpr Site kProcess = {40, 1, "python3", "process"};
    static constexpr Site kEpoch = {41, 1, "epoch", nullptr};
    const int kind = is_profile_ ? 2 : pick(3);
    const bool is_other_marked = kind < 2 && one_in(8);
    second_ns_ = 0;
    pace_ = std::vector<int64_t>{1, 1, 3, 8}[static_cast<size_t>(pick(4))];
    Thread main = {process, 1, 1'000'000'000, 0, 0, 2, 0, 0, 1};
    const auto all = [&] {
      for (int number = 0; number < steps_; ++number) {
        main.run = has_turns_ && number > 1 && number / 4 % 2 == 1 ? 1 : 2;
        step(main, number, kind, is_other_marked && !one_in(10));
        if (one_in(3)) main.now_ns += grains(6);
        if (is_profile_ && one_in(5)) main.now_ns += 3'000'000;
      }
      main.run = 2;
    };
    span(main, kProcess, [&] {
      if (!has_turns_ && one_in(4)) return span(main, kEpoch, all);
      all();
    });
  }

  std::mt19937_64 random_;
  bool is_profile_, has_device_, has_turns_ = false;
  int64_t grain_ns_;
  int steps_ = 0;
  int64_t pace_ = 1, span_id_ = 0, correlation_ = 0, second_ns_ = 0;
  std::map<std::pair<int, int>, int64_t> free_ns_;  // by process and stream
  std::string recorded_by_, framework_, spans_, attributes_;
};

}  // namespace

std::string made_program(unsigned seed) { return Program(seed).make(); }

}  // namespace xsp::analyze
