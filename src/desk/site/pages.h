// Pages: the text of each page. For src/desk/site alone.
#ifndef XSP_DESK_SITE_PAGES_H_
#define XSP_DESK_SITE_PAGES_H_

#include <string>
#include <vector>

#include "desk/catalogue/drift.h"
#include "desk/site/entries.h"
#include "desk/site/subject_columns.h"

namespace xsp::site {

// A page over all models shows these evaluations.
struct Overall {
  const std::vector<Known>& all;
  const std::vector<Entry>& entries;
  const SubjectColumns& subject;
};
std::string index_page(const Overall& of);
std::string batches_page(const Overall& of);
std::string frameworks_page(const Overall& of);
std::string energy_page(const Overall& of);
std::string loads_page(const Overall& of);

// `of` has the entries of the model, of which there is at least one.
std::string model_page_text(const std::vector<Known>& all, const std::vector<const Entry*>& of);
// `of` has the entries of the system, `others` one entry of each other system, and `drifts` the
// references of this one.
std::string system_page_text(const std::vector<const Entry*>& of,
                             const std::vector<const Entry*>& others,
                             const std::vector<catalogue::Drift>& drifts);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_PAGES_H_
