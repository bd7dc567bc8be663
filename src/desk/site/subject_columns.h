// Subject columns: the columns of a table that say which entry a row is about. What all entries of
// a page have in common stands once above its tables, and has no column.
#ifndef XSP_DESK_SITE_SUBJECT_COLUMNS_H_
#define XSP_DESK_SITE_SUBJECT_COLUMNS_H_

#include <string>
#include <vector>

#include "desk/site/entries.h"
#include "desk/site/html.h"

namespace xsp::site {

class SubjectColumns {
 public:
  // `root` leads from the page to the index: "" or "../". A page about one model has no column for
  // it.
  SubjectColumns(const std::vector<const Entry*>& entries, const std::string& root, bool has_model);

  // Returns a sentence about what is common, or nothing. Without entries, it says so.
  const std::string& lead() const { return lead_; }
  // Returns the heads of the columns, and then `others`.
  std::vector<std::string> heads(const std::vector<std::string>& others) const;
  std::vector<Cell> cells(const Entry& entry) const;

 private:
  Cell system_cell(const Known& one) const;

  std::string root_;
  bool has_model_;
  bool has_framework_ = false, has_system_ = false, has_scenario_ = false;
  std::string lead_;
};

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_SUBJECT_COLUMNS_H_
