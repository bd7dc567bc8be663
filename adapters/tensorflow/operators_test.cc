// Tests that the list of oneDNN's operators in TensorFlow, with which the analyses are tested, is
// complete.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "adapters/tensorflow/library.h"
#include "adapters/tensorflow/messages.h"
#include "tests/places.h"

namespace xsp::tf {
namespace {

// Declares TF_Buffer of tensorflow/c/tf_buffer.h.
struct Buffer {
  const void* data;
  size_t length;
  void (*deallocator)(void* data, size_t length);
};

std::set<std::string> listed() {
  std::ifstream list(places::source("tests/data/tensorflow/onednn_operators.txt"));
  std::set<std::string> names;
  for (std::string line; std::getline(list, line);) names.insert(line.substr(0, line.find(':')));
  return names;
}

TEST(TensorFlowOperators, AllThatCallOneDnnAreListed) {
  const Library& tensorflow = library();
  if (!tensorflow.absent.empty()) GTEST_SKIP() << "skipped: " << tensorflow.absent;
  void* handle = dlopen(tensorflow.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto all = reinterpret_cast<Buffer* (*)()>(dlsym(handle, "TF_GetAllOpList"));
  const auto release = reinterpret_cast<void (*)(Buffer*)>(dlsym(handle, "TF_DeleteBuffer"));
  ASSERT_TRUE(all != nullptr && release != nullptr);
  Buffer* buffer = all();
  const std::set<std::string> known = listed();
  size_t found = 0;
  // A list of operators has their names in the field in which a graph has its nodes' names.
  const auto* bytes = static_cast<const uint8_t*>(buffer->data);
  for (const Node& one : read_graph({bytes, buffer->length}).nodes) {
    if (one.name.rfind("_Mkl", 0) != 0) continue;
    ++found;
    EXPECT_EQ(known.count(one.name), 1u) << one.name << ": add it to onednn_operators.txt";
  }
  EXPECT_GT(found, 50u);
  release(buffer);
  dlclose(handle);
}

}  // namespace
}  // namespace xsp::tf
