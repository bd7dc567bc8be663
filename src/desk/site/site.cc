#include "desk/site/site.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "desk/site/addresses.h"
#include "desk/site/html.h"
#include "desk/site/pages.h"

namespace xsp::site {
namespace {

namespace fs = std::filesystem;

// Marks a folder as one that xsp wrote.
constexpr const char* kMark = "style.css";

Status write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return Ok{};
  return failed(path.string() + ": cannot be written: is there room, and may you write there?");
}

// Makes the folder, and removes the pages of an earlier site.
Status prepare(const fs::path& folder) {
  std::error_code error;
  const bool is_there = fs::exists(folder, error) && !fs::is_empty(folder, error);
  if (is_there && !fs::exists(folder / kMark, error)) {
    return failed(folder.string() +
                  ": is not empty, and xsp did not write it: name another with -o");
  }
  for (const char* name : {"models", "systems"}) {
    if (is_there) fs::remove_all(folder / name, error);
    fs::create_directories(folder / name, error);
    if (error) return failed((folder / name).string() + ": " + error.message());
  }
  return Ok{};
}

// Writes the pages over all models, and returns their number.
Result<size_t> write_overall(const std::vector<Known>& all, const std::vector<Entry>& entries,
                             const fs::path& folder) {
  std::vector<const Entry*> each;
  for (const Entry& entry : entries) each.push_back(&entry);
  const SubjectColumns subject(each, root_of(kIndexPage), true);
  const Overall overall{all, entries, subject};
  const std::pair<const char*, std::string (*)(const Overall&)> pages[] = {
      {kIndexPage, index_page},   {kBatchesPage, batches_page}, {kFrameworksPage, frameworks_page},
      {kEnergyPage, energy_page}, {kLoadsPage, loads_page},
  };
  for (const auto& [address, text] : pages) {
    XSP_CHECK_OK(write_file(folder / address, text(overall)));
  }
  return std::size(pages);
}

}  // namespace

Result<Written> write_site(catalogue::Catalogue& catalogue, const fs::path& folder) {
  XSP_TRY(const std::vector<Known> all, catalogue::load(catalogue));
  const std::vector<Entry> entries = entries_of(all);
  XSP_CHECK_OK(prepare(folder));
  XSP_CHECK_OK(write_file(folder / kMark, std::string(kThemeCss) + std::string(kSiteCss)));
  XSP_CHECK_OK(write_file(folder / "site.js", std::string(kSiteJs)));
  XSP_TRY(const size_t overall, write_overall(all, entries, folder));
  Written written{overall, all.size()};
  std::map<std::string, std::vector<const Entry*>> models, systems;
  for (const Entry& entry : entries) {
    models[entry.any().model].push_back(&entry);
    systems[entry.any().fingerprint].push_back(&entry);
  }
  for (const auto& [model, of] : models) {
    XSP_CHECK_OK(write_file(folder / model_page(model), model_page_text(all, of)));
    ++written.pages;
  }
  XSP_TRY(const std::vector<catalogue::Drift> drifts, catalogue::drifts(catalogue));
  for (const auto& [fingerprint, of] : systems) {
    std::vector<catalogue::Drift> own;
    std::copy_if(drifts.begin(), drifts.end(), std::back_inserter(own),
                 [&](const catalogue::Drift& one) { return one.fingerprint == fingerprint; });
    std::vector<const Entry*> others;
    for (const auto& [other, its] : systems) {
      if (other != fingerprint) others.push_back(its.front());
    }
    XSP_CHECK_OK(write_file(folder / system_page(fingerprint), system_page_text(of, others, own)));
    ++written.pages;
  }
  return written;
}

}  // namespace xsp::site
