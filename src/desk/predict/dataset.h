// A data set: files, and the right label of each.
#ifndef XSP_DESK_PREDICT_DATASET_H_
#define XSP_DESK_PREDICT_DATASET_H_

#include <map>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::predict {

struct Item {
  std::string file;
  std::string label;  // empty: not known
  std::string place;  // where the label stands, for errors: "set.csv:3"
};

// Reads a folder with a folder for each label, in whose folders files are found, too; or a list of
// files and labels (formats/list), whose paths are relative to it. Items of a folder are ordered by
// name, and names that begin with a dot are left out. Every file is there.
Result<std::vector<Item>> read_dataset(const std::string& path);
// Fails if an item's label is none of these.
Status check_labels(const std::vector<Item>& items, const std::vector<std::string>& labels);

// Returns the facts that name the data set: `dataset.name`, the last part of its path, and
// `dataset.sha256`, a hash of its files' contents and labels. Where they lie, their names and their
// order change no score, so they change no hash.
Result<std::map<std::string, std::string>> facts_of_dataset(const std::string& path,
                                                            const std::vector<Item>& items);

}  // namespace xsp::predict

#endif  // XSP_DESK_PREDICT_DATASET_H_
