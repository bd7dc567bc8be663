// A small model that keeps a cache, for tests of generation.
#ifndef XSP_TESTS_GENERATING_MODEL_H_
#define XSP_TESTS_GENERATING_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/onnx/builder.h"
#include "formats/onnx/writer.h"

namespace xsp {

constexpr int64_t kGeneratingSize = 4;  // numbers of a key, and of a value

// Writes an ONNX file of a model whose logits follow from each token alone, and whose cache grows
// by the embedding of each token, once as a key and once as a value. Returns why it could not;
// empty: it did.
inline std::string write_generating_model(const std::filesystem::path& path) {
  formats::Builder b("net");
  const formats::Value ids = b.input("input_ids", formats::kInt64,
                                     {formats::symbolic("batch"), formats::symbolic("sequence")});
  const std::vector<formats::Dimension> past = {formats::symbolic("batch"), formats::fixed(1),
                                                formats::symbolic("past_sequence"),
                                                formats::fixed(kGeneratingSize)};
  const formats::Value table = b.weight("table", {100, kGeneratingSize}, formats::with_variance(1));
  formats::Value x = b.gather("embed", table, ids, 0);
  x.channels = kGeneratingSize;
  const formats::Value heads = b.node("heads", "Unsqueeze", {x, b.constant("axis", {1})});
  for (const std::string part : {"key", "value"}) {
    const formats::Value before = b.input("past_key_values.0." + part, formats::kFloat32, past);
    const formats::Value after =
        b.node("cat_" + part, "Concat", {before, heads}, {formats::attribute("axis", int64_t{2})});
    b.output(after, "present.0." + part, formats::kFloat32,
             {formats::symbolic("batch"), formats::fixed(1), formats::symbolic("all"),
              formats::fixed(kGeneratingSize)});
  }
  b.output(b.dense("head", x, 100), "logits", formats::kFloat32,
           {formats::symbolic("batch"), formats::symbolic("sequence"), formats::fixed(100)});
  const auto weights = [&](size_t index, uint64_t offset, std::span<uint8_t> out) {
    formats::fill_weights(
        b.distributions()[index], formats::tensor_seed(1, b.graph().initializers[index].name),
        offset / sizeof(float), out.size() / sizeof(float), reinterpret_cast<float*>(out.data()));
  };
  const Status status = formats::write_graph(b.graph(), weights, path, {});
  return status.ok() ? "" : status.error().text;
}

}  // namespace xsp

#endif  // XSP_TESTS_GENERATING_MODEL_H_
