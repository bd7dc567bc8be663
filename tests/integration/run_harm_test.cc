// Tests xsp run: programs that a library within them could harm or hinder behave as they do alone.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class RunHarmTest : public WatchedTest {
 protected:
  // Runs the command alone, then watched: its output and its end are the same.
  Finished watch(std::vector<std::string> command, const std::string& levels = "") const {
    RunOptions options;
    options.program = command[0];
    const Finished alone = run({command.begin() + 1, command.end()}, options);
    std::vector<std::string> words = {"run", "--leveled=no", "--quiet", "-o", "t.xsp"};
    if (!levels.empty()) words.insert(words.end(), {"--levels", levels});
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    const Finished watched = run(words);
    EXPECT_EQ(watched.status, alone.status) << watched.err;
    EXPECT_EQ(watched.out, alone.out) << watched.err;
    EXPECT_EQ(watched.err, alone.err);
    return watched;
  }
  Finished watch_hard(const std::string& what) const {
    return watch({places::build("tests/hard_program"), what});
  }
  int64_t count(const std::string& from) const {
    return scalar("t.xsp", "SELECT count(*) FROM " + from).get<int64_t>();
  }
  int64_t spans() const { return count("span WHERE name = 'work'"); }
};

TEST_F(RunHarmTest, AProgramWhoseFirstThreadEndsEnds) {
  const Finished finished = watch_hard("first_thread_ends");
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.out, "exit\n");
  EXPECT_EQ(spans(), 10);
  EXPECT_EQ(watch_hard("first_thread_ends_by_call").status, 3);
  EXPECT_EQ(spans(), 10);
}

TEST_F(RunHarmTest, ACancelledThreadLeavesNoLock) {
  EXPECT_EQ(watch_hard("threads_are_cancelled").out, "done\n");
  EXPECT_EQ(spans(), 20);
}

TEST_F(RunHarmTest, AFilterOfSystemCallsEndsTheRecordingAndNothingElse) {
  for (const char* what : {"forbids_calls", "forbids_all_calls", "forbids_the_counter"}) {
    const Finished finished = watch_hard(what);
    if (finished.status == 77) continue;  // the system refuses it here
    EXPECT_EQ(finished.status, 5) << what;
    EXPECT_EQ(spans(), 10) << what;
    EXPECT_EQ(count("loss WHERE cause = 'begun while the process ended' AND count = 10"), 1);
    EXPECT_EQ(count("site_attribute WHERE key = 'recorded_until'"), 1) << what;
  }
}

TEST_F(RunHarmTest, CallsForProcessesOfOneThreadAreAnsweredAsAlone) {
  EXPECT_EQ(watch_hard("leaves_the_others").out.rfind("memory 0\n", 0), 0u);
  if (::getuid() == 0) {
    watch_hard("gives_up_its_rights");
    watch({"/usr/bin/setpriv", "--reuid", "1", "--clear-groups", "true"});
  }
  // Collectors have a thread that stops them.
  for (const char* levels : {"model", "all"}) watch({"/usr/bin/unshare", "-U", "true"}, levels);
}

TEST_F(RunHarmTest, WhatIsBegunWhileTheProcessEndsIsCounted) {
  // On a busy machine the other threads may not run at all in that moment.
  int64_t counted = 0;
  for (int tries = 0; tries < 100 && counted == 0; ++tries) {
    watch_hard("ends_while_others_emit");
    counted = count("loss WHERE cause = 'begun while the process ended'");
  }
  EXPECT_EQ(counted, 1);
}

TEST_F(RunHarmTest, AChildOfAForkAmidAStepSteps) {
  EXPECT_EQ(watch_hard("forks_amid_steps").out, "done\n");
}

TEST_F(RunHarmTest, AHandlerThatEndsTheProcessAmidAStepEndsIt) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(watch_hard("ends_in_a_handler").status, 6);
}

TEST_F(RunHarmTest, AListOfArgumentsMayBeLong) {
  std::string words;
  for (int i = 0; i < 1500; ++i) words += ", \"x\"";
  write_file("long.c",
             "#include <unistd.h>\nint main() { return execl(\"/bin/sh\", \"sh\", \"-c\", "
             "\"echo $#\"" +
                 words + ", (char*)0); }\n");
  RunOptions compiler;
  compiler.program = "/bin/sh";
  ASSERT_EQ(run({"-c", "cc long.c -o long"}, compiler).status, 0);
  EXPECT_EQ(watch({(folder / "long").string()}).out, "1499\n");
}

TEST_F(RunHarmTest, AnyNumberOfADescriptorIsTheProgramsToTake) {
  EXPECT_EQ(watch({"/bin/bash", "-c", "exec 500>file; echo said >&500; cat file"}).out, "said\n");
  EXPECT_EQ(count("span WHERE type = 'process' AND NOT is_open"), 2);
}

TEST_F(RunHarmTest, TheFirstNumbersAreTheProgramsHoweverFewItMayOpen) {
  for (const char* files : {"12", "100", "500", "501"}) {
    const std::string line = std::string("ulimit -n ") + files +
                             "; exec /usr/bin/python3 -c 'import os; print(os.open(\"/\", 0))'";
    EXPECT_FALSE(watch({"/bin/bash", "-c", line}).out.empty()) << files;
  }
}

TEST_F(RunHarmTest, AProgramWithLittleAddressSpaceRuns) {
  // Python takes some 25 MB of address space here, and the recording some more.
  const std::string line = "ulimit -v 150000; exec /usr/bin/python3 -c 'print(6 * 7)'";
  EXPECT_EQ(watch({"/bin/bash", "-c", line}).out, "42\n");
}

TEST_F(RunHarmTest, AProgramThatIsNotThereMakesNoProcess) {
  watch_hard("looks_for_a_program");
  EXPECT_EQ(count("span WHERE type = 'process'"), 2);
}

TEST_F(RunHarmTest, AFileOfCommandsThatNamesNoInterpreterRunsInTheShell) {
  write_file("plain", "echo $# $1; exit 4\n");
  std::filesystem::permissions(folder / "plain", std::filesystem::perms::owner_all);
  for (const std::string& name : {std::string("./plain"), (folder / "plain").string()}) {
    const Finished finished = run({"run", "--quiet", "-o", "t.xsp", "--", name, "one", "two"});
    EXPECT_EQ(finished.status, 4) << finished.err;
    EXPECT_EQ(finished.out, "2 one\n");
    EXPECT_EQ(count("span WHERE type = 'process'"), 1);
  }
}

TEST_F(RunHarmTest, AProcessThatCannotBeRecordedSaysNothing) {
  // It may not write to the folder of the traces any more.
  if (::getuid() != 0) GTEST_SKIP() << "cannot give up rights here";
  const std::string program =
      "import os\n"
      "os.setresuid(1, 1, 1)\n"
      "if os.fork() == 0:\n"
      "    os._exit(3)\n"
      "print(os.waitstatus_to_exitcode(os.wait()[1]))\n";
  EXPECT_EQ(watch({"/usr/bin/python3", "-c", program}).err, "");
}

TEST_F(RunHarmTest, AChildInAnotherFolderIsRecordedWithARelativeFolderForTraces) {
  RunOptions options;
  options.environment = {{"TMPDIR", "traces"}};
  ASSERT_TRUE(std::filesystem::create_directory(folder / "traces"));
  const Finished finished =
      run({"run", "-o", "t.xsp", "--", "/bin/sh", "-c", "cd / && /bin/true; exit 4"}, options);
  EXPECT_EQ(finished.status, 4) << finished.err;
  EXPECT_EQ(count("span WHERE type = 'process'"), 2) << finished.err;
}

TEST_F(RunHarmTest, AProgramWithASanitizerRunsUnwatched) {
  write_file("clean.c", "int main(void) { return 6; }\n");
  RunOptions compiler;
  compiler.program = "/bin/sh";
  if (run({"-c", "cc -fsanitize=address clean.c -o clean"}, compiler).status != 0) {
    GTEST_SKIP() << "no AddressSanitizer here";
  }
  EXPECT_EQ(watch({(folder / "clean").string()}).status, 6);
  EXPECT_EQ(watch({"/bin/sh", "-c", "./clean"}).status, 6);
  const Finished said = run({"run", "-o", "t.xsp", "--", "./clean"});
  EXPECT_NE(said.err.find("built with a sanitizer"), std::string::npos) << said.err;
}

TEST_F(RunHarmTest, AProgramOfAnotherCLibraryRunsUnwatched) {
  // The program names its loader, which is this system's.
  write_file("other.c",
             "#include <stdlib.h>\nint main(void) { return getenv(\"LD_PRELOAD\") ? 9 : 6; }");
  RunOptions compiler;
  compiler.program = "/bin/sh";
  ASSERT_EQ(run({"-c",
                 "ln -s /lib64/ld-linux-x86-64.so.2 ld-musl-x86_64.so.1 && "
                 "cc other.c -o other -Wl,--dynamic-linker=$PWD/ld-musl-x86_64.so.1"},
                compiler)
                .status,
            0);
  const Finished finished = run({"run", "-o", "t.xsp", "--", "./other"});
  EXPECT_EQ(finished.status, 6) << finished.err;
  EXPECT_NE(finished.err.find("musl"), std::string::npos) << finished.err;
}

TEST_F(RunHarmTest, SignalsThatAreSentToXspAreTheCommands) {
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE, SIGXCPU, SIGVTALRM, SIGUSR1, SIGRTMIN + 3}) {
    RunOptions options;
    options.watch = [number](const std::string& err, int pid) {
      return err.find("ready") != std::string::npos && ::kill(pid, number) == 0;
    };
    const Finished finished = run({"run", "--leveled=no", "--quiet", "-o", "t.xsp", "--",
                                   places::build("tests/hard_program"), "waits_for_a_signal"},
                                  options);
    EXPECT_EQ(finished.out, std::to_string(number) + "\n") << finished.err;
  }
}

}  // namespace
}  // namespace xsp::integration
