// Tests that xsp doctor reports for every level and framework whether it is available, or why not.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <set>

#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

class DoctorTest : public XspTest {};

TEST_F(DoctorTest, NamesEveryLevelAndFrameworkWithAReason) {
  const Finished finished = run({"doctor", "--format", "json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const auto findings = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(findings.is_array());
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& finding : findings) {
    by_name[finding["name"]] = finding;
    const std::string status = finding["status"];
    EXPECT_TRUE(status == "available" || status == "not available" || status == "limited")
        << finding;
    if (status == "not available") {
      EXPECT_NE(finding["reason"], "") << finding;
      EXPECT_NE(finding["what_to_do"], "") << finding;
    }
  }
  for (const char* level : {"application", "model", "layer", "library", "api", "kernel"}) {
    ASSERT_EQ(by_name.count(level), 1u) << level;
    EXPECT_EQ(by_name[level]["kind"], "level");
  }
  for (const auto& entry : std::filesystem::directory_iterator(places::build("lib/xsp/adapters"))) {
    if (entry.path().extension() != ".so") continue;
    EXPECT_EQ(by_name[entry.path().stem()]["kind"], "framework") << entry.path();
  }
  EXPECT_EQ(by_name["fake"]["status"], "available");
  EXPECT_EQ(by_name["DuckDB"]["status"], "available");
  for (const char* name : {"programs", "Python", "CUDA", "NVTX"}) {
    EXPECT_EQ(by_name[name]["kind"], "xsp run") << name;
  }
#ifndef __SANITIZE_ADDRESS__  // a sanitizer's library cannot be preloaded into other programs
  EXPECT_EQ(by_name["programs"]["status"], "available") << by_name["programs"];
#endif
}

TEST_F(DoctorTest, SaysWhatTheCacheFolderHoldsAndRemovesModelsOnRequest) {
  const std::string model = (folder / "cache/xsp/models/export/torch/net").string();
  std::filesystem::create_directories(model);
  write_file("cache/xsp/models/export/torch/net/net.pt", std::string(3 << 20, 'x'));
  RunOptions options;
  options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
  const Finished looked = run({"doctor", "--format", "json"}, options);
  EXPECT_NE(looked.out.find("holds 3.00 MiB, of which 3.00 MiB are models"), std::string::npos)
      << looked.out;
  // It was written just now, and so may be in use.
  const Finished kept = run({"doctor", "--clean-models", "1MiB"}, options);
  EXPECT_NE(kept.out.find("kept 3.00 MiB in 1 model: they were used in the last hour"),
            std::string::npos)
      << kept.out;
  const timespec old[] = {{0, 0}, {0, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (model + "/net.pt").c_str(), old, 0), 0);
  const Finished removed = run({"doctor", "--clean-models", "1MiB"}, options);
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_EQ(removed.out,
            "removed " + model + ", 3.00 MiB\nremoved 3.00 MiB in 1 model; kept 0 B in 0 models\n");
  EXPECT_FALSE(std::filesystem::exists(model));
  EXPECT_EQ(run({"doctor", "--clean-models", "much"}, options).status, 2);
}

// Those whose adapter was not built are among them.
TEST_F(DoctorTest, EveryFrameworkOfTheTreeHasOneRowAndOneCommandThatGetsIt) {
  const Finished finished = run({"doctor", "--format", "json"});
  const auto findings = nlohmann::json::parse(finished.out, nullptr, false);
  ASSERT_TRUE(findings.is_array()) << finished.err;
  std::map<std::string, std::vector<nlohmann::json>> rows;
  for (const auto& finding : findings) {
    if (finding["kind"] == "framework") rows[finding["name"]].push_back(finding);
  }
  const std::regex command(
      "(xsp doctor --install|apt-get install|pip install|tools/|\\./demo\\.sh).*");
  for (const auto& entry : std::filesystem::directory_iterator(places::source("adapters"))) {
    if (entry.path().extension() != ".cc") continue;
    const std::string name = entry.path().stem();
    ASSERT_EQ(rows[name].size(), 1u) << name;
    const nlohmann::json& row = rows[name][0];
    if (row["status"] == "available") continue;
    // No command gets the GPU that a framework which is here lacks.
    if (row["reason"].get<std::string>().find("no driver of NVIDIA") != std::string::npos) continue;
    EXPECT_TRUE(std::regex_match(row["what_to_do"].get<std::string>(), command)) << row;
  }
  for (const auto& [name, package] :
       std::map<std::string, std::string>{{"pjrt", "JAX"}, {"tensorflow", "TensorFlow"}}) {
    const std::string reason = rows[name][0]["reason"];
    EXPECT_NE(reason.find("FILE.py:FUNCTION: " + package + " "), std::string::npos) << reason;
  }
}

// The facility and the collector that uses it agree on whether there are counters, and each level,
// framework and collector that is not there has its remedy.
TEST_F(DoctorTest, OneWordAboutTheProcessorsCounters) {
  const Finished finished = run({"doctor", "--format", "json"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : nlohmann::json::parse(finished.out)) {
    const std::string kind = row["kind"], name = row["name"];
    rows[kind + " " + name] = row;
    if (row["status"] == "available" || kind == "facility") continue;
    EXPECT_NE(row["what_to_do"], "") << row;
  }
  const std::string counted = rows["collector cpu"]["reason"];
  const bool has_counters =
      counted.substr(0, counted.find("; not ")).find("instructions") != std::string::npos;
  EXPECT_EQ(rows["facility processor counters"]["status"] == "available", has_counters)
      << rows["facility processor counters"] << counted;
}

TEST_F(DoctorTest, PeopleGetItWithoutShortening) {
  const Finished finished = run({"doctor"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  for (const char* word : {"kernel", "fake", "DuckDB", "temporary folder"}) {
    EXPECT_NE(finished.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(finished.out.find("\x1b"), std::string::npos);  // no terminal, no colours
}

TEST_F(DoctorTest, WhatCannotBeInstalledIsSaid) {
  const Finished finished = run({"doctor", "--install", "abacus"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_EQ(finished.err.rfind("error: abacus: there is no such framework to install: choose", 0),
            0u)
      << finished.err;
  EXPECT_NE(finished.err.find("tensorflow"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace xsp::integration
