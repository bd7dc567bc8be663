// The temporary file holds blocks of at most kBlockSpans spans. Each block is
//
//   u64 bytes of the block, u32 spans, u32 values,
//   the columns of SpanBatch one after the other, as they lie in memory,
//   for each value: u32 span, u32 key, u32 kind, u32 bytes of its text, i64, f64, the text
//
// The process that wrote the file also reads it, so it has no marks, versions or checksums.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>

#include "desk/correlate/feed.h"

namespace xsp::correlate {

namespace {

constexpr size_t kBlockSpans = 4096;

Error spill_error(const char* what) {
  return failed(std::string("sorting spans: cannot ") + what +
                " a temporary file: " + std::strerror(errno) + ": free space in " +
                std::filesystem::temp_directory_path().string() + ", or set TMPDIR");
}

template <typename T>
void put(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void put_column(std::string* out, const std::vector<T>& column, const uint32_t* rows,
                size_t count) {
  for (size_t i = 0; i < count; ++i) put(out, column[rows[i]]);
}

template <typename T>
const char* get_column(const char* at, size_t count, std::vector<T>* column) {
  column->resize(count);
  std::memcpy(column->data(), at, count * sizeof(T));
  return at + count * sizeof(T);
}

template <typename T>
const char* get(const char* at, T* value) {
  std::memcpy(value, at, sizeof *value);
  return at + sizeof *value;
}

void put_value(std::string* out, uint32_t span, const trace::SpanValue& value) {
  put(out, span);
  put(out, value.key);
  put(out, value.kind);
  put(out, static_cast<uint32_t>(value.as_text.size()));
  put(out, value.as_int);
  put(out, value.as_double);
  out->append(value.as_text);
}

const char* get_value(const char* at, trace::SpanValue* value) {
  uint32_t length = 0;
  at = get(at, &value->span);
  at = get(at, &value->key);
  at = get(at, &value->kind);
  at = get(at, &length);
  at = get(at, &value->as_int);
  at = get(at, &value->as_double);
  value->as_text.assign(at, length);
  return at + length;
}

void append(trace::SpanBatch* to, trace::SpanBatch& from) {
  const auto offset = static_cast<uint32_t>(to->size());
  auto add = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
  add(to->start_ns, from.start_ns);
  add(to->end_ns, from.end_ns);
  add(to->site, from.site);
  add(to->thread, from.thread);
  add(to->correlation_id, from.correlation_id);
  add(to->device, from.device);
  add(to->stream, from.stream);
  for (trace::SpanValue& value : from.values) {
    value.span += offset;
    to->values.push_back(std::move(value));
  }
}

void put_block(std::string* out, const trace::SpanBatch& batch, const uint32_t* rows, size_t count,
               const std::vector<uint32_t>& first_value) {
  out->assign(sizeof(uint64_t), '\0');
  uint32_t values = 0;
  for (size_t i = 0; i < count; ++i) values += first_value[rows[i] + 1] - first_value[rows[i]];
  put(out, static_cast<uint32_t>(count));
  put(out, values);
  put_column(out, batch.start_ns, rows, count);
  put_column(out, batch.end_ns, rows, count);
  put_column(out, batch.site, rows, count);
  put_column(out, batch.thread, rows, count);
  put_column(out, batch.correlation_id, rows, count);
  put_column(out, batch.device, rows, count);
  put_column(out, batch.stream, rows, count);
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t v = first_value[rows[i]]; v < first_value[rows[i] + 1]; ++v) {
      put_value(out, static_cast<uint32_t>(i), batch.values[v]);
    }
  }
  const uint64_t bytes = out->size();
  std::memcpy(out->data(), &bytes, sizeof bytes);
}

void get_block(const std::string& block, trace::SpanBatch* batch) {
  uint32_t count = 0, values = 0;
  const char* at = block.data() + sizeof(uint64_t);
  at = get(at, &count);
  at = get(at, &values);
  at = get_column(at, count, &batch->start_ns);
  at = get_column(at, count, &batch->end_ns);
  at = get_column(at, count, &batch->site);
  at = get_column(at, count, &batch->thread);
  at = get_column(at, count, &batch->correlation_id);
  at = get_column(at, count, &batch->device);
  at = get_column(at, count, &batch->stream);
  batch->values.resize(values);
  for (trace::SpanValue& value : batch->values) at = get_value(at, &value);
}

class File {
 public:
  Status open() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    std::string name = ((error ? "/tmp" : folder) / "xsp-sort-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) return spill_error("make");
    unlink(name.c_str());
    return Ok{};
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status append(const std::string& bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n = pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(size_ + done));
      if (n <= 0 && errno != EINTR) return spill_error("write");
      if (n > 0) done += static_cast<size_t>(n);
    }
    size_ += bytes.size();
    return Ok{};
  }
  Status read(uint64_t at, char* bytes, size_t count) const {
    for (size_t done = 0; done < count;) {
      const ssize_t n =
          pread(descriptor_, bytes + done, count - done, static_cast<off_t>(at + done));
      if (n == 0 || (n < 0 && errno != EINTR)) return spill_error("read");
      if (n > 0) done += static_cast<size_t>(n);
    }
    return Ok{};
  }
  uint64_t size() const { return size_; }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// One sorted piece.
class PieceFeed final : public Feed {
 public:
  PieceFeed(std::shared_ptr<File> file, bool given_times)
      : file_(std::move(file)), given_times_(given_times) {}

  // Sorts the batch and writes it to the file.
  Status write(const trace::SpanBatch& batch, const std::vector<uint8_t>& levels);

  size_t batch_count() const override { return places_.size(); }
  Result<bool> read(size_t index, trace::SpanBatch* batch) const override {
    batch->clear();
    uint64_t bytes = 0;
    XSP_CHECK_OK(file_->read(places_[index], reinterpret_cast<char*>(&bytes), sizeof bytes));
    std::string block(bytes, '\0');
    XSP_CHECK_OK(file_->read(places_[index], block.data(), bytes));
    get_block(block, batch);
    return true;
  }
  Status scan(size_t index, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override {
    trace::SpanBatch batch;
    XSP_TRY([[maybe_unused]] const bool is_read, read(index, &batch));
    trace::append_block_times(batch, block_spans, blocks);
    return Ok{};
  }
  bool given_times() const override { return given_times_; }

 private:
  std::shared_ptr<File> file_;
  bool given_times_;
  std::vector<uint64_t> places_;  // positions of the blocks in the file
};

Status PieceFeed::write(const trace::SpanBatch& batch, const std::vector<uint8_t>& levels) {
  std::vector<uint32_t> rows(batch.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return compare_ends(extent_at(batch, a, levels, true), extent_at(batch, b, levels, true)) < 0;
  });
  const std::vector<uint32_t> first_value = index_values(batch);
  std::string block;
  for (size_t i = 0; i < rows.size(); i += kBlockSpans) {
    put_block(&block, batch, rows.data() + i, std::min(kBlockSpans, rows.size() - i), first_value);
    places_.push_back(file_->size());
    XSP_CHECK_OK(file_->append(block));
  }
  return Ok{};
}

}  // namespace

Result<SortedStream> sort_stream(const Source& source, size_t stream, size_t piece_spans) {
  const std::shared_ptr<const Feed> feed = feed_stream(source, stream);
  auto file = std::make_shared<File>();
  XSP_CHECK_OK(file->open());
  SortedStream result;
  trace::SpanBatch batch, piece;
  const size_t count = feed->batch_count();
  for (size_t i = 0; i <= count; ++i) {
    batch.clear();
    if (i < count) {
      XSP_TRY(const bool is_read, feed->read(i, &batch));
      result.damaged_chunks += is_read ? 0 : 1;
    }
    if (piece.size() > 0 && (i == count || piece.size() + batch.size() > piece_spans)) {
      auto sorted = std::make_shared<PieceFeed>(file, feed->given_times());
      XSP_CHECK_OK(sorted->write(piece, source.site_levels()));
      result.pieces.push_back(std::move(sorted));
      piece.clear();
    }
    append(&piece, batch);
  }
  return result;
}

}  // namespace xsp::correlate
