// The manifest of a model that answers files, for tests of predictions.
#ifndef XSP_TESTS_INTEGRATION_ANSWERING_MODEL_H_
#define XSP_TESTS_INTEGRATION_ANSWERING_MODEL_H_

namespace xsp::integration {

// Its answer is the place of the largest of a file's first eight bytes. `model.fake` is beside it.
constexpr const char* kAnsweringModel =
    "version: 1.0.0\ntask: classification\nframework: {name: fake}\nmodel: {path: model.fake}\n"
    "inputs:\n  - {name: x, dtype: float32, dimensions: [N, 8], from: bytes,\n"
    "     steps: [byte_window: {begin: 8}, cast: {to: float32}]}\n"
    "outputs:\n  - name: y\n    labels: [zero, one, two, three, four, five, six, seven]\n"
    "    steps: [top: {count: 2}]\n";

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_ANSWERING_MODEL_H_
