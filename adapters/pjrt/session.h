// A model that XLA compiled, and its values on the device.
#ifndef XSP_ADAPTERS_PJRT_SESSION_H_
#define XSP_ADAPTERS_PJRT_SESSION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "adapters/pjrt/plugin.h"
#include "adapters/pjrt/program.h"
#include "xsp/adapter_model.hpp"

namespace xsp::pjrt {

class Session {
 public:
  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // On failure, reports the reason through the host. `code` is the model's text or bytecode.
  xsp_status open(const xsp_host* host, const Plugin& plugin, const xsp_open_options& options,
                  const std::string& code);
  const Plugin* plugin() const { return plugin_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool asks_for_precision() const { return program_.asks_for_precision; }
  Program take_program() { return std::move(program_); }

  // Copies an input, which matches the model, to the device.
  Problem set_input(size_t index, const xsp_tensor& tensor);
  // Returns when the device has finished.
  Problem run();
  // Copies the last run's results to host memory.
  Problem results(std::vector<std::vector<std::byte>>* values);

 private:
  Problem make_client(const xsp_open_options& options);
  // Lets XLA launch each kernel by itself, also in a program that was compiled without this. Must
  // be called before XLA makes a client, because it reads its flags once.
  void prevent_graphs();
  // Compiles the model, or loads what another process compiled: XLA for CUDA takes the kernels that
  // were the fastest when it tried them, so two compilations give two programs.
  // Says through the host if it cannot keep the program.
  Problem prepare(const xsp_host* host, const std::string& code);
  Problem compile(const std::string& code);
  bool load(const std::string& path);
  bool keep(const std::string& path);
  std::string what_compiles() const;
  Problem describe();
  Problem describe_outputs(PJRT_Executable* executable);
  void release(PJRT_Buffer** buffer);

  const Plugin* plugin_ = nullptr;
  std::string flags_;  // the user's flags of XLA
  bool has_graphs_ = true;
  PJRT_Client* client_ = nullptr;
  PJRT_Device* device_ = nullptr;
  PJRT_LoadedExecutable* executable_ = nullptr;
  Program program_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<PJRT_Buffer*> arguments_;
  std::vector<PJRT_Buffer*> values_;  // results of the last run
};

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_SESSION_H_
