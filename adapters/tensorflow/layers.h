// Layers: a span for every node that TensorFlow executed, from its records of the runs.
//
// Nodes that only pass on existing tensors (constants, arguments, results) are left out by default.
// TensorFlow does not report which thread executed a node. Nodes that overlap in time get threads
// of their own, numbered from kOtherThreads, which are no thread ids of Linux; all others get the
// calling thread.
#ifndef XSP_ADAPTERS_TENSORFLOW_LAYERS_H_
#define XSP_ADAPTERS_TENSORFLOW_LAYERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adapters/tensorflow/messages.h"

namespace xsp::tf {

// Describes a recorded run.
struct Run {
  int64_t start_ns;  // UNIX time; its layers are clipped to it
  int64_t end_ns;
  uint32_t thread;  // the calling thread
};

// Finds the model's own nodes that an executed node stands for: those between its inputs and
// itself.
class Provenance {
 public:
  explicit Provenance(const GraphDef& own);

  // Returns whether the graph shows this. If functions are inlined, executed nodes have names that
  // the graph lacks.
  bool is_known() const { return is_known_; }
  std::vector<std::string> sources(std::string_view node,
                                   const std::vector<std::string_view>& inputs) const;
  // Returns the model's own layers that depend on no input, except those in `computed`.
  std::vector<std::string> folded() const;
  std::vector<std::string> removed(const std::unordered_set<std::string>& executed) const;

 private:
  bool is_layer(const Node& node) const;

  const std::vector<Node>& nodes_;
  bool is_known_;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::vector<bool> depends_on_input_;
};

class Layers {
 public:
  // `own` must outlive this object. Facts about the model as a whole go to the site `model_site`.
  Layers(const GraphDef& own, uint32_t model_site, bool every_node)
      : provenance_(own), model_site_(model_site), every_node_(every_node) {}

  // Emits the layers of a run from its RunMetadata. Returns their number.
  size_t emit(const Run& run, Bytes run_metadata);

 private:
  using Producers = std::unordered_map<std::string_view, const Execution*>;
  uint32_t site(const Execution& execution, std::string_view op, const Producers& producers);
  uint32_t make_site(const Execution& execution, std::string_view op,
                     const std::vector<std::string_view>& inputs, const Producers& producers);
  void describe_model(const std::vector<Execution>& executions);

  Provenance provenance_;
  uint32_t model_site_;
  bool every_node_;
  bool is_described_ = false;
  std::map<std::string, uint32_t> sites_;       // by name and shapes
  std::unordered_map<std::string, int> names_;  // number of sites with the name
};

}  // namespace xsp::tf

#endif  // XSP_ADAPTERS_TENSORFLOW_LAYERS_H_
