#include "desk/manifest/resolve.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "desk/manifest/sha256.h"

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;

TEST(Sha256, FitsTheStandardsExamples) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class Resolve : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "xsp_resolve_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    std::ofstream(folder_ / "model.onnx") << "the model";
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }

  // Resolves the model of a manifest in the folder, whose source is this YAML.
  Result<std::string> resolved(const std::string& source) {
    const auto manifest = parse_manifest(
        "name: m\nversion: 1.0.0\ntask: t\nmodel: " + source + "\n", (folder_ / "m.yaml").string());
    if (!manifest.ok()) return manifest.error();
    return resolve_model(*manifest, [this](const std::string&) { ++fetched_; });
  }
  // Returns the number of files in the cache, finished or not.
  size_t cached_files() const {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
      count += entry.is_regular_file();
    }
    return count;
  }

  const std::string sum_ = sha256_of("the model");
  fs::path folder_;
  int fetched_ = 0;
};

TEST_F(Resolve, APathIsRelativeToTheManifest) {
  EXPECT_EQ(*resolved("{path: model.onnx}"), (folder_ / "model.onnx").string());
  EXPECT_TRUE(resolved("{path: model.onnx, sha256: " + sum_ + "}").ok());
  const auto wrong = resolved("{path: model.onnx, sha256: " + std::string(64, '0') + "}");
  EXPECT_EQ(wrong.error().code, Code::kCorrupt);
  EXPECT_NE(wrong.error().text.find("m.yaml:4: model: model.onnx has the sha256 " + sum_),
            std::string::npos)
      << wrong.error().text;
  EXPECT_NE(resolved("{path: absent.onnx}").error().text.find("no such file"), std::string::npos);
}

TEST_F(Resolve, AUrlIsFetchedOnceAndItsSumIsChecked) {
  const std::string url = "file://" + (folder_ / "model.onnx").string();
  const auto path = resolved("{url: '" + url + "', sha256: " + sum_ + "}");
  ASSERT_TRUE(path.ok()) << path.error().text;
  EXPECT_EQ(*path, (folder_ / "cache/xsp/models" / sum_ / "model.onnx").string());
  EXPECT_TRUE(resolved("{url: '" + url + "', sha256: " + sum_ + "}").ok());
  EXPECT_EQ(fetched_, 1);
  std::ofstream(*path) << "damaged";  // it is fetched again
  EXPECT_TRUE(resolved("{url: '" + url + "', sha256: " + sum_ + "}").ok());
  EXPECT_EQ(fetched_, 2);
  EXPECT_EQ(*sha256_of_file(*path), sum_);
  const auto wrong = resolved("{url: '" + url + "', sha256: " + std::string(64, '0') + "}");
  EXPECT_EQ(wrong.error().code, Code::kCorrupt);
  EXPECT_FALSE(resolved("{url: '" + url + "x', sha256: " + std::string(64, '0') + "}").ok());
  EXPECT_EQ(cached_files(), 1u);
}

TEST_F(Resolve, AServerIsAsked) {
  const pid_t server = ::fork();
  ASSERT_GE(server, 0);
  if (server == 0) {
    const std::string script =
        "import http.server, os\n"
        "os.chdir('" +
        folder_.string() +
        "')\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "open('port.part', 'w').write(str(server.server_port))\n"
        "os.rename('port.part', 'port')\n"
        "server.serve_forever()\n";
    if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(126);
    ::execlp("python3", "python3", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 3000 && !fs::exists(folder_ / "port"); ++i) ::usleep(10000);
  std::string port;
  std::ifstream(folder_ / "port") >> port;
  const std::string base = "http://127.0.0.1:" + port;
  const auto path = resolved("{url: '" + base + "/model.onnx?x=1', sha256: " + sum_ + "}");
  const auto absent =
      resolved("{url: '" + base + "/absent', sha256: " + std::string(64, '0') + "}");
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  ASSERT_TRUE(path.ok()) << path.error().text;
  EXPECT_EQ(fs::path(*path).filename(), "model.onnx");
  EXPECT_NE(absent.error().text.find("404"), std::string::npos) << absent.error().text;
  EXPECT_EQ(cached_files(), 1u);
}

TEST_F(Resolve, AnExportNeedsAFrameworkThatHasAnExporter) {
  EXPECT_NE(
      resolved("{export: a}").error().text.find("m.yaml:4: model: the framework is not known"),
      std::string::npos);
  const auto absent = resolved("{export: a}\nframework: {name: abacus}");
  EXPECT_NE(absent.error().text.find("export_abacus.py does not exist"), std::string::npos)
      << absent.error().text;
  EXPECT_EQ(fetched_, 0);
}

TEST_F(Resolve, WhatIsHereIsFoundWithoutADownload) {
  const auto here = [&](const std::string& source) {
    const auto manifest = parse_manifest(
        "name: m\nversion: 1.0.0\ntask: t\nmodel: " + source + "\n", (folder_ / "m.yaml").string());
    EXPECT_TRUE(manifest.ok()) << manifest.error().text;
    return find_here(*manifest, manifest->model, "model");
  };
  const std::string url = "file://" + (folder_ / "model.onnx").string();
  const std::string source = "{url: '" + url + "', sha256: " + sum_ + "}";
  EXPECT_EQ(*here("{path: model.onnx}"), (folder_ / "model.onnx").string());
  EXPECT_FALSE(here("{path: absent.onnx}").ok());
  EXPECT_EQ(*here("{zoo: mobilenet_v2}"), "");
  EXPECT_NE(here("{zoo: mobilenet_v9}").error().text.find("m.yaml:4: model: model 'mobilenet_v9'"),
            std::string::npos);
  EXPECT_EQ(*here(source), "");
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  ASSERT_TRUE(resolved(source).ok());
  EXPECT_EQ(*here(source), *resolved(source));
}

TEST_F(Resolve, FilesOfStepsAndLabelsAreFound) {
  std::ofstream(folder_ / "labels.json") << R"({"all": {"names": ["cat", "dog"]}})";
  std::ofstream(folder_ / "words.txt") << "one\r\ntwo\n";
  auto manifest = parse_manifest(R"(name: m
version: 1.0.0
task: t
model: {zoo: nothing}
inputs: [{name: a, steps: [tokens: {words: {path: words.txt}}]}]
outputs:
  - {name: b, labels: {path: labels.json, key: all.names}}
  - {name: c, labels: {path: words.txt}}
  - {name: d}
)",
                                 (folder_ / "m.yaml").string());
  ASSERT_TRUE(manifest.ok()) << manifest.error().text;
  const Say quiet = [](const std::string&) {};
  ASSERT_TRUE(resolve_files(&*manifest, quiet).ok());
  EXPECT_EQ(manifest->inputs[0].pipeline.steps[0].params.at("words"),
            (folder_ / "words.txt").string());
  EXPECT_EQ(*labels_of(*manifest, 0, quiet), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(*labels_of(*manifest, 1, quiet), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(labels_of(*manifest, 2, quiet)->empty());
  EXPECT_NE(resolve_model(*manifest, quiet).error().text.find("m.yaml:4: model: "),
            std::string::npos);
}

}  // namespace
}  // namespace xsp::manifest
