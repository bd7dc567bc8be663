#include "desk/store/appender.h"

#include <cstring>

namespace xsp::store {

namespace {

constexpr size_t kInlineBytes = 12;

}  // namespace

duckdb_string_t borrow_text(std::string_view text) {
  duckdb_string_t result;
  std::memset(&result, 0, sizeof result);
  if (text.size() <= kInlineBytes) {
    result.value.inlined.length = static_cast<uint32_t>(text.size());
    std::memcpy(result.value.inlined.inlined, text.data(), text.size());
  } else {
    result.value.pointer.length = static_cast<uint32_t>(text.size());
    std::memcpy(result.value.pointer.prefix, text.data(), sizeof result.value.pointer.prefix);
    result.value.pointer.ptr = const_cast<char*>(text.data());
  }
  return result;
}

Result<TableAppender> TableAppender::open(duckdb_connection connection, const std::string& name,
                                          const std::string& table) {
  TableAppender result;
  result.name_ = name;
  const duckdb_state state =
      duckdb_appender_create(connection, nullptr, table.c_str(), result.appender_.out());
  XSP_CHECK_OK(result.check(state));
  std::vector<LogicalType> types;
  std::vector<duckdb_logical_type> raw_types;
  const idx_t columns = duckdb_appender_column_count(result.appender_.get());
  for (idx_t i = 0; i < columns; ++i) {
    types.emplace_back(duckdb_appender_column_type(result.appender_.get(), i));
    raw_types.push_back(types.back().get());
  }
  *result.chunk_.out() = duckdb_create_data_chunk(raw_types.data(), columns);
  result.capacity_ = duckdb_vector_size();
  for (idx_t i = 0; i < columns; ++i) {
    duckdb_vector vector = duckdb_data_chunk_get_vector(result.chunk_.get(), i);
    result.data_.push_back(duckdb_vector_get_data(vector));
  }
  return result;
}

Status TableAppender::check(duckdb_state state) {
  if (state == DuckDBSuccess) return Ok{};
  const char* message = appender_ ? duckdb_appender_error(appender_.get()) : nullptr;
  return query_error(name_, message != nullptr ? message : "out of memory");
}

void TableAppender::set_null(size_t index, size_t row, bool is_null) {
  duckdb_vector vector = duckdb_data_chunk_get_vector(chunk_.get(), index);
  duckdb_vector_ensure_validity_writable(vector);
  duckdb_validity_set_row_validity(duckdb_vector_get_validity(vector), row, !is_null);
}

duckdb_type TableAppender::type(size_t index) const {
  LogicalType type(duckdb_appender_column_type(appender_.get(), index));
  return duckdb_get_type_id(type.get());
}

Status TableAppender::append(size_t rows) {
  if (rows == 0) return Ok{};
  duckdb_data_chunk_set_size(chunk_.get(), rows);
  return check(duckdb_append_data_chunk(appender_.get(), chunk_.get()));
}

Status TableAppender::close() {
  XSP_CHECK_OK(check(duckdb_appender_close(appender_.get())));
  appender_.reset();
  return Ok{};
}

FactAppender::FactAppender(TableAppender appender)
    : appender_(std::move(appender)),
      has_wide_ids_(appender_.type(1) == DUCKDB_TYPE_BIGINT),
      texts_(appender_.capacity()) {}

void FactAppender::set_id(int64_t id) {
  if (has_wide_ids_) {
    appender_.column<int64_t>(1)[rows_] = id;
  } else {
    appender_.column<int32_t>(1)[rows_] = static_cast<int32_t>(id);
  }
}

Result<FactAppender> FactAppender::open(duckdb_connection connection, const std::string& name,
                                        const std::string& table) {
  XSP_TRY(TableAppender appender, TableAppender::open(connection, name, table));
  return FactAppender(std::move(appender));
}

Status FactAppender::add(int32_t run, int64_t id, duckdb_string_t key, std::string value) {
  texts_[rows_] = std::move(value);
  appender_.column<int32_t>(0)[rows_] = run;
  set_id(id);
  appender_.column<duckdb_string_t>(2)[rows_] = key;
  appender_.column<duckdb_string_t>(3)[rows_] = borrow_text(texts_[rows_]);
  return next();
}

Status FactAppender::add(int32_t run, int64_t id, duckdb_string_t key, double value) {
  appender_.column<int32_t>(0)[rows_] = run;
  set_id(id);
  appender_.column<duckdb_string_t>(2)[rows_] = key;
  appender_.column<double>(3)[rows_] = value;
  return next();
}

Status FactAppender::next() {
  if (++rows_ < appender_.capacity()) return Ok{};
  rows_ = 0;
  return appender_.append(appender_.capacity());
}

Status FactAppender::close() {
  XSP_CHECK_OK(appender_.append(rows_));
  rows_ = 0;
  return appender_.close();
}

}  // namespace xsp::store
