#include "desk/store/samples.h"

#include <algorithm>
#include <deque>

#include "desk/store/appender.h"
#include "desk/store/duck.h"

namespace xsp::store {
namespace {

constexpr const char* kStates[] = {"ended", "running", "runnable", "waiting"};
constexpr const char* kLocks[] = {"", "held", "waited"};

bool is_in(const std::vector<correlate::TimeWindow>& windows, int64_t time_ns) {
  return windows.empty() || std::any_of(windows.begin(), windows.end(), [&](const auto& window) {
           return window.start_ns <= time_ns && time_ns < window.end_ns;
         });
}

// Appends the samples of one trace, row by row.
class SampleWriter {
 public:
  SampleWriter(TableAppender rows, int32_t run_id, const trace::Reader& reader, StackTree* tree,
               uint64_t& replaced_texts)
      : rows_(std::move(rows)),
        run_id_(run_id),
        reader_(reader),
        tree_(tree),
        replaced_texts_(replaced_texts) {}

  Status add(const trace::Sample& sample) {
    const int32_t stack = tree_->id_of(reader_.stacks(), sample.node, &known_);
    const std::string* waits_in = reader_.stacks().text(sample.waits_in);
    const size_t lock = std::min<size_t>(static_cast<size_t>(sample.lock), 2);
    rows_.column<int32_t>(0)[row_] = run_id_;
    rows_.column<int32_t>(1)[row_] = static_cast<int32_t>(reader_.process_id());
    rows_.column<int32_t>(2)[row_] = static_cast<int32_t>(sample.thread);
    rows_.column<int64_t>(3)[row_] = sample.time_ns;
    rows_.column<duckdb_string_t>(4)[row_] =
        borrow_text(kStates[static_cast<size_t>(sample.does) & 3]);
    rows_.column<duckdb_string_t>(5)[row_] = borrow_text(kLocks[lock]);
    rows_.set_null(5, row_, lock == 0);
    rows_.column<int32_t>(6)[row_] = stack;
    rows_.set_null(6, row_, stack == 0);
    rows_.column<duckdb_string_t>(7)[row_] = text(waits_in);
    rows_.set_null(7, row_, waits_in == nullptr);
    rows_.column<int64_t>(8)[row_] = sample.duration_ns;
    rows_.column<int64_t>(9)[row_] = static_cast<int64_t>(sample.system_ns);
    rows_.set_null(9, row_, !sample.has_cost);
    rows_.column<int64_t>(10)[row_] = static_cast<int64_t>(sample.faults);
    rows_.set_null(10, row_, !sample.has_cost);
    if (++row_ < rows_.capacity()) return Ok{};
    XSP_CHECK_OK(rows_.append(row_));
    row_ = 0;
    return Ok{};
  }
  Status close() {
    XSP_CHECK_OK(rows_.append(row_));
    return rows_.close();
  }

 private:
  duckdb_string_t text(const std::string* text) {
    if (text == nullptr) return borrow_text("");
    const auto [at, is_new] = texts_.try_emplace(text);
    if (is_new) at->second = BorrowedText(*text, replaced_texts_);
    return at->second.get();
  }

  TableAppender rows_;
  int32_t run_id_;
  const trace::Reader& reader_;
  StackTree* tree_;
  size_t row_ = 0;
  std::map<uint32_t, int32_t> known_;
  std::map<const std::string*, BorrowedText> texts_;
  uint64_t& replaced_texts_;
};

}  // namespace

int32_t StackTree::id_of(const trace::Stacks& stacks, uint32_t node,
                         std::map<uint32_t, int32_t>* known) {
  // Goes from the outermost frame inwards, because each frame needs its caller's id.
  std::vector<uint32_t> path;
  int32_t id = 0;
  for (const trace::StackNode* one = stacks.node(node); one != nullptr; one = stacks.node(node)) {
    const auto found = known->find(node);
    if (found != known->end()) {
      id = found->second;
      break;
    }
    path.push_back(node);
    node = one->parent;
  }
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const trace::StackNode& one = *stacks.node(*it);
    const auto [at, is_new] =
        ids_.try_emplace({id, one.is_native ? symbols_.name(one.file, one.offset) : one.function,
                          one.file, one.line, one.is_native},
                         static_cast<int32_t>(ids_.size()) + 1);
    if (is_new) frames_.push_back(&at->first);
    id = at->second;
    (*known)[*it] = id;
  }
  return id;
}

Status StackTree::insert(Database& database, int32_t run_id) const {
  Database::State& state = database.state();
  XSP_TRY(TableAppender rows, TableAppender::open(state.connection.get(), state.name, "stack"));
  std::deque<BorrowedText> texts;
  size_t row = 0;
  for (size_t i = 0; i < frames_.size(); ++i) {
    const auto& [parent, function, file, line, is_native] = *frames_[i];
    rows.column<int32_t>(0)[row] = run_id;
    rows.column<int32_t>(1)[row] = static_cast<int32_t>(i) + 1;
    rows.column<int32_t>(2)[row] = parent;
    rows.set_null(2, row, parent == 0);
    rows.column<duckdb_string_t>(3)[row] = texts.emplace_back(function, state.replaced_texts).get();
    rows.column<duckdb_string_t>(4)[row] = texts.emplace_back(file, state.replaced_texts).get();
    rows.set_null(4, row, file.empty());
    rows.column<int32_t>(5)[row] = line;
    rows.set_null(5, row, line == 0);
    rows.column<duckdb_string_t>(6)[row] = borrow_text(is_native ? "native" : "python");
    if (++row < rows.capacity()) continue;
    XSP_CHECK_OK(rows.append(row));
    row = 0;
    texts.clear();
  }
  XSP_CHECK_OK(rows.append(row));
  return rows.close();
}

Status insert_samples(Database& database, int32_t run_id, const trace::Reader& reader,
                      const RunTrace& trace, StackTree* tree) {
  if (reader.sample_chunk_count() == 0) return Ok{};
  Database::State& state = database.state();
  XSP_TRY(TableAppender rows, TableAppender::open(state.connection.get(), state.name, "sample"));
  SampleWriter writer(std::move(rows), run_id, reader, tree, state.replaced_texts);
  std::vector<trace::Sample> samples;
  for (size_t chunk = 0; chunk < reader.sample_chunk_count(); ++chunk) {
    XSP_CHECK_OK(reader.read_samples(chunk, &samples));
    for (const trace::Sample& sample : samples) {
      if (is_in(trace.windows, sample.time_ns)) XSP_CHECK_OK(writer.add(sample));
    }
  }
  return writer.close();
}

}  // namespace xsp::store
