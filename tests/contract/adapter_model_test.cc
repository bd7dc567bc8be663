// Tests the code that adapters share: include/xsp/adapter_model.hpp and find_library.hpp.
#include "xsp/adapter_model.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "manifest.h"
#include "xsp/find_library.hpp"

namespace xsp::contract {
namespace {

class AdapterModelTest : public testing::Test {
 protected:
  AdapterModelTest() {
    model_.host = &host_;
    model_.inputs.describe(
        {{"image", XSP_FLOAT32, {-1, 2}, {"batch", ""}}, {"mask", XSP_INT64, {-1}, {}}});
  }
  xsp_status order(const std::vector<xsp_tensor>& tensors, int64_t min = 0) {
    why_.clear();
    return in_order(model_, tensors.data(), tensors.size(), &ordered_, min, 1000);
  }
  static xsp_tensor tensor(const char* name, uint32_t dtype, const std::vector<int64_t>& shape,
                           size_t bytes) {
    return {sizeof(xsp_tensor), name,   dtype, static_cast<uint32_t>(shape.size()),
            shape.data(),       values, bytes};
  }

  static constexpr char values[64] = {};
  std::string why_;
  xsp_host host_{sizeof(xsp_host), &why_,
                 [](void* why, const char* text) { *static_cast<std::string*>(why) = text; },
                 [](void*, const char*) {}, ""};
  AdapterModel model_;
  std::vector<xsp_tensor> ordered_;
  const std::vector<int64_t> two_by_two_ = {2, 2};
  const std::vector<int64_t> two_ = {2};
  const std::vector<int64_t> none_ = {0};
};

TEST_F(AdapterModelTest, TensorsComeInTheOrderOfTheModel) {
  const auto image = tensor("image", XSP_FLOAT32, two_by_two_, 16);
  const auto mask = tensor("mask", XSP_INT64, two_, 16);
  ASSERT_EQ(order({mask, image}), XSP_OK) << why_;
  ASSERT_EQ(ordered_.size(), 2u);
  EXPECT_STREQ(ordered_[0].name, "image");
  EXPECT_STREQ(ordered_[1].name, "mask");
}

TEST_F(AdapterModelTest, WhatDoesNotSuitIsSaidWithWhatTheModelTakes) {
  const auto image = tensor("image", XSP_FLOAT32, two_by_two_, 16);
  EXPECT_EQ(order({image}), XSP_BAD_INPUT);
  EXPECT_EQ(why_,
            "input 'mask': it is missing: the model takes image float32[batch,2], mask int64[?]");
  EXPECT_EQ(order({image, tensor("other", XSP_INT64, two_, 16)}), XSP_BAD_INPUT);
  EXPECT_NE(why_.find("no such input"), std::string::npos) << why_;
  EXPECT_EQ(order({image, tensor("mask", XSP_INT64, none_, 0)}), XSP_OK) << why_;
  EXPECT_EQ(order({image, tensor("mask", XSP_INT64, none_, 0)}, 1), XSP_BAD_INPUT);
  EXPECT_NE(why_.find("no dimension of 0"), std::string::npos) << why_;
}

TEST_F(AdapterModelTest, InfosTellThePorts) {
  ASSERT_EQ(model_.inputs.infos().size(), 2u);
  const xsp_tensor_info& image = model_.inputs.infos()[0];
  EXPECT_STREQ(image.name, "image");
  EXPECT_EQ(image.rank, 2u);
  EXPECT_EQ(image.dimensions[0], -1);
  EXPECT_STREQ(image.symbols[0], "batch");
  EXPECT_EQ(model_.inputs.infos()[1].symbols, nullptr);
}

class FindLibraryTest : public testing::Test {
 protected:
  ~FindLibraryTest() override { unsetenv("XSP_TEST_LIBRARY"); }
  LibrarySearch search(const std::string& file) {
    LibrarySearch one;
    one.variable = "XSP_TEST_LIBRARY";
    one.file = file;
    return one;
  }
};

TEST_F(FindLibraryTest, WhatIsNowhereIsSaid) {
  const FoundLibrary found = find_library(search("libxsp-none.so*"));
  EXPECT_EQ(found.handle, nullptr);
  EXPECT_EQ(found.why, "libxsp-none.so was not found");
}

TEST_F(FindLibraryTest, TheVariableNamesAFolderOrAFileAndNothingElseIsTried) {
  Scratch folder;
  std::ofstream(folder.path() / "libxsp-broken.so.1") << "this is no library";
  setenv("XSP_TEST_LIBRARY", folder.path().c_str(), 1);
  LibrarySearch one = search("libxsp-broken.so*");
  one.linked = {"libc.so.6"};
  const FoundLibrary broken = find_library(one);
  EXPECT_EQ(broken.handle, nullptr);
  EXPECT_NE(broken.why.find("libxsp-broken.so.1"), std::string::npos) << broken.why;
  setenv("XSP_TEST_LIBRARY", "libc.so.6", 1);
  const FoundLibrary found = find_library(search("libc.so.6"));
  EXPECT_NE(found.handle, nullptr) << found.why;
  EXPECT_EQ(found.path, "libc.so.6");
  EXPECT_NE(file_of(&std::getenv).find('/'), std::string::npos);
}

}  // namespace
}  // namespace xsp::contract
