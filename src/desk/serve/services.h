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
  std::filesystem::path input;   // the file
  std::filesystem::path output;  // the .xsp file to write
};

// Lets a model answer, in a process of its own whose time is bounded. Returns a JSON array of
// {file, output, rank, label, score}. Several threads call it.
using Predict = std::function<Result<std::string>(const PredictionJob&)>;

// A model that may answer an upload.
struct PredictionModel {
  std::string name;
  std::string version;
  std::string task;
  std::string from;  // what its first input is made of: bytes, image, text, ...
};

struct Services {
  Library& library;
  Pool<catalogue::Catalogue>* catalogue = nullptr;
  Pool<catalogue::Access>* access = nullptr;
  Predict predict;  // empty: no model answers
  std::vector<PredictionModel> models;
  bool has_tokens = false;        // there may be a token with which a request writes
  uint64_t max_upload_bytes = 0;  // 0: uploads are refused
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_SERVICES_H_
