// Tests the collector through the worker, in a process of its own.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/places.h"

namespace xsp::cupti {
namespace {

std::string said_by_worker(const std::string& environment) {
  const std::string command = environment + " '" + places::bin("xsp-worker") +
                              "' --probe --device cuda --collector '" +
                              places::build("lib/xsp/collectors/cupti.so") + "' 2>&1 3>&-";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  while (const size_t size = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), size);
  }
  pclose(pipe);
  return text;
}

TEST(Worker, ProbesTheCollector) {
  const std::string text = said_by_worker("LD_LIBRARY_PATH=" + places::build("tests/fake_cuda"));
  EXPECT_EQ(text.rfind("probe\tcupti\tapi,kernel\t", 0), 0u) << text;
}

TEST(Worker, IsToldThatThereIsNoCupti) {
  const std::string text = said_by_worker("XSP_CUPTI=/nowhere/libcupti.so LD_LIBRARY_PATH=" +
                                          places::build("tests/fake_cuda"));
  EXPECT_NE(text.find("CUPTI: not found"), text.npos) << text;
}

TEST(Worker, UsesAnOldCuptiAsFarAsItGoes) {
  const std::string text =
      said_by_worker("XSP_CUPTI=" + places::build("tests/fake_cuda_old/libcupti.so.11") +
                     " LD_LIBRARY_PATH=" + places::build("tests/fake_cuda"));
  EXPECT_EQ(text.rfind("probe\tcupti\tapi,kernel\t", 0), 0u) << text;
}

}  // namespace
}  // namespace xsp::cupti
