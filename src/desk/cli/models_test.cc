// Tests the verb as a user calls it: its output, its files, its exit status.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/places.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

struct Printed {
  int status = -1;
  std::string out;
  std::string err;
};

class ModelsVerb : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "xsp_models_verb_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  Printed run(const std::string& arguments) const {
    const fs::path out = folder_ / "out.txt";
    const fs::path err = folder_ / "err.txt";
    const std::string command = "cd " + folder_.string() + " && " + places::bin("xsp") +
                                " models " + arguments + " >" + out.string() + " 2>" + err.string();
    const int status = std::system(command.c_str());
    Printed outcome = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
    fs::remove(out);
    fs::remove(err);
    return outcome;
  }

  fs::path folder_;
};

TEST_F(ModelsVerb, ListsForProgramsAndPeople) {
  const Printed json = run("--list --format json");
  ASSERT_EQ(json.status, 0) << json.err;
  const auto list = nlohmann::json::parse(json.out);
  ASSERT_GT(list.size(), zoo::all_models().size());
  for (const auto& model : list) {
    EXPECT_TRUE(model.at("name").is_string());
    // Every model of the zoo has a manifest.
    EXPECT_TRUE(model.at("version").is_string()) << model;
    EXPECT_TRUE(model.at("source").is_string());
    if (!model.contains("parameters")) continue;
    EXPECT_GT(model.at("parameters").get<int64_t>(), 20000);
    if (!model.contains("gflops")) continue;  // the zoo does not build it
    EXPECT_GT(model.at("gflops").get<double>(), 0.02);
    EXPECT_GT(model.at("file_bytes").get<int64_t>(), 4 * model.at("parameters").get<int64_t>());
    EXPECT_FALSE(model.at("inputs").empty());
  }
  const Printed table = run("");
  EXPECT_EQ(table.status, 0);
  EXPECT_NE(table.out.find("resnet50"), std::string::npos);
  EXPECT_NE(table.out.find("package magika"), std::string::npos);
  EXPECT_EQ(run("--list").out, table.out);
}

TEST_F(ModelsVerb, ShowsAndChecksManifests) {
  const Printed shown = run("show 'magika@^1.0'");
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("onnxruntime >=1.17 <2"), std::string::npos) << shown.out;
  const Printed unknown = run("show magica");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("did you mean 'magika'?"), std::string::npos) << unknown.err;
  EXPECT_EQ(run("show 'magika@>=2'").status, 2);

  std::ofstream(folder_ / "bad.yaml") << "name: bad\nversion: 1.0\ntask: x\nmodel: {paths: a}\n";
  const Printed bad = run("check bad.yaml");
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.out,
            "bad.yaml:2: version: '1.0' is not a semantic version: write one like 1.0.3\n"
            "bad.yaml:4: model: none of path, url, package, zoo, export is given: write exactly "
            "one of them\n"
            "bad.yaml:4: model.paths: there is no such field: did you mean 'path'?\n");
  EXPECT_EQ(bad.err.substr(0, 16), "error: 3 faults:");
  EXPECT_EQ(run("check " + places::source() + "/manifests/*/*.yaml").status, 0);
}

TEST_F(ModelsVerb, ACheckFindsWhatWouldStopALaterRun) {
  std::ofstream(folder_ / "net.yaml")
      << "name: net\nversion: 1.0.0\ntask: classification\nlicense: MIT\n"
         "framework: {name: onnxruntim}\nmodel: {zoo: resnet5}\ninputs:\n"
         "  - {name: data, from: image, steps: [decode, resize_pilow: {short: 256}]}\noutputs:\n"
         "  - name: prob\n    steps: [softmax, top: {cuont: 5}]\n    labels: {path: absent.txt}\n";
  const Printed found = run("check net.yaml");
  EXPECT_EQ(found.status, 1);
  EXPECT_EQ(found.out,
            "net.yaml:5: framework.name: onnxruntim: there is no such adapter: did you mean "
            "'onnxruntime'? (model net)\n"
            "net.yaml:6: model: model 'resnet5': unknown: did you mean 'resnet50', 'resnet152', "
            "'resnet34'? (model net)\n"
            "net.yaml:8: inputs[0].steps[1]: 'resize_pilow' is no step: did you mean "
            "'resize_pillow'? (model net)\n"
            "net.yaml:11: outputs[0].steps[1]: top: parameter 'cuont': unknown: it has count "
            "(model net)\n"
            "net.yaml:12: outputs[0].labels: absent.txt: no such file: a path is relative to the "
            "manifest's folder (model net)\n");
  EXPECT_EQ(found.err, "error: 5 faults: the manifest is not valid: correct the lines above\n");
}

TEST_F(ModelsVerb, ACheckTellsASharedFaultOnceAndNamesTheModels) {
  std::ofstream(folder_ / "family.yaml")
      << "version: 1.0.0\ntask: classification\nlicense: MIT\nmodels:\n"
         "  - {name: a, model: {export: segformer-bo}, framework: {name: torch}}\n"
         "  - {name: b, model: {path: absent.onnx}}\n"
         "  - {name: c, model: {export: gcn}, framework: {name: pjrt}}\n"
         "inputs: [{name: x, from: bytes, steps: [nostep]}]\noutputs: [{name: y, steps: [top]}]\n";
  const std::string found = run("check family.yaml").out;
  for (const char* line :
       {"family.yaml:8: inputs[0].steps[0]: 'nostep' is no step: see 'xsp predict --steps' "
        "(models a, b, c)\n",
        "family.yaml:5: model: segformer-bo from export_torch.py: cannot be had: segformer-bo: no "
        "such recipe: did you mean 'segformer-b0'? (model a)\n",
        "family.yaml:6: model: absent.onnx: no such file: a path is relative to the manifest's "
        "folder (model b)\n",
        "family.yaml:7: model: no exporter is known of the framework 'pjrt'"}) {
    EXPECT_NE(found.find(line), std::string::npos) << found;
  }
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 4) << found;
}

TEST_F(ModelsVerb, ACheckComparesTheTensorsWithTheModelsOwn) {
  ASSERT_EQ(run("build mobilenet_v1_0.25_128 -o net.onnx").status, 0);
  const auto check = [&](const std::string& name, const std::string& dtype,
                         const std::string& dimensions, const std::string& source) {
    std::ofstream(folder_ / "net.yaml")
        << "name: net\nversion: 1.0.0\ntask: classification\nlicense: MIT\nmodel: " << source
        << "\ninputs:\n  - name: " << name << "\n    dtype: " << dtype
        << "\n    dimensions: " << dimensions << "\n";
    return run("check net.yaml");
  };
  for (const char* source : {"{path: net.onnx}", "{zoo: mobilenet_v1_0.25_128}"}) {
    EXPECT_EQ(check("input", "float32", "[N, 3, 128, 128]", source).out, "");
    EXPECT_EQ(check("input", "float32", "[N, 3, 128, W]", source).status, 0);
    EXPECT_NE(check("input", "float32", "[N, 3, 224, 224]", source)
                  .out.find("net.yaml:9: inputs[0].dimensions: [N, 3, 224, 224] does not fit the "
                            "model, which has input float32["),
              std::string::npos);
    EXPECT_NE(check("input", "uint8", "[N, 3, 128, 128]", source)
                  .out.find("net.yaml:8: inputs[0].dtype: the model has input float32["),
              std::string::npos);
    const Printed other = check("data", "float32", "[N, 3, 128, 128]", source);
    EXPECT_NE(other.out.find("net.yaml:7: inputs[0].name: the model has no 'data': it has input "),
              std::string::npos)
        << other.out;
    EXPECT_EQ(other.status, 1);
  }
  std::ofstream(folder_ / "net.onnx") << "no model";
  EXPECT_EQ(check("input", "float32", "[N]", "{path: net.onnx}").status, 1);
}

TEST_F(ModelsVerb, ImportsAnOlderManifest) {
  std::ofstream(folder_ / "old.yml") << "name: old\nversion: 1.0\nmodel: {graph_path: a.onnx}\n";
  const Printed imported = run("import old.yml -o new.yaml");
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_NE(imported.err.find("old.yml:1: version: '1.0'"), std::string::npos) << imported.err;
  const Printed without_model = run("check new.yaml");
  EXPECT_EQ(without_model.status, 1);
  EXPECT_NE(without_model.out.find("a.onnx: no such file"), std::string::npos) << without_model.out;
  ASSERT_EQ(run("build mobilenet_v1_0.25_128 -o a.onnx").status, 0);
  EXPECT_EQ(run("check new.yaml").out, "");
  EXPECT_EQ(run("import old.yml -o new.yaml").status, 1);
  EXPECT_EQ(run("import old.yml -o new.yaml --force").status, 0);
}

TEST_F(ModelsVerb, BuildsAndRefusesToOverwrite) {
  const Printed built = run("build mobilenet_v2 --seed 3");
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(built.out, "");
  const fs::path path = folder_ / "mobilenet_v2.onnx";
  EXPECT_EQ(fs::file_size(path), zoo::find_model("mobilenet_v2")->file_bytes);
  const Printed again = run("build mobilenet_v2");
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("error: mobilenet_v2.onnx: cannot be written: File exists"),
            std::string::npos);
  EXPECT_EQ(run("build mobilenet_v2 --force").status, 0);
}

TEST_F(ModelsVerb, UsageErrorsExitWithTwo) {
  const Printed unknown = run("build resnt50");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("did you mean 'resnet50'"), std::string::npos);
  EXPECT_EQ(run("build").status, 2);
  EXPECT_EQ(run("build resnet50 --seed minus").status, 2);
  EXPECT_EQ(run("--format yaml").status, 2);
  const Printed batch = run("build resnet50 --batch 4");
  EXPECT_EQ(batch.status, 2);
  EXPECT_NE(batch.err.find("takes any batch size"), std::string::npos) << batch.err;
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ModelsVerb, TheEndingOfTheFileNamesTheFormat) {
  const Printed wrong = run("build mobilenet_v2 -o net.tflite");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.err,
            "error: net.tflite: no ending of a format that xsp writes (.onnx, .caffemodel, "
            "-symbol.json, .pb, .mlir): end the name in one of these, or give --format\n");
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(run("build mobilenet_v2 -o net.caffemodel").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "net.prototxt")) << "Caffe's other file";
  EXPECT_EQ(run("build mobilenet_v2 -o net.tflite --format onnx").status, 0);
  EXPECT_EQ(fs::file_size(folder_ / "net.tflite"), zoo::find_model("mobilenet_v2")->file_bytes);
}

TEST_F(ModelsVerb, HelpShowsExamples) {
  const Printed help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
}

// Returns whether the process has an open file in this folder, even an unnamed one.
bool writes_into(pid_t process, const fs::path& folder) {
  std::error_code error;
  const fs::path files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& file : fs::directory_iterator(files, error)) {
    const fs::path target = fs::read_symlink(file.path(), error);
    if (target.string().rfind(folder.string(), 0) == 0) return true;
  }
  return false;
}

TEST_F(ModelsVerb, AnInterruptLeavesNothing) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string program = places::bin("xsp");
    const std::string path = (folder_ / "vgg16.onnx").string();
    if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(126);
    ::execl(program.c_str(), "xsp", "models", "build", "vgg16", "-o", path.c_str(), nullptr);
    ::_exit(127);
  }
  // Waits at most half a minute.
  for (int i = 0; i < 30000 && !writes_into(child, folder_); ++i) ::usleep(1000);
  ASSERT_EQ(::kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace xsp::cli
