// Reads a list of files and their labels: a line for each, with tabs or commas between the two.
//
// Fields may be quoted as in CSV (RFC 4180): "a,b", and "" stands for a quote; in a list with tabs
// they are taken as they are. A first line `file,label` is a heading. Empty lines are left out.
#ifndef XSP_FORMATS_LIST_LABELLED_FILES_H_
#define XSP_FORMATS_LIST_LABELLED_FILES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::formats {

inline constexpr size_t kLabelledFilesMax = 10'000'000;

struct LabelledFile {
  std::string file;
  std::string label;
  int line = 0;
};

// `name` is the list's own, for errors, which begin with "NAME:LINE: ". No file and no label is
// empty, and none has a control character.
Result<std::vector<LabelledFile>> parse_labelled_files(std::string_view text,
                                                       const std::string& name);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_LIST_LABELLED_FILES_H_
