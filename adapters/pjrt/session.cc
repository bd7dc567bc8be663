#include "adapters/pjrt/session.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "formats/wire/wire.h"
#include "xsp/adapter.hpp"
#include "xsp/compiled_cache.hpp"

namespace xsp::pjrt {
namespace {

// Writes CompileOptionsProto (xla/pjrt/proto/compile_options.proto) for one device.
std::string compile_options() {
  std::string build, text;
  formats::wire::put_integer(&build, 4, 1);  // ExecutableBuildOptionsProto.num_replicas
  formats::wire::put_integer(&build, 5, 1);  // num_partitions
  formats::wire::put_bytes(&text, 3, build);
  return text;
}

}  // namespace

Problem Session::make_client(const xsp_open_options& options) {
  // XLA's CPU client reads its number of threads here.
  if (options.threads > 0) setenv("NPROC", std::to_string(options.threads).c_str(), 1);
  Sized<PJRT_Client_Create_Args> create;
  Sized<PJRT_NamedValue> preallocate;
  static constexpr char kName[] = "preallocate";
  preallocate->name = kName;
  preallocate->name_size = sizeof kName - 1;
  preallocate->type = PJRT_NamedValue_kBool;
  preallocate->bool_value = false;
  preallocate->value_size = 1;
  if (plugin_->kind == "cuda") {  // it would take most of the device's memory
    create->create_options = preallocate.get();
    create->num_options = 1;
  }
  if (Problem problem = take(*plugin_, plugin_->api->PJRT_Client_Create(create.get()))) {
    return problem;
  }
  client_ = create->client;
  Sized<PJRT_Client_AddressableDevices_Args> devices;
  devices->client = client_;
  Problem problem = take(*plugin_, plugin_->api->PJRT_Client_AddressableDevices(devices.get()));
  if (problem) return problem;
  if (devices->num_addressable_devices == 0) return {PJRT_Error_Code_NOT_FOUND, "it has no device"};
  device_ = devices->addressable_devices[0];
  return {};
}

void Session::prevent_graphs() {
  if (!flags_.empty() && flags_[0] != '-') return;  // the name of a file with flags
  setenv("XLA_FLAGS", (flags_ + " --xla_gpu_enable_command_buffer=").c_str(), 1);
  has_graphs_ = false;
}

Problem Session::compile(const std::string& code) {
  static constexpr char kFormat[] = "mlir";
  std::string text = code;
  Sized<PJRT_Program> program;
  program->code = text.data();
  program->code_size = text.size();
  program->format = kFormat;
  program->format_size = sizeof kFormat - 1;
  const std::string options = compile_options();
  Sized<PJRT_Client_Compile_Args> compile;
  compile->client = client_;
  compile->program = program.get();
  compile->compile_options = options.data();
  compile->compile_options_size = options.size();
  Problem problem = take(*plugin_, plugin_->api->PJRT_Client_Compile(compile.get()));
  executable_ = compile->executable;
  return problem;
}

// Describes all that decides what the compiler makes of a model, but the model.
std::string Session::what_compiles() const {
  std::string text = plugin_->path + "," + plugin_->version;
  std::error_code error;
  text += "," + std::to_string(std::filesystem::file_size(plugin_->path, error));
  Sized<PJRT_Client_PlatformVersion_Args> platform;
  platform->client = client_;
  if (!take(*plugin_, plugin_->api->PJRT_Client_PlatformVersion(platform.get()))) {
    text += "," + std::string(platform->platform_version, platform->platform_version_size);
  }
  Sized<PJRT_Device_GetDescription_Args> get;
  get->device = device_;
  Sized<PJRT_DeviceDescription_Kind_Args> device;
  if (!take(*plugin_, plugin_->api->PJRT_Device_GetDescription(get.get()))) {
    device->device_description = get->device_description;
    if (!take(*plugin_, plugin_->api->PJRT_DeviceDescription_Kind(device.get()))) {
      text += "," + std::string(device->device_kind, device->device_kind_size);
    }
  }
  return text + "," + flags_;
}

bool Session::load(const std::string& path) {
  FileBytes bytes;
  if (!read_compiled(path, &bytes)) return false;
  Sized<PJRT_Executable_DeserializeAndLoad_Args> load;
  load->client = client_;
  load->serialized_executable = bytes.data();
  load->serialized_executable_size = bytes.size();
  if (take(*plugin_, plugin_->api->PJRT_Executable_DeserializeAndLoad(load.get()))) return false;
  executable_ = load->loaded_executable;
  return true;
}

bool Session::keep(const std::string& path) {
  const PJRT_Api* api = plugin_->api;
  Sized<PJRT_LoadedExecutable_GetExecutable_Args> get;
  get->loaded_executable = executable_;
  if (take(*plugin_, api->PJRT_LoadedExecutable_GetExecutable(get.get()))) return false;
  bool is_kept = false;
  Sized<PJRT_Executable_Serialize_Args> serialize;
  serialize->executable = get->executable;
  if (!take(*plugin_, api->PJRT_Executable_Serialize(serialize.get()))) {
    is_kept = write_compiled(path, serialize->serialized_bytes, serialize->serialized_bytes_size);
    serialize->serialized_executable_deleter(serialize->serialized_executable);
  }
  Sized<PJRT_Executable_Destroy_Args> destroy;
  destroy->executable = get->executable;
  (void)take(*plugin_, api->PJRT_Executable_Destroy(destroy.get()));
  return is_kept;
}

Problem Session::prepare(const xsp_host* host, const std::string& code) {
  std::string why;
  const std::string folder = compiled_folder("pjrt", &why);
  if (plugin_->kind != "cuda") return compile(code);
  constexpr const char* kNotKept = "each process compiles the model, and may choose other kernels";
  if (!why.empty()) {
    note(host, "XLA's programs are not kept: " + why + ": " + kNotKept);
    return compile(code);
  }
  const std::string what = what_compiles();
  const uint64_t hash = hash_of(what.data(), what.size(), hash_of(code.data(), code.size(), 0));
  const std::string path = folder + hex_of(hash) + ".executable";
  if (load(path)) return {};
  const BuildLock lock(path + ".lock");
  if (load(path)) return {};
  const Problem problem = compile(code);
  // The other processes of the experiment need a program with graphs.
  if (!problem && has_graphs_) {
    if (!keep(path)) note(host, path + ": cannot be written: " + kNotKept);
    remove_unused(folder);
  }
  return problem;
}

Problem Session::describe_outputs(PJRT_Executable* executable) {
  const PJRT_Api* api = plugin_->api;
  Sized<PJRT_Executable_NumOutputs_Args> count;
  count->executable = executable;
  if (Problem problem = take(*plugin_, api->PJRT_Executable_NumOutputs(count.get())))
    return problem;
  Sized<PJRT_Executable_OutputElementTypes_Args> types;
  types->executable = executable;
  Problem problem = take(*plugin_, api->PJRT_Executable_OutputElementTypes(types.get()));
  if (problem) return problem;
  Sized<PJRT_Executable_OutputDimensions_Args> shapes;
  shapes->executable = executable;
  problem = take(*plugin_, api->PJRT_Executable_OutputDimensions(shapes.get()));
  if (problem) return problem;
  const int64_t* size = shapes->dims;
  for (size_t i = 0; i < count->num_outputs; ++i) {
    Port port{"output" + std::to_string(i), dtype_of(types->output_types[i]), {}, {}};
    port.dimensions.assign(size, size + shapes->dim_sizes[i]);
    size += shapes->dim_sizes[i];
    if (port.dtype == 0 || port.dimensions.size() > XSP_RANK_MAX) {
      return {PJRT_Error_Code_UNIMPLEMENTED, port.name + " is of a type that xsp does not know"};
    }
    outputs_.push_back(std::move(port));
  }
  return {};
}

// The interface does not report the shapes of inputs: they are in the compiled program.
Problem Session::describe() {
  const PJRT_Api* api = plugin_->api;
  Sized<PJRT_LoadedExecutable_GetExecutable_Args> get;
  get->loaded_executable = executable_;
  Problem problem = take(*plugin_, api->PJRT_LoadedExecutable_GetExecutable(get.get()));
  if (problem) return problem;
  problem = describe_outputs(get->executable);
  Sized<PJRT_Program> program;
  Sized<PJRT_Executable_OptimizedProgram_Args> optimized;
  optimized->executable = get->executable;
  optimized->program = program.get();
  if (!problem) problem = take(*plugin_, api->PJRT_Executable_OptimizedProgram(optimized.get()));
  std::string code(program->code_size, '\0');
  program->code = code.data();
  if (!problem) problem = take(*plugin_, api->PJRT_Executable_OptimizedProgram(optimized.get()));
  Sized<PJRT_Executable_Destroy_Args> destroy;
  destroy->executable = get->executable;
  (void)take(*plugin_, api->PJRT_Executable_Destroy(destroy.get()));
  if (problem) return problem;
  if (std::string_view(program->format, program->format_size) != "hlo") {
    // The module is in its configuration: field 1 of HloModuleProtoWithConfig.
    formats::wire::Source source(
        std::span(reinterpret_cast<const uint8_t*>(code.data()), code.size()));
    std::string broken;
    formats::wire::Cursor cursor(&source, &broken, 0, code.size());
    formats::wire::Field field;
    while (cursor.next(&field)) {
      if (field.number == 1 && field.type == 2) {
        code = code.substr(field.begin, field.size());
        break;
      }
    }
  }
  program_ = read_program({reinterpret_cast<const uint8_t*>(code.data()), code.size()});
  for (size_t i = 0; i < program_.parameters.size(); ++i) {
    const Value& value = program_.parameters[i];
    inputs_.push_back({program_.parameter_names[i], dtype_of(value.type), value.dimensions, {}});
    if (inputs_.back().dtype == 0 || value.dimensions.size() > XSP_RANK_MAX) {
      return {PJRT_Error_Code_UNIMPLEMENTED,
              "input '" + inputs_.back().name + "' is of a type that xsp does not know"};
    }
  }
  return {};
}

xsp_status Session::open(const xsp_host* host, const Plugin& plugin,
                         const xsp_open_options& options, const std::string& code) {
  plugin_ = &plugin;
  const char* flags = std::getenv("XLA_FLAGS");
  flags_ = flags == nullptr ? "" : flags;
  if (options.counts_spans != 0 && plugin.kind == "cuda") prevent_graphs();
  if (const Problem problem = make_client(options)) {
    return fail(host, XSP_NOT_AVAILABLE,
                "device " + std::string(options.device) + ": " + problem.text +
                    ": see whether the plugin suits the machine, or use --device cpu");
  }
  Problem problem = prepare(host, code);
  if (!problem) problem = describe();
  if (!problem) {
    arguments_.assign(inputs_.size(), nullptr);
    values_.assign(outputs_.size(), nullptr);
    return XSP_OK;
  }
  const std::string path = options.path;
  if (problem.code == PJRT_Error_Code_RESOURCE_EXHAUSTED) {
    return fail(host, XSP_OUT_OF_MEMORY,
                path + ": out of memory: " + problem.text + ": export it with a smaller batch");
  }
  // The text begins with the actual error. Then always follows a guess at other versions of
  // StableHLO.
  const size_t guess = problem.text.find(" <unknown>:0: error: Failed to parse using StableHLO");
  return fail(host, XSP_BAD_MODEL,
              path + ": not a StableHLO program that XLA takes: " + problem.text.substr(0, guess) +
                  ": export it again, as jax.export does");
}

Session::~Session() {
  if (plugin_ == nullptr) return;
  const PJRT_Api* api = plugin_->api;
  for (PJRT_Buffer*& buffer : arguments_) release(&buffer);
  for (PJRT_Buffer*& buffer : values_) release(&buffer);
  if (executable_ != nullptr) {
    Sized<PJRT_LoadedExecutable_Destroy_Args> destroy;
    destroy->executable = executable_;
    (void)take(*plugin_, api->PJRT_LoadedExecutable_Destroy(destroy.get()));
  }
  if (client_ != nullptr) {
    Sized<PJRT_Client_Destroy_Args> destroy;
    destroy->client = client_;
    (void)take(*plugin_, api->PJRT_Client_Destroy(destroy.get()));
  }
}

void Session::release(PJRT_Buffer** buffer) {
  if (*buffer == nullptr) return;
  Sized<PJRT_Buffer_Destroy_Args> destroy;
  destroy->buffer = *buffer;
  (void)take(*plugin_, plugin_->api->PJRT_Buffer_Destroy(destroy.get()));
  *buffer = nullptr;
}

Problem Session::set_input(size_t index, const xsp_tensor& tensor) {
  release(&arguments_[index]);
  Sized<PJRT_Client_BufferFromHostBuffer_Args> copy;
  copy->client = client_;
  copy->data = tensor.data;
  copy->type = static_cast<PJRT_Buffer_Type>(type_of(tensor.dtype));
  copy->dims = tensor.dimensions;
  copy->num_dims = tensor.rank;
  copy->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  copy->device = device_;
  Problem problem = take(*plugin_, plugin_->api->PJRT_Client_BufferFromHostBuffer(copy.get()));
  if (problem) return problem;
  arguments_[index] = copy->buffer;
  if ((problem = await(*plugin_, copy->done_with_host_buffer))) return problem;
  Sized<PJRT_Buffer_ReadyEvent_Args> ready;
  ready->buffer = copy->buffer;
  problem = take(*plugin_, plugin_->api->PJRT_Buffer_ReadyEvent(ready.get()));
  return problem ? problem : await(*plugin_, ready->event);
}

Problem Session::run() {
  for (PJRT_Buffer*& buffer : values_) release(&buffer);
  Sized<PJRT_ExecuteOptions> options;
  Sized<PJRT_LoadedExecutable_Execute_Args> execute;
  PJRT_Buffer* const* arguments = arguments_.data();
  PJRT_Buffer** values = values_.data();
  PJRT_Event* done = nullptr;
  execute->executable = executable_;
  execute->options = options.get();
  execute->argument_lists = &arguments;
  execute->num_devices = 1;
  execute->num_args = arguments_.size();
  execute->output_lists = &values;
  execute->device_complete_events = &done;
  const Problem problem =
      take(*plugin_, plugin_->api->PJRT_LoadedExecutable_Execute(execute.get()));
  return problem ? problem : await(*plugin_, done);
}

Problem Session::results(std::vector<std::vector<std::byte>>* values) {
  values->resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] == nullptr) {
      return {PJRT_Error_Code_FAILED_PRECONDITION, "none: run the model first"};
    }
    size_t bytes = dtype_bytes(outputs_[i].dtype);
    for (const int64_t size : outputs_[i].dimensions) bytes *= static_cast<size_t>(size);
    (*values)[i].resize(bytes);
    Sized<PJRT_Buffer_ToHostBuffer_Args> copy;
    copy->src = values_[i];
    copy->dst = (*values)[i].data();
    copy->dst_size = bytes;
    Problem problem = take(*plugin_, plugin_->api->PJRT_Buffer_ToHostBuffer(copy.get()));
    if (!problem) problem = await(*plugin_, copy->event);
    if (problem) return problem;
  }
  return {};
}

}  // namespace xsp::pjrt
