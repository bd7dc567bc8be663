// Watches Python programs that import frameworks from PyPI.
#ifndef XSP_TESTS_INTEGRATION_WATCHED_PYTHON_H_
#define XSP_TESTS_INTEGRATION_WATCHED_PYTHON_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/packages.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {

// Skips the tests if a framework is not there.
class WatchedPythonTest : public WatchedTest {
 protected:
  explicit WatchedPythonTest(std::vector<std::string> frameworks)
      : frameworks_(std::move(frameworks)) {}

  void SetUp() override {
    WatchedTest::SetUp();
    if (IsSkipped()) return;
    for (const std::string& name : frameworks_) {
      const std::string packages = packages_of(name);
      if (!std::filesystem::exists(packages)) {
        GTEST_SKIP() << "no " << packages << ": tools/deps.sh";
      }
      packages_ += packages + ":";
    }
  }
  // Writes the program, which calls xsp.profile itself, and runs it.
  void record_python(const std::string& program) const {
    write_file("program.py", program);
    RunOptions run_options;
    run_options.program = kPython;
    run_options.environment = {{"PYTHONPATH", packages_ + places::build("lib/xsp/python")},
                               {"TF_CPP_MIN_LOG_LEVEL", "3"}};
    const Finished finished = run({"program.py"}, run_options);
    EXPECT_EQ(finished.status, 0) << finished.err;
  }
  // Writes the program, and runs it under `xsp run` with these options. Records t.xsp.
  Finished watch_python(const std::string& program, const std::vector<std::string>& options) const {
    write_file("program.py", program);
    std::vector<std::string> arguments = {"run", "-o", "t.xsp"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "/usr/bin/python3", "program.py"});
    RunOptions run_options;
    run_options.environment = {{"PYTHONPATH", packages_}, {"TF_CPP_MIN_LOG_LEVEL", "3"}};
    Finished finished = run(arguments, run_options);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished;
  }

 private:
  std::vector<std::string> frameworks_;
  std::string packages_;
};

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_WATCHED_PYTHON_H_
