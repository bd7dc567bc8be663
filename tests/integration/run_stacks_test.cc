// Tests xsp run: the stacks of a program's threads, seen from outside.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"
#include "tests/turns.h"

namespace xsp::integration {
namespace {

// The program spends half its processor time in slow(), at line 6; then it sleeps, waits for a lock
// that another thread holds, and reads a pipe without data.
constexpr const char* kPlanted = R"(import os, threading, time

def slow(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(i * i % 7 for i in range(2000))

def other(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sorted(range(5000), key=lambda x: -x)

def holds(lock, taken):
    with lock:
        taken.set()
        time.sleep(0.6)

def takes(lock):
    with lock:
        pass

def reads():
    ends = os.pipe()
    threading.Timer(0.6, os.write, (ends[1], b"x")).start()
    os.read(ends[0], 1)

slow(0.6)
other(0.6)
time.sleep(0.6)
lock, taken = threading.Lock(), threading.Event()
threading.Thread(target=holds, args=(lock, taken)).start()
taken.wait()
takes(lock)
reads()
)";

class RunStacksTest : public WatchedTest {
 protected:
  Finished watch(const std::vector<std::string>& command,
                 const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments = {"run", "--leveled=no", "-o", "t.xsp"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run(arguments);
  }
  // Returns the seconds of the main thread's samples that satisfy the condition, in the function or
  // below it.
  double seconds_in(const std::string& function, const std::string& condition) const {
    const auto value = scalar(
        "t.xsp",
        "WITH RECURSIVE below AS (SELECT run_id, stack_id FROM stack WHERE function = '" +
            function +
            "' UNION SELECT s.run_id, s.stack_id FROM stack s JOIN below b "
            "ON s.run_id = b.run_id AND s.parent_id = b.stack_id) "
            "SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM sample JOIN below USING (run_id, "
            "stack_id) WHERE thread = process AND " +
            condition);
    return value.is_number() ? value.get<double>() : -1;
  }
  // Returns the version that an interpreter prints; empty if there is no such interpreter.
  std::string version_of(const std::string& python) const {
    RunOptions options;
    options.program = python;
    const Finished finished =
        run({"-c", "import sys; print('%d.%d' % sys.version_info[:2])"}, options);
    return finished.status == 0 ? finished.out.substr(0, finished.out.find('\n')) : "";
  }
  void expect_planted(const std::string& python);
};

void RunStacksTest::expect_planted(const std::string& python) {
  write_file("planted.py", kPlanted);
  in_turns([&] {
    const Finished finished = watch({python, "planted.py"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    // Both functions take 0.6 s on a processor; the machine decides how long they are in the queue.
    const double slow = seconds_in("slow", "state = 'running'");
    const double other = seconds_in("other", "state = 'running'");
    EXPECT_GT(slow + other, 0.6);
    EXPECT_NEAR(slow / (slow + other), 0.5, 0.15);
    EXPECT_GT(seconds_in("slow", "gil = 'held'"), 0.3);
    // All of that time is asleep, except for the time between two looks.
    EXPECT_NEAR(seconds_in("takes", "waits_in = 'futex'"), 0.6, 0.2);
    EXPECT_NEAR(seconds_in("reads", "waits_in = 'read'"), 0.6, 0.2);
    EXPECT_NEAR(seconds_in("<module>", "waits_in IN ('clock_nanosleep', 'pselect6', 'select')"),
                0.6, 0.2);
  });
  // Its own time is where it computes: in the generator at line 6.
  const auto line = query("t.xsp",
                          "SELECT regexp_extract(file, '[a-z]+.py$') AS file, line, count(*) AS n "
                          "FROM sample JOIN stack USING (run_id, stack_id) "
                          "WHERE function LIKE '%genexpr%' GROUP BY ALL ORDER BY n DESC LIMIT 1");
  ASSERT_EQ(line.size(), 1u);
  EXPECT_EQ(line[0]["file"], "planted.py");
  EXPECT_EQ(line[0]["line"], 6);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM loss WHERE source = 'stacks'"), 0);
  const Finished tree = run({"analyze", "flame_graph", "t.xsp", "--format", "csv"});
  EXPECT_EQ(tree.status, 0) << tree.err;
  EXPECT_NE(tree.out.find("takes"), std::string::npos) << tree.out;
}

TEST_F(RunStacksTest, APythonProgramIsWhereItWasPlanted) { expect_planted("python3"); }

// This covers other versions, if installed: $XSP_PYTHONS lists interpreters by their paths,
// separated by ':'.
TEST_F(RunStacksTest, SoItIsWithOtherVersions) {
  const char* listed = std::getenv("XSP_PYTHONS");
  std::string rest = std::string("/usr/bin/python3:") + (listed != nullptr ? listed : "");
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string python = rest.substr(0, colon);
    rest.erase(0, colon + 1);
    const std::string version = python.empty() ? "" : version_of(python);
    if (version.empty()) continue;
    SCOPED_TRACE(python + " " + version);
    expect_planted(python);
  }
}

// The program returns through compiled code all the time, so that frames vanish while they are
// read.
constexpr const char* kReturns = R"(import functools, time

class Node:
    def __init__(self, depth):
        self.next = Node(depth - 1) if depth else None

    def __call__(self, value):
        return functools.reduce(lambda a, b: self.next(value) if self.next else b, (1, 2))

chain = Node(30)
until = time.thread_time() + 2
while time.thread_time() < until:
    chain(1)
)";

TEST_F(RunStacksTest, FramesThatVanishAreReadAnew) {
  write_file("returns.py", kReturns);
  ASSERT_EQ(watch({"python3", "returns.py"}, {"--stacks", "1000"}).status, 0);
  const auto all = scalar("t.xsp",
                          "SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM sample WHERE "
                          "thread = process AND gil = 'held'");
  ASSERT_GT(all.get<double>(), 1);
  EXPECT_GT(seconds_in("<module>", "gil = 'held'"), 0.95 * all.get<double>());
}

// Returns whether the kernel reports addresses of a thread here; many containers forbid it.
bool has_clocks() {
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.exclude_kernel = 1;
  const long file = ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
  if (file >= 0) ::close(static_cast<int>(file));
  return file >= 0;
}

// Returns whether stacks are unwound on this processor.
constexpr bool has_unwinder() {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

template <typename... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[2048];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

TEST_F(RunStacksTest, CompiledCodeIsBelowThePythonThatCallsIt) {
  if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  write_file("hashes.py",
             "import hashlib, time\n"
             "def hashes():\n"
             "    data = bytes(1 << 22)\n"
             "    until = time.thread_time() + 0.8\n"
             "    while time.thread_time() < until:\n"
             "        hashlib.sha256(data)\n"
             "hashes()\n");
  in_turns([&] {
    EXPECT_EQ(watch({"python3", "hashes.py"}).status, 0);
    const auto share = scalar(
        "t.xsp",
        "WITH RECURSIVE below AS (SELECT run_id, stack_id FROM stack WHERE function = 'hashes' "
        "UNION "
        "SELECT s.run_id, s.stack_id FROM stack s JOIN below b ON s.run_id = b.run_id AND "
        "s.parent_id = b.stack_id) SELECT avg((kind = 'native' AND function <> '' AND line IS "
        "NULL)::INT) FROM sample JOIN below USING (run_id, stack_id) JOIN stack USING (run_id, "
        "stack_id) WHERE state = 'running'");
    ASSERT_TRUE(share.is_number());
    // Nearly 1 on an idle machine. Where other programs keep the thread off its processor, a note
    // of its registers may come after the look (look.h).
    EXPECT_GT(share.get<double>(), 0.5);
  });
}

// Selects the share of the samples in a state whose innermost frames are these functions, from the
// inside out; a name may be a pattern.
constexpr const char* kPathShare =
    "SELECT avg(CASE WHEN a.function LIKE '%s' AND b.function LIKE '%s' AND c.function LIKE '%s' "
    "THEN 1.0 ELSE 0 END) FROM sample s LEFT JOIN stack a USING (run_id, stack_id) "
    "LEFT JOIN stack b ON b.run_id = s.run_id AND b.stack_id = a.parent_id "
    "LEFT JOIN stack c ON c.run_id = s.run_id AND c.stack_id = b.parent_id WHERE state = '%s'";

TEST_F(RunStacksTest, ACompiledProgramHasItsWholeStack) {
  const auto works = [&] {
    const Finished finished = watch({places::build("tests/chain_program"), "works"});
    EXPECT_EQ(finished.status, 3);
    EXPECT_EQ(finished.out, "done 0\n");
  };
  if (!has_clocks() || !has_unwinder()) {
    works();
    GTEST_SKIP() << "there are no stacks of compiled code here";
  }
  in_turns([&] {
    works();
    const auto share = scalar(
        "t.xsp", formatted(kPathShare, "chain::computes(int)", "double chain::middle<long>(long)",
                           "chain::outer(double)", "running"));
    EXPECT_GT(share.get<double>(), 0.6);
    EXPECT_GT(seconds_in("chain::outer(double)", "state <> 'waiting'"), 0.6);
    EXPECT_NEAR(seconds_in("chain::sleeps()", "waits_in = 'clock_nanosleep'"), 0.6, 0.2);
    EXPECT_NEAR(seconds_in("chain::waits()", "waits_in = 'clock_nanosleep'"), 0.6, 0.2);
  });
  // The outermost function is the program's own.
  EXPECT_EQ(scalar("t.xsp", "SELECT mode(function) FROM stack WHERE parent_id IS NULL"), "main");
  const Finished tree = run({"analyze", "flame_graph", "t.xsp", "--format", "csv"});
  EXPECT_NE(tree.out.find("          chain::computes(int)"), std::string::npos) << tree.out;
}

TEST_F(RunStacksTest, WhereTheSystemForbidsNotesThatIsSaid) {
  in_turns([&] {
    const Finished finished = watch({places::build("tests/chain_program"), "forbids"});
    EXPECT_EQ(finished.status, 3);
    EXPECT_EQ(finished.out, "done 0\n");
    EXPECT_GT(scalar("t.xsp", "SELECT count(*) FROM sample WHERE state = 'running'"), 10);
    if (!has_unwinder()) return;
    EXPECT_NEAR(seconds_in("chain::waits()", "waits_in = 'clock_nanosleep'"), 0.6, 0.2);
  });
  const auto said =
      scalar("t.xsp", "SELECT value FROM evaluation WHERE key = 'not_measured.native_stacks'");
  ASSERT_TRUE(said.is_string());
  EXPECT_NE(said.get<std::string>().find("perf_event_paranoid"), std::string::npos) << said;
  EXPECT_EQ(scalar("t.xsp", "SELECT count(stack_id) FROM sample WHERE state = 'running'"), 0);
}

TEST_F(RunStacksTest, AChildOfAForkHasItsStack) {
  const Finished finished = watch({places::build("tests/chain_program"), "forks"});
  EXPECT_EQ(finished.status, 3);
  EXPECT_EQ(finished.out, "child 4\ndone 0\n");
}

TEST_F(RunStacksTest, FreshMemoryIsCounted) {
  EXPECT_EQ(watch({places::build("tests/chain_program"), "faults"}).status, 3);
  EXPECT_GT(scalar("t.xsp", "SELECT sum(faults) FROM sample"), 10000);
  // Touching a page is mostly the kernel's work.
  EXPECT_GT(scalar("t.xsp", "SELECT sum(system_ns) / 1e9 FROM sample"), 0.2);
  EXPECT_LT(scalar("t.xsp", "SELECT sum(system_ns) / 1e9 FROM sample"), 1.5);
  EXPECT_EQ(watch({places::build("tests/chain_program"), "works"}).status, 3);
  EXPECT_LT(scalar("t.xsp", "SELECT sum(faults) FROM sample"), 1000);
}

TEST_F(RunStacksTest, ALibraryOfMatricesIsBelowThePythonThatCallsIt) {
  if (!has_clocks() || !has_unwinder()) GTEST_SKIP() << "there are no stacks of compiled code here";
  RunOptions options;
  options.program = "/usr/bin/python3";
  if (run({"-c", "import numpy"}, options).status != 0) GTEST_SKIP() << "there is no NumPy here";
  write_file("matrices.py",
             "import numpy, time\n"
             "def multiplies():\n"
             "    a = numpy.ones((400, 400))\n"
             "    until = time.thread_time() + 1.5\n"
             "    while time.thread_time() < until:\n"
             "        a @ a\n"
             "multiplies()\n");
  in_turns([&] {
    EXPECT_EQ(watch({"/usr/bin/python3", "matrices.py"}).status, 0);
    // These are the shares with BLAS, and with NumPy between, of the samples on a processor below
    // the function.
    const auto shares = query(
        "t.xsp",
        "WITH RECURSIVE below AS (SELECT run_id, stack_id, false AS is_blas, false AS is_numpy "
        "FROM "
        "stack WHERE function = 'multiplies' UNION ALL SELECT s.run_id, s.stack_id, is_blas OR "
        "s.file LIKE '%blas%', is_numpy OR s.file LIKE '%multiarray%' FROM stack s JOIN below b ON "
        "s.run_id = b.run_id AND s.parent_id = b.stack_id) SELECT avg(is_blas::INT) AS blas, "
        "avg(is_numpy::INT) AS numpy FROM sample JOIN below USING (run_id, stack_id) "
        "WHERE state = 'running'");
    ASSERT_EQ(shares.size(), 1u);
    EXPECT_GT(shares[0]["blas"].get<double>(), 0.5) << shares;
    EXPECT_GT(shares[0]["numpy"].get<double>(), 0.5) << shares;
  });
}

TEST_F(RunStacksTest, AProgramThatIsKilledKeepsItsSamples) {
  write_file("dies.py",
             "import os, signal, time\n"
             "def doomed():\n"
             "    until = time.thread_time() + 0.8\n"
             "    while time.thread_time() < until:\n"
             "        pass\n"
             "    os.kill(os.getpid(), signal.SIGKILL)\n"
             "doomed()\n");
  in_turns([&] {
    EXPECT_EQ(watch({"python3", "dies.py"}).status, 128 + 9);
    EXPECT_GT(seconds_in("doomed", "state = 'running'"), 0.3);
  });
  // Lost samples are counted.
  const auto lost = scalar("t.xsp",
                           "SELECT coalesce(sum(count), 0) FROM loss WHERE cause = "
                           "'sample of a process that ended before writing'");
  EXPECT_LT(lost, 200);
}

TEST_F(RunStacksTest, ChildrenOfAForkAreSeenBeforeTheirFirstSpan) {
  write_file("forks.py",
             "import multiprocessing, time\n"
             "def child():\n"
             "    until = time.thread_time() + 0.5\n"
             "    while time.thread_time() < until:\n"
             "        pass\n"
             "if __name__ == '__main__':\n"
             "    multiprocessing.set_start_method('fork')\n"
             "    one = multiprocessing.Process(target=child)\n"
             "    one.start()\n"
             "    one.join()\n");
  in_turns([&] {
    EXPECT_EQ(watch({"python3", "forks.py"}).status, 0);
    EXPECT_GT(seconds_in("child", "state = 'running'"), 0.25);
  });
}

TEST_F(RunStacksTest, AProgramWithoutPythonHasTheStatesOfItsThreads) {
  in_turns([&] {
    EXPECT_EQ(watch({"sh", "-c", "read line < /dev/null; sleep 0.5; exit 3"}).status, 3);
    const auto asleep = scalar("t.xsp",
                               "SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM sample "
                               "WHERE waits_in = 'clock_nanosleep'");
    EXPECT_NEAR(asleep.get<double>(), 0.5, 0.2);
    const auto waits = scalar("t.xsp",
                              "SELECT coalesce(sum(duration_ns), 0) / 1e9 FROM sample "
                              "WHERE waits_in = 'wait4'");
    EXPECT_NEAR(waits.get<double>(), 0.5, 0.2);
  });
}

TEST_F(RunStacksTest, NobodyLooksIfThatIsNotWanted) {
  EXPECT_EQ(watch({"sleep", "0.2"}, {"--no-stacks"}).status, 0);
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM sample"), 0);
  const Finished finished = run({"analyze", "flame_graph", "t.xsp"});
  EXPECT_NE(finished.status, 0);
  EXPECT_NE(finished.err.find("--no-stacks"), std::string::npos) << finished.err;
}

// The sampler measures itself, and looks less often if it would take more than its share.
TEST_F(RunStacksTest, LooksTakeNoMoreThanTheirShare) {
  write_file("costs.py",
             "import os, time\n"
             "def deep(depth):\n"
             "    if depth > 0:\n"
             "        return deep(depth - 1)\n"
             "    until = time.monotonic() + 2\n"
             "    while time.monotonic() < until:\n"
             "        sum(range(1000))\n"
             "deep(100)\n"
             "for task in os.listdir('/proc/self/task'):\n"
             "    folder = '/proc/self/task/' + task\n"
             "    if open(folder + '/comm').read().strip() == 'xsp-sampler':\n"
             "        print(int(open(folder + '/schedstat').read().split()[0]) / 2e9)\n");
  in_turns([&] {
    const Finished finished = watch({"python3", "costs.py"}, {"--stacks", "1000"});
    EXPECT_EQ(finished.status, 0) << finished.err;
    // The limit is 0.8 per cent, plus the first look at every function.
    EXPECT_LT(std::atof(finished.out.c_str()), 0.015) << finished.out;
    EXPECT_GT(std::atof(finished.out.c_str()), 0.0) << finished.out;
  });
}

}  // namespace
}  // namespace xsp::integration
