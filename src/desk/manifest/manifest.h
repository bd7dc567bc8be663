// A manifest describes a model: its file, its framework, what stands before and after it, the data
// on which it is judged, and the score that is expected. It is a YAML file; manifests/schema.json
// is its schema.
//
// A file may describe a family: `models` lists what is each model's own, and all other fields of
// the file belong to each of them. A model's own field replaces that of the file.
//
// The parts here are plain values. A manifest that was read satisfies the schema, its versions and
// constraints are valid, and every required field is there. A field that may be absent is empty, or
// nothing, when it is.
#ifndef XSP_DESK_MANIFEST_MANIFEST_H_
#define XSP_DESK_MANIFEST_MANIFEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desk/manifest/schema.h"
#include "shared/base/result.h"

namespace xsp::manifest {

// Says where a file comes from. `resolve.h` gets it.
struct Source {
  enum class Kind { kPath, kUrl, kPackage, kZoo, kExport };

  Kind kind = Kind::kPath;
  // The path, which is relative to the manifest's folder; the URL; the package's name; the zoo's or
  // the recipe's name.
  std::string place;
  std::string version;      // of a package
  std::string member;       // of a package: the file in its wheel
  std::string sha256;       // of the file, 64 small hexadecimal digits; empty: not given
  std::string framework{};  // of an export: the one for which it is exported
  int line = 0;
};

// One step of a pipeline.
struct Step {
  std::string name;
  // A list is joined by commas: "0.485,0.456,0.406".
  std::map<std::string, std::string> params;
  // Parameters that are files, such as a tokeniser's vocabulary. They are not in `params`, until
  // resolve_files puts their paths there.
  std::map<std::string, Source> files;
  int line = 0;
};

// The steps of an input, from what a request gives to the model's tensor; or those of an output.
struct Pipeline {
  std::string name;  // the tensor's
  std::string from;  // of an input: bytes, image, text, audio, table or tensor; else empty
  std::vector<Step> steps;
  int line = 0;
};

// The names of a model's classes.
struct Labels {
  std::vector<std::string> names;  // given in the manifest
  std::optional<Source> source;    // or in a file: one a line, or JSON
  std::string metadata;            // or in the model's own ONNX file: the key of its metadata
  std::string key;                 // of a JSON file: the key of the list; "a.b": of b in a
};

struct Tensor {
  std::string dtype;                    // empty: the model's own
  std::string layout;                   // such as NCHW
  std::vector<std::string> dimensions;  // numbers, and names of those that vary
  std::optional<Labels> labels;         // of an output
  Pipeline pipeline;                    // has the tensor's name
};

struct Framework {
  std::string name;
  std::string version;  // a constraint of semver.h; empty: any
};

struct Hardware {
  std::vector<std::string> devices;  // cpu, cuda, opencl
  std::vector<std::string> architectures;
  std::string gpu;
  uint64_t memory_bytes = 0;  // 0: not given
};

struct Dataset {
  std::string name;
  std::string version;
  std::string split;
  std::string sha256;
};

// The model's size as xsp counts it: at batch 1, with dimensions that vary at their defaults.
struct Size {
  int64_t parameters = 0;  // the learned numbers
  int64_t macs = 0;  // multiply-accumulates of convolutions and matrix products; 0: not counted
};

// The size that the literature states, and where; 0: it states none.
struct Literature {
  int64_t parameters = 0;
  double gmacs = 0;
  std::string source;
  std::string note;  // says why it differs from ours
};

struct Manifest {
  std::string file;    // its path
  std::string sha256;  // of its text
  std::string name;
  std::string version;
  std::string task;
  std::string license;
  std::string description;
  std::optional<Framework> framework;
  Source model;
  std::optional<Hardware> hardware;
  std::string container;  // the image in which it runs; empty: in none
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::optional<Dataset> dataset;
  std::map<std::string, double> expect;  // by metric, without the tolerance
  std::optional<Size> size;
  std::optional<Literature> literature;
  double tolerance = 0;  // by which a metric may miss what is expected
  std::vector<std::pair<std::string, std::string>> attributes;
  // The line of each field: "inputs[0].steps[2]" -> 14.
  std::map<std::string, int, std::less<>> lines;

  // Returns "FILE:LINE: FIELD", with the line of the field or of the nearest field that holds it.
  // Errors begin with it: also those of a worker, which knows a step as "inputs[0].steps[2]".
  std::string place_of(std::string_view field) const;
};

// Reads the manifest of a file; a family, which has several, is refused. Errors name the file, the
// line, the field, what is wrong and what would be right. Of several faults, the first is told.
Result<Manifest> read_manifest(const std::string& path);
// Reads all manifests of a file: those of a family, or the only one.
Result<std::vector<Manifest>> read_manifests(const std::string& path);
// Read a text. `file` is its path, for errors and for what is relative to it.
Result<Manifest> parse_manifest(std::string_view text, const std::string& file);
Result<std::vector<Manifest>> parse_manifests(std::string_view text, const std::string& file);
// Returns all faults of a manifest's text, ordered by line. Fails if it is not YAML at all.
Result<std::vector<Fault>> find_faults(std::string_view text, const std::string& file);
// Writes "FILE:LINE: FIELD: what is wrong: what would be right".
std::string fault_text(const Fault& fault, const std::string& file);

// Returns whether a word on the command line is the path of a manifest.
bool is_manifest(std::string_view word);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_MANIFEST_H_
