// Tests the requirements on every collector; see xsp/plugin.h. Runs over all collectors that were
// built, each in this process, as the worker calls them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "manifest.h"
#include "trace_file.h"
#include "xsp/plugin.h"

namespace xsp::contract {
namespace {

std::vector<std::filesystem::path> built_collectors() {
  std::vector<std::filesystem::path> found;
  const auto folder = bin_folder() / "../lib/xsp/collectors";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".so") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> split(const char* list) {
  std::vector<std::string> names;
  std::istringstream text(list == nullptr ? "" : list);
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

void expect_one_line(const std::string& text) {
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_LT(text.size(), 1000u) << text;
}

class CollectorTest : public testing::TestWithParam<std::filesystem::path> {
 protected:
  CollectorTest() {
    void* library = dlopen(GetParam().c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (library == nullptr) return;
    collector_ = static_cast<const xsp_collector*>(dlsym(library, XSP_COLLECTOR_SYMBOL));
    host_.struct_size = sizeof host_;
    host_.context = this;
    host_.fail = [](void* self, const char* text) {
      static_cast<CollectorTest*>(self)->why_ = text;
    };
    host_.note = [](void*, const char* text) { expect_one_line(text); };
    scratch_text_ = scratch_.path().string();
    host_.scratch_folder = scratch_text_.c_str();
  }

  xsp_status probe() {
    probe_ = {};
    probe_.struct_size = sizeof probe_;
    return collector_->probe(&host_, &probe_);
  }
  // Records a run of two inferences that counts `counters`, with nothing inside them.
  TraceFile record(uint32_t levels, const std::vector<const char*>& counters) {
    const std::string path = (scratch_.path() / "t.xtrace").string();
    xsp_options recording{};
    recording.struct_size = sizeof recording;
    recording.path = path.c_str();
    EXPECT_EQ(xsp_start(&recording), 0);
    xsp_collect_options options{};
    options.struct_size = sizeof options;
    options.levels = levels;
    options.counters = counters.data();
    options.counter_count = counters.size();
    options.device = collector_->device == nullptr ? "cpu" : collector_->device;
    EXPECT_EQ(collector_->start(&host_, &options), XSP_OK) << why_;
    static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "model");
    for (int i = 0; i < 2; ++i) {
      xsp_span span = xsp_begin(&site);
      if (collector_->begin != nullptr) collector_->begin();
      if (collector_->end != nullptr) collector_->end(&span);
      xsp_end(&span);
    }
    EXPECT_EQ(collector_->stop(), XSP_OK) << why_;
    EXPECT_EQ(xsp_stop(), 0);
    return read_trace(path);
  }

  const xsp_collector* collector_ = nullptr;
  xsp_collector_probe probe_{};
  xsp_host host_{};
  Scratch scratch_;
  std::string scratch_text_;
  std::string why_;
};

TEST_P(CollectorTest, SaysWhatItIs) {
  ASSERT_NE(collector_, nullptr);
  EXPECT_EQ(collector_->abi, static_cast<uint32_t>(XSP_PLUGIN_ABI));
  ASSERT_TRUE(XSP_HAS(xsp_collector, collector_, stop));
  EXPECT_EQ(collector_->name, GetParam().stem().string());
  expect_one_line(collector_->help);
  EXPECT_EQ(collector_->levels & ~XSP_LEVELS_ALL, 0u);
  EXPECT_NE(collector_->probe, nullptr);
  EXPECT_NE(collector_->start, nullptr);
  EXPECT_NE(collector_->stop, nullptr);
}

TEST_P(CollectorTest, TellsWhatCanBeWatchedOrWhyNothingCan) {
  ASSERT_NE(collector_, nullptr);
  for (int i = 0; i < 2; ++i) {  // asking changes nothing
    why_.clear();
    if (probe() != XSP_OK) {
      expect_one_line(why_);
      EXPECT_NE(why_.find(": "), std::string::npos) << why_;
      continue;
    }
    std::set<std::string> names;
    for (const std::string& name : split(probe_.counters)) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_FALSE(name.empty());
      EXPECT_TRUE(std::none_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isspace(c) != 0;
      })) << name;
    }
    if (probe_.absent != nullptr) expect_one_line(probe_.absent);
  }
}

TEST_P(CollectorTest, RecordsARunInWhichNothingHappens) {
  ASSERT_NE(collector_, nullptr);
  if (probe() != XSP_OK) GTEST_SKIP() << "skipped: " << why_;
  if (collector_->levels == 0) GTEST_SKIP() << "skipped: it only counts";
  const TraceFile file = record(collector_->levels, {});
  EXPECT_TRUE(file.is_complete);
  EXPECT_EQ(file.models.size(), 2u);
  EXPECT_EQ(file.lost, 0u);
}

TEST_P(CollectorTest, CountsEachInference) {
  ASSERT_NE(collector_, nullptr);
  if (probe() != XSP_OK) GTEST_SKIP() << "skipped: " << why_;
  const bool counts_inferences = !XSP_HAS(xsp_collector, collector_, counting) ||
                                 collector_->counting == XSP_COUNTS_INFERENCES;
  const std::vector<std::string> names = split(probe_.counters);
  if (!counts_inferences || names.empty()) GTEST_SKIP() << "skipped: it counts no inferences";
  const TraceFile file = record(0, {names[0].c_str()});
  ASSERT_EQ(file.models.size(), 2u);
  for (const Span& model : file.models) EXPECT_EQ(model.counters.count(names[0]), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, CollectorTest, testing::ValuesIn(built_collectors()),
                         [](const testing::TestParamInfo<std::filesystem::path>& one) {
                           std::string name = one.param.stem().string();
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace xsp::contract
