// Helpers of the exporters' tests: an evaluation on a GPU, and a folder for what is written.
#ifndef XSP_EXPORTERS_SHARED_TESTING_H_
#define XSP_EXPORTERS_SHARED_TESTING_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "desk/store/database.h"
#include "exporters/shared/exporter.h"
#include "tests/places.h"

namespace xsp::exporters {

// Writes the evaluation of tests/data/gpu.sql to a file of a new folder.
class ExporterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "xsp-export-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    folder = form;
    request.file = folder / "gpu.xsp";
    request.output = folder / "out";
    auto database = store::Database::create(request.file);
    ASSERT_TRUE(database.ok()) << database.error().text;
    const Status filled = database->execute(text_of(places::source("tests/data/gpu.sql")));
    ASSERT_TRUE(filled.ok()) << filled.error().text;
    ASSERT_TRUE(database->finish().ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::filesystem::path folder;
  Request request;
};

}  // namespace xsp::exporters

#endif  // XSP_EXPORTERS_SHARED_TESTING_H_
