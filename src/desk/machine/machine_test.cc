#include "desk/machine/machine.h"

#include <gtest/gtest.h>

#include <fstream>

#include "shared/base/scratch.h"

namespace xsp::machine {
namespace {

namespace fs = std::filesystem;

class MachineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create();
    ASSERT_TRUE(made.ok());
    scratch = std::move(made).value();
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((scratch->path() / path).parent_path());
    std::ofstream(scratch->path() / path) << text;
  }
  Machine machine() const { return Machine(scratch->path()); }
  std::unique_ptr<ScratchFolder> scratch;
};

TEST_F(MachineTest, WhatCannotBeReadIsLeftOut) {
  const MachineState state = machine().state();
  EXPECT_FALSE(state.cpu_mhz);
  EXPECT_FALSE(state.temperature_c);
  EXPECT_FALSE(state.load_1min);
  EXPECT_FALSE(machine().cpu_times({0}));
  EXPECT_FALSE(machine().available_memory_bytes());
  EXPECT_EQ(machine().last_level_cache_bytes(), 0u);
  EXPECT_EQ(machine().out_of_memory_kills(), 0u);
  EXPECT_EQ(machine().facts().count("governor"), 0u);
  EXPECT_EQ(machine().facts().count("cpu"), 0u);
}

TEST_F(MachineTest, FrequencyIsTheMeanOverCoresFromCpufreqElseCpuinfo) {
  write("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.000\n\ncpu MHz\t\t: 3000.000\n");
  EXPECT_DOUBLE_EQ(machine().state().cpu_mhz.value(), 2500);
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1500000\n");
  EXPECT_DOUBLE_EQ(machine().state().cpu_mhz.value(), 1250);
}

TEST_F(MachineTest, TemperatureIsTheHottestOfTheProcessorsSensors) {
  write("sys/class/hwmon/hwmon0/name", "nvme\n");
  write("sys/class/hwmon/hwmon0/temp1_input", "90000\n");
  write("sys/class/hwmon/hwmon1/name", "coretemp\n");
  write("sys/class/hwmon/hwmon1/temp1_input", "41000\n");
  write("sys/class/hwmon/hwmon1/temp2_input", "52500\n");
  EXPECT_DOUBLE_EQ(machine().state().temperature_c.value(), 52.5);
}

TEST_F(MachineTest, CpuTimesSeparateBusyFromStolen) {
  write("proc/stat", "cpu  1 2 3 4\ncpu0 100 20 30 9999 50 6 4 70 0 0\nintr 7 8 9\n");
  const auto times = machine().cpu_times({0});
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy_s, 1.6);
  EXPECT_DOUBLE_EQ(times->stolen_s, 0.7);
  EXPECT_EQ(times->processors, 1);
}

TEST_F(MachineTest, CpuTimesAreThoseOfTheProcessorsAskedFor) {
  write("proc/stat",
        "cpu  7000 0 0 1000 0 0 0 60 0 0\ncpu0 1000 0 0 900 0 0 0 10 0 0\n"
        "cpu1 2000 0 0 0 0 0 0 20 0 0\ncpu2 0 0 100 0 0 0 0 0 0 0\n"
        "cpu10 4000 0 0 100 0 0 0 30 0 0\n");
  const auto two = machine().cpu_times({1, 2});
  ASSERT_TRUE(two);
  EXPECT_DOUBLE_EQ(two->busy_s, 21);
  EXPECT_DOUBLE_EQ(two->stolen_s, 0.2);
  EXPECT_EQ(two->processors, 2);
  EXPECT_DOUBLE_EQ(machine().cpu_times({10, 99})->busy_s, 40);
  EXPECT_FALSE(machine().cpu_times({99}));
}

TEST_F(MachineTest, AvailableMemoryIsTheSystemsOrTheControlGroupsIfLess) {
  write("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n");
  EXPECT_EQ(machine().available_memory_bytes(), 1024000u);
  write("proc/self/cgroup", "0::/job/inner\n");
  write("sys/fs/cgroup/job/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.current", "5000\n");
  EXPECT_EQ(machine().available_memory_bytes(), 1024000u);
  write("sys/fs/cgroup/job/memory.max", "8000\n");
  EXPECT_EQ(machine().available_memory_bytes(), 3000u);
}

TEST_F(MachineTest, ControlGroupsOfVersionOneAreReadToo) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8000\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000\n");
  write("sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 0\noom_kill 2\n");
  EXPECT_EQ(machine().available_memory_bytes(), 7000u);
  EXPECT_EQ(machine().out_of_memory_kills(), 2u);
  write("proc/vmstat", "oom_kill 3\n");
  EXPECT_EQ(machine().out_of_memory_kills(), 5u);
}

TEST_F(MachineTest, SharedCachesAreCountedOnce) {
  for (const char* cpu : {"cpu0", "cpu1"}) {
    const std::string base = std::string("sys/devices/system/cpu/") + cpu + "/cache/";
    write(base + "index0/level", "1\n");
    write(base + "index0/size", "32K\n");
    write(base + "index0/shared_cpu_list", cpu);
    write(base + "index3/level", "3\n");
    write(base + "index3/size", "32M\n");
    write(base + "index3/shared_cpu_list", "0-1\n");
  }
  EXPECT_EQ(machine().last_level_cache_bytes(), uint64_t{32} << 20);
}

TEST_F(MachineTest, FactsNameTheProcessorAndTheSystem) {
  write("proc/cpuinfo", "model name\t: A Processor 9000\ncpu MHz : 1\n");
  write("etc/os-release", "NAME=\"Some\"\nPRETTY_NAME=\"Some Linux 12\"\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  const auto facts = machine().facts();
  EXPECT_EQ(facts.at("cpu"), "A Processor 9000");
  EXPECT_EQ(facts.at("os"), "Some Linux 12");
  EXPECT_EQ(facts.at("governor"), "powersave");
  EXPECT_EQ(facts.count("kernel"), 1u);
}

TEST_F(MachineTest, TheContainerAndItsImageAreFacts) {
  for (const char* name : {"KUBERNETES_SERVICE_HOST", "XSP_CONTAINER_IMAGE", "APPTAINER_CONTAINER",
                           "SINGULARITY_CONTAINER"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(machine().facts().count("container"), 0u);
  EXPECT_EQ(machine().facts().count("container_image"), 0u);
  write("run/systemd/container", "lxc\n");
  EXPECT_EQ(machine().facts().at("container"), "lxc");
  write(".dockerenv", "");
  EXPECT_EQ(machine().facts().at("container"), "docker");
  write("run/.containerenv",
        "engine=\"podman-4.3\"\nimageid=\"12ab\"\nimage=\"example.org/net:2\"\n");
  EXPECT_EQ(machine().facts().at("container"), "podman");
  EXPECT_EQ(machine().facts().at("container_image"), "example.org/net:2");
  // The program that starts a container may say its image, because not every container shows it.
  ::setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  ::setenv("XSP_CONTAINER_IMAGE", "example.org/other:1", 1);
  EXPECT_EQ(machine().facts().at("container"), "kubernetes");
  EXPECT_EQ(machine().facts().at("container_image"), "example.org/other:1");
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("XSP_CONTAINER_IMAGE");
}

TEST(ThisMachine, CanBeRead) {
  const Machine machine;
  EXPECT_TRUE(machine.cpu_times(usable_processor_numbers()));
  EXPECT_TRUE(machine.available_memory_bytes());
  EXPECT_TRUE(machine.state().load_1min);
  EXPECT_GE(usable_processors(), 1);
}

}  // namespace
}  // namespace xsp::machine
