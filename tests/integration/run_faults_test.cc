// Tests xsp run with programs that fail: a program behaves as it does alone, and everything
// recorded until then is in the file, or counted.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

constexpr const char* kNotWritten = "file not writable or at its limit";
constexpr const char* kKilled = "process ended before writing";

// The start of each program: functions that emit spans, and that write ended spans to the trace.
constexpr const char* kBegin =
    "import ctypes, gc, os, resource, signal, subprocess, sys\n"
    "gc.disable()\n"  // collections would be spans, too
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    "try: import xsp\n"
    "except ImportError: xsp = None\n"  // it runs alone
    "def spans(count):\n"
    "    for _ in range(count if xsp else 0):\n"
    "        with xsp.span('work'): pass\n"
    "def flush():\n"
    "    if xsp: ctypes.CDLL(None).xsp_flush()\n"
    "print('begins', flush=True)\n";

class RunFaultsTest : public WatchedTest {
 protected:
  // Runs the program alone, then watched: its output and its end are the same.
  Finished watch(const std::string& program, const RunOptions& options = {}) const {
    std::ofstream(folder / "program.py") << kBegin << program;
    RunOptions alone_options = options;
    alone_options.program = kPython;
    const Finished alone = run({"program.py"}, alone_options);
    const Finished watched =
        run({"run", "--leveled=no", "-o", "t.xsp", "--", kPython, "program.py"}, options);
    EXPECT_EQ(watched.status, alone.status) << watched.err;
    EXPECT_EQ(watched.out, alone.out) << watched.err;
    EXPECT_EQ(watched.out.rfind("begins\n", 0), 0u) << alone.err;
    EXPECT_EQ(error_lines(watched), 0) << watched.err;
    return watched;
  }
  int64_t spans() const {
    return scalar("t.xsp", "SELECT count(*) FROM span WHERE name = 'work'").get<int64_t>();
  }
  // Returns the number of spans, including the process's own.
  int64_t all() const { return scalar("t.xsp", "SELECT count(*) FROM span").get<int64_t>(); }
  int64_t lost(const std::string& cause) const {
    const auto sum = scalar(
        "t.xsp", "SELECT coalesce(sum(count), 0)::BIGINT FROM loss WHERE cause = '" + cause + "'");
    return sum.get<int64_t>();
  }
  // Losses of samples are left out: their number depends on the clock.
  int64_t lost() const {
    return scalar(
               "t.xsp",
               "SELECT coalesce(sum(count), 0)::BIGINT FROM loss WHERE cause NOT LIKE 'sample %' "
               "AND source <> 'stacks'")
        .get<int64_t>();
  }
  bool has_ended() const {
    return !scalar("t.xsp", "SELECT bool_or(is_open) FROM span WHERE type = 'process'").get<bool>();
  }
};

TEST_F(RunFaultsTest, ACrashKeepsWhatWasWritten) {
  const Finished finished = watch(
      "spans(50)\n"
      "flush()\n"
      "ctypes.string_at(0)\n");
  EXPECT_EQ(finished.status, 128 + 11);
  EXPECT_EQ(spans(), 50);
  EXPECT_EQ(lost(), 0);
  EXPECT_FALSE(has_ended());
}

TEST_F(RunFaultsTest, WhatAKillLeavesUnwrittenIsCounted) {
  const Finished finished = watch(
      "spans(5000)\n"
      "os.kill(os.getpid(), signal.SIGKILL)\n");
  EXPECT_EQ(finished.status, 128 + 9);
  EXPECT_EQ(spans() + lost(kKilled), 5000);
  EXPECT_EQ(lost(), lost(kKilled));
}

TEST_F(RunFaultsTest, AProgramThatClosesAllDescriptorsIsRecordedOn) {
  watch(
      "spans(50)\n"
      "flush()\n"
      "os.closerange(3, 4096)\n"
      "with open('own', 'w') as file:\n"
      "    spans(50)\n"
      "    flush()\n"
      "    print(file.fileno(), file.write('its own'))\n"
      "print(open('own').read())\n");
  EXPECT_EQ(spans(), 100);
  EXPECT_EQ(lost(), 0);
  EXPECT_TRUE(has_ended());
}

TEST_F(RunFaultsTest, AFileSizeLimitOfTheProgramIsMetByTheTraceAlone) {
  const Finished finished = watch(
      "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
      "spans(100_000)\n"
      "with open('own', 'wb') as file: print(file.write(bytes(90_000)))\n"
      "sys.exit(6)\n");
  EXPECT_EQ(finished.status, 6);
  EXPECT_GT(spans(), 0);
  EXPECT_GT(lost(kNotWritten), 0);
  EXPECT_EQ(all() + lost(), 100'001);
  EXPECT_NE(finished.err.find(" were lost"), std::string::npos) << finished.err;
}

TEST_F(RunFaultsTest, AFullDiskLosesSpansAndNothingElse) {
  // The folder of the traces is a small disk of its own, which the program fills.
  const bool is_root = std::system("unshare -m true 2>/dev/null") == 0;
  if (!is_root && std::system("unshare -rm true 2>/dev/null") != 0) {
    GTEST_SKIP() << "may not mount a small file system here";
  }
  std::ofstream(folder / "program.py") << kBegin
                                       << "spans(50)\n"
                                          "flush()\n"
                                          "try:\n"
                                          "    with open('tmp/own', 'wb') as file:\n"
                                          "        while True: file.write(bytes(4096))\n"
                                          "except OSError as error: print(error.errno)\n"
                                          "spans(100_000)\n"
                                          "os.fork() or os._exit(0)\n"
                                          "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
                                          "sys.exit(6)\n";
  RunOptions options;
  options.program = "/usr/bin/unshare";
  const Finished finished =
      run({is_root ? "-m" : "-rm", "sh", "-c",
           "mount -t tmpfs -o size=1m none tmp && exec " + places::bin() +
               "/xsp run --leveled=no -o t.xsp -- " + kPython + " program.py"},
          options);
  EXPECT_EQ(finished.status, 6) << finished.err;
  EXPECT_EQ(finished.out, "begins\n28\n0\n") << finished.err;
  EXPECT_GE(spans(), 50);
  EXPECT_GT(lost(kNotWritten), 0);
  EXPECT_EQ(all() + lost(), 100'051);
}

TEST_F(RunFaultsTest, AnEvaluationThatCannotBeWrittenKeepsItsTraces) {
  std::ofstream(folder / "program.py") << kBegin << "spans(50)\n";
  RunOptions options;
  options.file_bytes_max = 200'000;  // an .xsp file is larger
  const Finished finished =
      run({"run", "--leveled=no", "-o", "t.xsp", "--", kPython, "program.py"}, options);
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "begins\n");
  EXPECT_EQ(error_lines(finished), 1) << finished.err;
  const size_t at = finished.err.find("xsp import ");
  ASSERT_NE(at, std::string::npos) << finished.err;
  const std::string command = finished.err.substr(at, finished.err.find('\n', at) - at);
  RunOptions shell;
  shell.program = "/bin/sh";
  const Finished imported = run({"-c", places::bin() + "/" + command + " -o t.xsp"}, shell);
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(spans(), 50);
  for (const auto& kept : std::filesystem::directory_iterator(folder / "tmp")) {
    std::filesystem::remove_all(kept);
  }
}

TEST_F(RunFaultsTest, PreloadedLibrariesOfTheProgramAndClearedEnvironmentsAreKept) {
  std::ofstream(folder / "own.c") << "int getppid(void) { return 42; }\n";
  ASSERT_EQ(std::system(("cc -shared -fPIC -o " + (folder / "own.so").string() + " " +
                         (folder / "own.c").string())
                            .c_str()),
            0);
  RunOptions options;
  options.environment = {{"LD_PRELOAD", (folder / "own.so").string()}};
  const Finished finished = watch(
      "spans(10)\n"
      "print(os.getppid(), flush=True)\n"
      "subprocess.run(['/usr/bin/env'], env={'A': '1'})\n"
      "print(subprocess.run(['/bin/true'], env={}).returncode)\n",
      options);
  EXPECT_NE(finished.out.find("\n42\n"), std::string::npos) << finished.out;
  EXPECT_EQ(spans(), 10);
  // The children run as requested: without any part of xsp.
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE type = 'process'"), 1);
}

TEST_F(RunFaultsTest, AProcessThatOutlivesTheCommandIsRecordedUntilThen) {
  std::ofstream(folder / "daemon.py") << kBegin
                                      << "import time\n"
                                         "os.setsid()\n"
                                         "spans(50)\n"
                                         "open('ready', 'w')\n"
                                         "while not os.path.exists('go'): time.sleep(0.005)\n"
                                         "spans(50)\n"
                                         "subprocess.run(['/bin/true'], check=True)\n"
                                         "if os.fork() == 0:\n"
                                         "    spans(50)\n"
                                         "    os._exit(0)\n"
                                         "os.wait()\n"
                                         "print('ends', flush=True)\n"
                                         "open('done', 'w')\n";
  const Finished finished =
      run({"run", "--leveled=no", "-o", "t.xsp", "--", "sh", "-c",
           std::string(kPython) + " daemon.py </dev/null >daemon.out 2>&1 & " +
               "while [ ! -e ready ]; do sleep 0.02; done; exit 3"});
  EXPECT_EQ(finished.status, 3) << finished.err;
  EXPECT_NE(finished.err.find("1 process outlived the command (python3 "), std::string::npos)
      << finished.err;
  EXPECT_EQ(spans(), 50);
  EXPECT_EQ(lost(), 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT min(value) FROM audit_fact WHERE name = 'trace_complete'"), 1);
  EXPECT_EQ(scalar("t.xsp", "SELECT is_open FROM span WHERE name LIKE 'python3%'"), true);
  // The program continues as it does alone.
  std::ofstream(folder / "go") << "";
  for (int i = 0; i < 1000 && !std::filesystem::exists(folder / "done"); ++i) ::usleep(10'000);
  std::stringstream out;
  out << std::ifstream(folder / "daemon.out").rdbuf();
  EXPECT_EQ(out.str(), "begins\nends\n");
}

TEST_F(RunFaultsTest, ASignalWhileTheCommandIsPreparedLeavesNoFiles) {
  // The moments go from the first instruction of xsp to some time after the command's start.
  for (int moment = 0; moment < 30; ++moment) {
    RunOptions options;
    options.watch = [moment, looks = 0](const std::string&, int pid) mutable {
      return looks++ == moment && ::kill(pid, SIGTERM) == 0;
    };
    const Finished finished =
        run({"run", "--leveled=no", "-o", "t.xsp", "--", "/bin/sleep", "20"}, options);
    EXPECT_EQ(finished.status, 128 + SIGTERM) << moment << ": " << finished.err;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp")) << moment;
    for (const std::string& file : files()) EXPECT_TRUE(file == "t.xsp" || file == "tmp") << file;
    std::filesystem::remove(folder / "t.xsp");
  }
}

}  // namespace
}  // namespace xsp::integration
