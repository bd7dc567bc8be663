// Neighbours: other processes that compute on the GPUs of the watched ones, as NVML tells while the
// command runs. A GPU serves its processes by turns, so that each is slowed by the others.
//
// Thread rule: a thread of its own asks, from construction to finish().
#ifndef XSP_EVALUATE_GPU_NEIGHBOURS_H_
#define XSP_EVALUATE_GPU_NEIGHBOURS_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace xsp::evaluate {

// A process on a GPU, at one question.
struct GpuProcess {
  int process = 0;
  double busy_pct = 0;  // of the time until then its kernels ran
};

// NeighbourLoad sums up how busy the neighbours were, over all questions at which a watched process
// was on the same GPU. It knows nothing where no watched process is ever seen, because NVML may
// give processes other numbers than this container does.
class NeighbourLoad {
 public:
  // Takes the processes that are on one GPU now.
  void add(const std::vector<GpuProcess>& on_gpu, const std::set<int>& watched);
  // gpu.other_load_pct, the mean over the questions, and gpu.other_programs, the names of those who
  // computed, by `name_of`; empty: nothing is known.
  std::map<std::string, std::string> facts(const std::function<std::string(int)>& name_of) const;

 private:
  double busy_pct_ = 0;  // in sum
  int questions_ = 0;
  std::set<int> others_;
};

class GpuNeighbours {
 public:
  // `watched` says which processes are watched now; it is called on this one's thread.
  explicit GpuNeighbours(std::function<std::set<int>()> watched);
  ~GpuNeighbours();
  // Ends the questions.
  std::map<std::string, std::string> finish();

 private:
  void ask();
  bool wait_s(double seconds);

  std::function<std::set<int>()> watched_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  NeighbourLoad load_;
  std::map<int, std::string> names_;
  std::thread thread_;
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_GPU_NEIGHBOURS_H_
