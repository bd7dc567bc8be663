#include "desk/catalogue/catalogue.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "desk/catalogue/reading.h"
#include "desk/catalogue/schema.h"
#include "desk/store/values.h"

namespace xsp::catalogue {
namespace {

namespace fs = std::filesystem;
using store::Value;

Value number_or_null(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

std::string json_of(const std::map<std::string, std::string>& facts) {
  return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string joined(const std::string& name, const std::string& version) {
  return version.empty() ? name : name + " " + version;
}

// Returns a name for people: the GPU if there is one, and the processor.
std::string system_name(const std::map<std::string, std::string>& facts) {
  const auto fact = [&](const char* key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
  };
  const std::string cpu = fact("machine.cpu");
  const std::string processors = fact("machine.processors");
  std::string name = fact("gpu.0.name");
  if (!cpu.empty()) name += (name.empty() ? "" : ", ") + cpu;
  if (!processors.empty()) name += ", " + processors + " processors";
  return name.empty() ? "not known" : name;
}

// Adds the rows that several evaluations share.
Status add_subjects(Engine& engine, const FileFigures& file) {
  XSP_CHECK_OK(
      run(engine, "INSERT INTO model VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
          {joined(file.model, file.model_version), file.model, text_or_null(file.model_version)}));
  XSP_CHECK_OK(run(engine, "INSERT INTO framework VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                   {joined(file.framework, file.framework_version), file.framework,
                    text_or_null(file.framework_version)}));
  XSP_CHECK_OK(run(engine, "INSERT INTO system VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                   {fingerprint_of(file.system), system_name(file.system), json_of(file.system)}));
  if (file.dataset.empty()) return Ok{};
  return run(engine, "INSERT INTO dataset(id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
             {file.dataset, file.dataset});
}

// Adds the figures by one statement, which on a server costs one round trip.
Status add_figures(Engine& engine, const std::string& id, const std::vector<Figure>& figures) {
  if (figures.empty()) return Ok{};
  std::string sql =
      "INSERT INTO result(evaluation, metric, value, word, low, high, unit, levels, doubt, note) "
      "VALUES ";
  Cells cells;
  for (const Figure& one : figures) {
    sql += cells.empty() ? "(" : ", (";
    for (const Value& cell :
         {Value(id), Value(one.metric), number_or_null(one.value), text_or_null(one.word),
          number_or_null(one.low), number_or_null(one.high), Value(one.unit),
          text_or_null(one.levels), text_or_null(one.doubt), text_or_null(one.note)}) {
      cells.push_back(cell);
      sql += (sql.back() == '(' ? "$" : ", $") + std::to_string(cells.size());
    }
    sql += ")";
  }
  return run(engine, sql, cells);
}

// Removes subjects of which no evaluation is left.
Status drop_unused(Engine& engine) {
  for (const char* sql :
       {"DELETE FROM model WHERE NOT EXISTS (SELECT 1 FROM evaluation e WHERE e.model = model.id)",
        "DELETE FROM framework WHERE NOT EXISTS (SELECT 1 FROM evaluation e "
        "WHERE e.framework = framework.id)",
        "DELETE FROM system WHERE NOT EXISTS (SELECT 1 FROM evaluation e "
        "WHERE e.system = system.fingerprint)",
        "DELETE FROM dataset WHERE NOT EXISTS (SELECT 1 FROM evaluation e "
        "WHERE e.dataset = dataset.id)"}) {
    XSP_CHECK_OK(run(engine, sql));
  }
  return Ok{};
}

fs::path folder_of(const std::string& place) {
  if (is_server(place)) return {};
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(place), error).parent_path();
}

// Fails if no file is there that may be a catalogue.
Status check_place(const std::string& place) {
  std::error_code error;
  if (is_server(place) || fs::exists(place, error)) return Ok{};
  return failed(place + ": no catalogue is there: name the file of one, or make it with xsp " +
                "catalogue add FOLDER --db " + place);
}

}  // namespace

Result<Migrated> migrate(const std::string& place) {
  XSP_CHECK_OK(check_place(place));
  XSP_TRY(const std::unique_ptr<Engine> engine, open_engine(place, false));
  const Result<int64_t> version = version_of(*engine);
  if (!version.ok()) return check_schema(*engine, place).error();
  XSP_CHECK_OK(migrate(*engine));
  return Migrated{static_cast<int>(*version), schema_version()};
}

Result<Catalogue> Catalogue::open(const std::string& place) {
  XSP_TRY(std::unique_ptr<Engine> engine, open_engine(place, false));
  XSP_CHECK_OK(migrate(*engine));
  return Catalogue(std::move(engine), folder_of(place));
}

Result<Catalogue> Catalogue::open_for_reading(const std::string& place) {
  XSP_CHECK_OK(check_place(place));
  XSP_TRY(std::unique_ptr<Engine> engine, open_engine(place, true));
  XSP_CHECK_OK(check_schema(*engine, place));
  return Catalogue(std::move(engine), folder_of(place));
}

std::string Catalogue::name_of(const fs::path& path) const {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  if (folder_.empty()) return whole.generic_string();
  const fs::path below = whole.lexically_relative(folder_);
  return below.empty() || *below.begin() == ".." ? whole.generic_string() : below.generic_string();
}

fs::path Catalogue::path_of(const std::string& file) const { return folder_ / file; }

Status Catalogue::forget(const std::string& name) {
  XSP_CHECK_OK(run(*engine_,
                   "DELETE FROM result WHERE evaluation IN "
                   "(SELECT id FROM evaluation WHERE file = $1)",
                   {name}));
  return run(*engine_, "DELETE FROM evaluation WHERE file = $1", {name});
}

Status Catalogue::add_one(const std::string& name, const FileFigures& file) {
  // Equal files are one: the catalogue names the first that exists.
  XSP_TRY(const store::Table same,
          engine_->query("SELECT file FROM evaluation WHERE sha256 = $1", {file.sha256}));
  if (!same.rows.empty()) {
    const std::string known = store::text_of(same.rows[0][0]);
    std::error_code error;
    if (known == name || (known < name && fs::exists(path_of(known), error))) return Ok{};
    return run(*engine_, "UPDATE evaluation SET file = $1 WHERE sha256 = $2", {name, file.sha256});
  }
  XSP_TRY(const store::Table old,
          engine_->query("SELECT count(*) FROM evaluation WHERE file = $1", {name}));
  const bool is_changed = store::int_of(old.rows[0][0]) > 0;
  if (is_changed) XSP_CHECK_OK(forget(name));
  XSP_CHECK_OK(add_subjects(*engine_, file));
  for (const Evaluation& one : file.evaluations) {
    const std::string id = file.sha256.substr(0, 24) + "-" + std::to_string(one.batch);
    XSP_CHECK_OK(run(
        *engine_,
        "INSERT INTO evaluation(id, model, framework, system, dataset, scenario, device, "
        "batch, started_at, facts, file, sha256, task) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        {id, joined(file.model, file.model_version), joined(file.framework, file.framework_version),
         fingerprint_of(file.system), text_or_null(file.dataset), file.scenario, file.device,
         one.batch, text_or_null(file.started_at), json_of(file.facts), name, file.sha256,
         text_or_null(file.task)}));
    XSP_CHECK_OK(add_figures(*engine_, id, one.figures));
  }
  return is_changed ? drop_unused(*engine_) : Status(Ok{});
}

Result<Added> Catalogue::add(const std::vector<fs::path>& paths, const Progress& progress) {
  XSP_TRY(const std::vector<fs::path> files, files_of(paths));
  XSP_TRY(const store::Table table, engine_->query("SELECT DISTINCT sha256, file FROM evaluation"));
  std::set<std::pair<std::string, std::string>> known;
  for (const auto& row : table.rows) {
    known.emplace(store::text_of(row[0]), store::text_of(row[1]));
  }
  Added added;
  size_t done = 0;
  const auto is_known = [&](const fs::path& path, const std::string& sha256) {
    return known.count({sha256, name_of(path)}) != 0;
  };
  const Status is_read =
      read_files(files, is_known, [&](const fs::path& path, const Reading& one) -> Status {
        if (!one.problem.empty()) {
          added.problems.push_back(path.string() + ": " + one.problem);
        } else if (one.is_known) {
          ++added.unchanged;
        } else {
          XSP_CHECK_OK(write_whole(*engine_, [&] { return add_one(name_of(path), one.figures); }));
          ++added.added;
        }
        if (progress) progress(++done, files.size());
        return Ok{};
      });
  if (!is_read.ok()) return is_read.error();
  return added;
}

Result<Added> Catalogue::rebuild(const fs::path& folder, const Progress& progress) {
  XSP_TRY(const std::vector<fs::path> files, files_of({folder}));
  Added added;
  std::vector<std::pair<std::string, FileFigures>> all;
  const auto is_known = [](const fs::path&, const std::string&) { return false; };
  size_t done = 0;
  const Status is_read =
      read_files(files, is_known, [&](const fs::path& path, const Reading& one) -> Status {
        if (!one.problem.empty()) {
          added.problems.push_back(path.string() + ": " + one.problem);
        } else {
          all.emplace_back(name_of(path), one.figures);
        }
        if (progress) progress(++done, files.size());
        return Ok{};
      });
  if (!is_read.ok()) return is_read.error();
  const Status written = write_whole(*engine_, [&]() -> Status {
    for (const char* table : {"result", "evaluation"}) {
      XSP_CHECK_OK(run(*engine_, std::string("DELETE FROM ") + table));
    }
    XSP_CHECK_OK(drop_unused(*engine_));
    for (const auto& [name, figures] : all) XSP_CHECK_OK(add_one(name, figures));
    return Ok{};
  });
  if (!written.ok()) return written.error();
  added.added = all.size();
  return added;
}

Result<store::Table> Catalogue::query(std::string_view sql, const Cells& parameters) {
  XSP_CHECK_OK(engine_->begin_read());
  Result<store::Table> answer = engine_->query(sql, parameters);
  (void)engine_->query("ROLLBACK");
  return answer;
}

Result<std::vector<fs::path>> files_of(const std::vector<fs::path>& paths) {
  std::set<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (!fs::exists(path, error)) return failed(path.string() + ": no such file or folder");
      files.insert(path);
      continue;
    }
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
    if (error) return failed(path.string() + ": " + error.message());
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      const bool is_file = at->path().extension() == ".xsp" && at->is_regular_file(ignored);
      if (is_file && !at->is_symlink(ignored)) files.insert(at->path());
    }
    if (error) return failed(path.string() + ": " + error.message());
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

}  // namespace xsp::catalogue
