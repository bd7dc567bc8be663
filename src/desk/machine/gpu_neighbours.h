// Neighbours: other processes that compute on the same GPUs as the watched ones, as NVML reports
// while the command runs. A GPU serves its processes in turns, so each slows the others.
//
// Thread rule: its own thread queries NVML, from construction to finish().
#ifndef XSP_DESK_MACHINE_GPU_NEIGHBOURS_H_
#define XSP_DESK_MACHINE_GPU_NEIGHBOURS_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace xsp::machine {

// A process on a GPU, as one query found it.
struct GpuProcess {
  int process = 0;
  double busy_pct = 0;  // share of the time since the last query in which its kernels ran
};

// NeighbourLoad sums up how busy the neighbours were, over all queries that found a watched process
// on the same GPU. The load is unknown if no query finds a watched process: NVML may number
// processes differently from this container.
class NeighbourLoad {
 public:
  // Adds the processes that are on one GPU now.
  void add(const std::vector<GpuProcess>& on_gpu, const std::set<int>& watched);
  // Returns gpu.other_load_pct, the mean over the queries, and gpu.other_programs, the neighbours'
  // names, which `name_of` returns. Returns an empty map if the load is unknown.
  std::map<std::string, std::string> facts(const std::function<std::string(int)>& name_of) const;

 private:
  double busy_pct_ = 0;  // sum over all queries
  int questions_ = 0;
  std::set<int> others_;
};

class GpuNeighbours {
 public:
  // `watched` returns the processes that are watched now. It is called on this object's own thread.
  explicit GpuNeighbours(std::function<std::set<int>()> watched);
  ~GpuNeighbours();
  // Ends the queries and returns the facts.
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

}  // namespace xsp::machine

#endif  // XSP_DESK_MACHINE_GPU_NEIGHBOURS_H_
