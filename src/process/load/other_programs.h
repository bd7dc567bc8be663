// OtherPrograms: records which other programs use the processors while a model answers requests.
//
// A thread looks at all processes that this user may see, four times a second, and emits a span
// for each program that used a processor meanwhile: of the level application, with the program's
// name, the type `other program`, and the counter `cpu_ns`, the processor time of all its
// processes. Two names stand for what has none here: programs of other containers and users, and
// those that began and ended between two looks, are `programs not seen`; time that the host of a
// virtual machine gave to others is `other virtual machines`. The system counts in ticks of 10 ms,
// and less than two of them is left out.
//
// Which program ran on a certain processor at a certain moment is not to be had without the
// rights of an administrator.
#ifndef XSP_PROCESS_LOAD_OTHER_PROGRAMS_H_
#define XSP_PROCESS_LOAD_OTHER_PROGRAMS_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace xsp::process {

// The processor time of everything, in ticks, since each process or the machine began.
struct ProgramTimes {
  struct Process {
    std::string name;
    int64_t ticks = 0;
  };
  std::map<int, Process> processes;  // by number, without this one
  int64_t own = 0;                   // of this process
  int64_t busy = 0;                  // of all processors
  int64_t stolen = 0;
};
// `proc` is the folder /proc. What cannot be read counts as nothing.
ProgramTimes read_program_times(const std::string& proc);
// Returns the ticks that each program used between two looks.
std::map<std::string, int64_t> used_between(const ProgramTimes& before, const ProgramTimes& after);

class OtherPrograms {
 public:
  OtherPrograms();
  ~OtherPrograms();
  OtherPrograms(const OtherPrograms&) = delete;
  OtherPrograms& operator=(const OtherPrograms&) = delete;

 private:
  void watch();
  void emit(const std::map<std::string, int64_t>& used, int64_t start_ns, int64_t end_ns);

  const uint32_t cpu_key_;
  std::map<std::string, uint32_t> threads_;  // a number for each program: their spans overlap
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_OTHER_PROGRAMS_H_
