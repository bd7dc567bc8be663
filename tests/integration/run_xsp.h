// Runs the real program, as a user does, in a folder of its own.
#ifndef XSP_TESTS_INTEGRATION_RUN_XSP_H_
#define XSP_TESTS_INTEGRATION_RUN_XSP_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace xsp::integration {

// The system's Python, which has what tools/deps.sh installs.
constexpr const char* kPython = "/usr/bin/python3";

struct Finished {
  int status = -1;  // exit status; 128 + signal if one killed it
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string program;                             // path of the program; empty: xsp
  std::map<std::string, std::string> environment;  // added to this process's
  uint64_t file_bytes_max = 0;                     // RLIMIT_FSIZE; 0: none
  // Called every few milliseconds with the program's standard error so far and its process id,
  // until it returns true: serves to send a signal at the right moment.
  std::function<bool(const std::string& err, int pid)> watch;
};

// Represents a test in a temporary folder, where xsp is run.
class XspTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  Finished run(const std::vector<std::string>& arguments, const RunOptions& options = {}) const;
  // Returns the rows of a query over a file of this folder, as an array of objects; null if it
  // failed.
  nlohmann::json query(const std::string& file, const std::string& sql) const;
  // Returns the first column of its first row.
  nlohmann::json scalar(const std::string& file, const std::string& sql) const;
  std::vector<std::string> files() const;  // in the folder, by name
  void write_file(const std::string& name, const std::string& text) const;

  std::filesystem::path folder;
};

// Watches programs with `xsp run`. A build with a sanitizer skips these tests: its run-time library
// cannot be preloaded into other programs.
class WatchedTest : public XspTest {
 protected:
  void SetUp() override;
};

// Returns the number of lines that begin with "error: ".
int error_lines(const Finished& finished);

// Passes where two JSON values are equal but for the round-off of their numbers: 1e-6, which for a
// time is in ns, and 1e-12 of the larger. Two analyses of one file may add in another order, and a
// bound near zero is a small difference of times near a millisecond.
testing::AssertionResult equal_but_for_round_off(const nlohmann::json& one,
                                                 const nlohmann::json& other);

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_RUN_XSP_H_
