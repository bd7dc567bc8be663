// The engines that run sweeps in tests, each for real: processes, an ssh server, a Slurm cluster.
#ifndef XSP_TESTS_INTEGRATION_ENGINES_H_
#define XSP_TESTS_INTEGRATION_ENGINES_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace xsp::integration {

class EngineUnderTest {
 public:
  virtual ~EngineUnderTest() = default;
  // Returns why it cannot run here; empty: it can.
  virtual std::string why_not() const { return {}; }
  // Starts its servers, with their files in this folder.
  virtual bool start(const std::filesystem::path& folder) = 0;
  virtual std::string executor() const = 0;
  virtual std::map<std::string, std::string> environment() const { return {}; }
  // Returns the executor's settings, as the sweep's file writes them: "hosts: [a, b]".
  virtual std::string settings() const { return {}; }
  // Returns the settings, or another part of the file, that ask for a machine that is not there.
  virtual std::string impossible() const { return "systems: [nosuch]"; }
  // Kills all that runs an attempt, as the death of its machine does: the process is that of the
  // attempt's file.
  virtual void kill_machine_of(int pid) = 0;
  // Stops the server on which the engine stands, as a crash does, and starts it again after some
  // seconds. False: there is none.
  virtual bool restart_server() { return false; }
  // Returns the number of this sweep's processes, or jobs, that are left.
  virtual size_t left() const = 0;
};

std::unique_ptr<EngineUnderTest> make_engine(const std::string& name);

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_ENGINES_H_
