// Runs models with one adapter, to test what it does beyond the requirements on every adapter.
#ifndef XSP_TESTS_CONTRACT_ONE_ADAPTER_H_
#define XSP_TESTS_CONTRACT_ONE_ADAPTER_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "trace_file.h"
#include "worker_process.h"

namespace xsp::contract {

class OneAdapter : public testing::Test {
 protected:
  // Models with relative paths are in tests/data/FOLDER. Every worker has the arguments `always`.
  OneAdapter(std::string adapter, const std::string& folder, Fields always = {});
  // Skips the test where the adapter is not built, or its framework is not here.
  void SetUp() override;

  std::string data(const std::string& model) const { return (folder_ / model).string(); }
  // The arguments of a worker that opens the model.
  Fields arguments(const std::string& model, const Fields& more = {},
                   const std::string& levels = "model,layer") const;
  // Runs the model `runs` times and returns its trace.
  TraceFile traced(const std::string& model, const Fields& more = {}, size_t runs = 2) const;
  // Returns the error of a worker that fails, when it opens the model or runs it.
  std::string failure(const std::string& model, const Fields& more = {}) const;

  static std::vector<std::string> names(const TraceFile& file);

 private:
  std::string adapter_;
  std::filesystem::path folder_;
  Fields always_;
};

}  // namespace xsp::contract

#endif  // XSP_TESTS_CONTRACT_ONE_ADAPTER_H_
