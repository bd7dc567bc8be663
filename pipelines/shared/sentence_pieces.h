// The model of a tokeniser, which SentencePiece runs: for the steps `tokens` and `detokenise`.
#ifndef XSP_PIPELINES_SHARED_SENTENCE_PIECES_H_
#define XSP_PIPELINES_SHARED_SENTENCE_PIECES_H_

#include <sentencepiece_processor.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {

// Reads the model that the parameter `model` names. A fault is told by the parameters.
inline std::shared_ptr<const sentencepiece::SentencePieceProcessor> read_sentence_pieces(
    Parameters& parameters) {
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  const std::string path = parameters.text("model");
  if (path.empty()) return processor;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file.is_open() || content.str().empty()) {
    parameters.refuse("model", "no such file: its path is relative to the manifest's folder");
  } else if (!processor->LoadFromSerializedProto(content.str()).ok()) {
    parameters.refuse("model", "not a model of SentencePiece: give its file, such as spiece.model");
  }
  return processor;
}

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_SENTENCE_PIECES_H_
