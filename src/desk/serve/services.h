// Services: the things that requests are answered from. Those that the server was started without
// are absent.
#ifndef XSP_DESK_SERVE_SERVICES_H_
#define XSP_DESK_SERVE_SERVICES_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "desk/catalogue/access.h"
#include "desk/catalogue/catalogue.h"
#include "desk/serve/library.h"
#include "desk/serve/pool.h"
#include "shared/base/result.h"

namespace xsp::serve {

// One model that is to answer one file.
struct PredictionJob {
  std::string model;             // a name, never a path
  std::string system;            // that it runs on; empty: this machine
  std::filesystem::path input;   // the file
  std::filesystem::path output;  // the .xsp file to write
};

// Lets a model answer, in a process of its own whose time is bounded. Returns a JSON array of
// {file, output, rank, label, score}. Several threads call it.
using Predict = std::function<Result<std::string>(const PredictionJob&)>;

// Returns the other machines on which models may answer. Several threads call it.
using PredictionSystems = std::function<Result<std::vector<std::string>>()>;

// A model that may answer an upload.
struct PredictionModel {
  std::string name;
  std::string version;
  std::string task;
  std::string from;  // what its first input is made of: bytes, image, text, ...
};

// A sweep that a request started.
struct SweepState {
  std::string name;
  std::string id;      // that of its rows in the catalogue
  std::string state;   // waiting, running, done, failed, cancelled, stopped (its server was killed)
  std::string reason;  // why it is not done
  size_t tasks = 0;
  size_t done = 0;
  size_t running = 0;
  size_t failed = 0;
};

// Starts sweeps for requests. Several threads call it.
class Sweeps {
 public:
  virtual ~Sweeps() = default;
  // Takes a sweep's file. It runs once those before it have ended. Its folder is sweeps/NAME in the
  // served one. Returns kUsage if the file is wrong, or asks for more than a request may.
  virtual Result<SweepState> start(const std::string& text) = 0;
  // Takes a name or an id. Returns kNotAvailable if no request has started such a sweep.
  virtual Result<SweepState> find(const std::string& name) = 0;
  // Ends it if it waits or runs; what it has measured stays.
  virtual Result<SweepState> cancel(const std::string& name) = 0;
};

struct Services {
  Library& library;
  Pool<catalogue::Catalogue>* catalogue = nullptr;
  Pool<catalogue::Access>* access = nullptr;
  Predict predict;              // empty: no model answers
  PredictionSystems systems{};  // empty: there is this machine alone
  std::vector<PredictionModel> models;
  Sweeps* sweeps = nullptr;
  bool has_queries = false;       // requests may bring SQL
  bool has_notes = false;         // requests may write notes
  bool has_tokens = false;        // there may be a token with which a request writes
  uint64_t max_upload_bytes = 0;  // 0: uploads are refused
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_SERVICES_H_
