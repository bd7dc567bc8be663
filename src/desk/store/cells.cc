// Converts DuckDB's vectors to cells. Values of types without their own cell type (dates, lists,
// structs, ...) are rebuilt as DuckDB values, and DuckDB formats their text.
#include <cstring>
#include <limits>

#include "desk/store/duck.h"

namespace xsp::store {

namespace {

bool is_null(duckdb_vector vector, idx_t row) {
  uint64_t* validity = duckdb_vector_get_validity(vector);
  return validity != nullptr && !duckdb_validity_row_is_valid(validity, row);
}

template <typename T>
T at(duckdb_vector vector, idx_t row) {
  return static_cast<const T*>(duckdb_vector_get_data(vector))[row];
}

std::string text_at(duckdb_vector vector, idx_t row) {
  auto* text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector)) + row;
  return std::string(duckdb_string_t_data(text), duckdb_string_t_length(*text));
}

// Reads an integer column, which DuckDB stores in the narrowest type that holds its range.
int64_t integer_at(duckdb_vector vector, duckdb_type storage, idx_t row) {
  switch (storage) {
    case DUCKDB_TYPE_TINYINT:
      return at<int8_t>(vector, row);
    case DUCKDB_TYPE_UTINYINT:
      return at<uint8_t>(vector, row);
    case DUCKDB_TYPE_SMALLINT:
      return at<int16_t>(vector, row);
    case DUCKDB_TYPE_USMALLINT:
      return at<uint16_t>(vector, row);
    case DUCKDB_TYPE_INTEGER:
      return at<int32_t>(vector, row);
    case DUCKDB_TYPE_UINTEGER:
      return at<uint32_t>(vector, row);
    default:
      return at<int64_t>(vector, row);
  }
}

duckdb_decimal decimal_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  duckdb_decimal decimal{};
  decimal.width = duckdb_decimal_width(type);
  decimal.scale = duckdb_decimal_scale(type);
  const duckdb_type storage = duckdb_decimal_internal_type(type);
  if (storage == DUCKDB_TYPE_HUGEINT) {
    decimal.value = at<duckdb_hugeint>(vector, row);
  } else {
    const int64_t value = integer_at(vector, storage, row);
    decimal.value.lower = static_cast<uint64_t>(value);
    decimal.value.upper = value < 0 ? -1 : 0;
  }
  return decimal;
}

CellValue value_at(duckdb_vector vector, duckdb_logical_type type, idx_t row);

CellValue list_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  const bool is_array = duckdb_get_type_id(type) == DUCKDB_TYPE_ARRAY;
  LogicalType child_type(is_array ? duckdb_array_type_child_type(type)
                                  : duckdb_list_type_child_type(type));
  duckdb_vector child =
      is_array ? duckdb_array_vector_get_child(vector) : duckdb_list_vector_get_child(vector);
  duckdb_list_entry entry{};
  if (is_array) {
    entry.length = duckdb_array_type_array_size(type);
    entry.offset = row * entry.length;
  } else {
    entry = at<duckdb_list_entry>(vector, row);
  }
  std::vector<CellValue> owned;
  std::vector<duckdb_value> values;
  values.reserve(entry.length + 1);  // a pointer is needed even for an empty list
  for (idx_t i = 0; i < entry.length; ++i) {
    owned.push_back(value_at(child, child_type.get(), entry.offset + i));
    values.push_back(owned.back().get());
  }
  return CellValue(is_array
                       ? duckdb_create_array_value(child_type.get(), values.data(), entry.length)
                       : duckdb_create_list_value(child_type.get(), values.data(), entry.length));
}

CellValue map_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  LogicalType key_type(duckdb_map_type_key_type(type));
  LogicalType value_type(duckdb_map_type_value_type(type));
  duckdb_vector entries = duckdb_list_vector_get_child(vector);
  const auto entry = at<duckdb_list_entry>(vector, row);
  std::vector<CellValue> owned;
  std::vector<duckdb_value> keys, values;
  keys.reserve(entry.length + 1);
  values.reserve(entry.length + 1);
  for (idx_t i = entry.offset; i < entry.offset + entry.length; ++i) {
    owned.push_back(value_at(duckdb_struct_vector_get_child(entries, 0), key_type.get(), i));
    keys.push_back(owned.back().get());
    owned.push_back(value_at(duckdb_struct_vector_get_child(entries, 1), value_type.get(), i));
    values.push_back(owned.back().get());
  }
  return CellValue(duckdb_create_map_value(type, keys.data(), values.data(), entry.length));
}

CellValue struct_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  std::vector<CellValue> owned;
  std::vector<duckdb_value> values;
  for (idx_t i = 0; i < duckdb_struct_type_child_count(type); ++i) {
    LogicalType child_type(duckdb_struct_type_child_type(type, i));
    owned.push_back(value_at(duckdb_struct_vector_get_child(vector, i), child_type.get(), row));
    values.push_back(owned.back().get());
  }
  return CellValue(duckdb_create_struct_value(type, values.data()));
}

CellValue union_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  const auto tag = at<uint8_t>(duckdb_struct_vector_get_child(vector, 0), row);
  LogicalType member_type(duckdb_union_type_member_type(type, tag));
  CellValue member =
      value_at(duckdb_struct_vector_get_child(vector, tag + 1u), member_type.get(), row);
  return CellValue(duckdb_create_union_value(type, tag, member.get()));
}

duckdb_value enum_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  const auto index = integer_at(vector, duckdb_enum_internal_type(type), row);
  return duckdb_create_enum_value(type, static_cast<uint64_t>(index));
}

duckdb_value blob_at(duckdb_vector vector, idx_t row) {
  const std::string bytes = text_at(vector, row);
  return duckdb_create_blob(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

duckdb_value bit_at(duckdb_vector vector, idx_t row) {
  std::string bytes = text_at(vector, row);
  return duckdb_create_bit({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
}

// DuckDB flips the highest bit of a stored UUID, so that it sorts as a signed number.
duckdb_value uuid_at(duckdb_vector vector, idx_t row) {
  const auto stored = at<duckdb_hugeint>(vector, row);
  return duckdb_create_uuid(
      {stored.lower, static_cast<uint64_t>(stored.upper) ^ (uint64_t{1} << 63)});
}

duckdb_value time_at(duckdb_vector vector, duckdb_type type, idx_t row) {
  switch (type) {
    case DUCKDB_TYPE_DATE:
      return duckdb_create_date(at<duckdb_date>(vector, row));
    case DUCKDB_TYPE_TIME:
      return duckdb_create_time(at<duckdb_time>(vector, row));
    case DUCKDB_TYPE_TIME_NS:
      return duckdb_create_time_ns(at<duckdb_time_ns>(vector, row));
    case DUCKDB_TYPE_TIME_TZ:
      return duckdb_create_time_tz_value(at<duckdb_time_tz>(vector, row));
    case DUCKDB_TYPE_TIMESTAMP:
      return duckdb_create_timestamp(at<duckdb_timestamp>(vector, row));
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return duckdb_create_timestamp_tz(at<duckdb_timestamp>(vector, row));
    case DUCKDB_TYPE_TIMESTAMP_S:
      return duckdb_create_timestamp_s(at<duckdb_timestamp_s>(vector, row));
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return duckdb_create_timestamp_ms(at<duckdb_timestamp_ms>(vector, row));
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return duckdb_create_timestamp_ns(at<duckdb_timestamp_ns>(vector, row));
    case DUCKDB_TYPE_INTERVAL:
      return duckdb_create_interval(at<duckdb_interval>(vector, row));
    default:
      return nullptr;
  }
}

// Makes a value of exactly the column's type: a union accepts no other.
duckdb_value integer_value_at(duckdb_vector vector, duckdb_type type, idx_t row) {
  switch (type) {
    case DUCKDB_TYPE_TINYINT:
      return duckdb_create_int8(at<int8_t>(vector, row));
    case DUCKDB_TYPE_UTINYINT:
      return duckdb_create_uint8(at<uint8_t>(vector, row));
    case DUCKDB_TYPE_SMALLINT:
      return duckdb_create_int16(at<int16_t>(vector, row));
    case DUCKDB_TYPE_USMALLINT:
      return duckdb_create_uint16(at<uint16_t>(vector, row));
    case DUCKDB_TYPE_INTEGER:
      return duckdb_create_int32(at<int32_t>(vector, row));
    case DUCKDB_TYPE_UINTEGER:
      return duckdb_create_uint32(at<uint32_t>(vector, row));
    default:
      return duckdb_create_int64(at<int64_t>(vector, row));
  }
}

CellValue scalar_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  const duckdb_type id = duckdb_get_type_id(type);
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
      return CellValue(duckdb_create_bool(at<bool>(vector, row)));
    case DUCKDB_TYPE_UBIGINT:
      return CellValue(duckdb_create_uint64(at<uint64_t>(vector, row)));
    case DUCKDB_TYPE_HUGEINT:
      return CellValue(duckdb_create_hugeint(at<duckdb_hugeint>(vector, row)));
    case DUCKDB_TYPE_UHUGEINT:
      return CellValue(duckdb_create_uhugeint(at<duckdb_uhugeint>(vector, row)));
    case DUCKDB_TYPE_FLOAT:
      return CellValue(duckdb_create_float(at<float>(vector, row)));
    case DUCKDB_TYPE_DOUBLE:
      return CellValue(duckdb_create_double(at<double>(vector, row)));
    case DUCKDB_TYPE_DECIMAL:
      return CellValue(duckdb_create_decimal(decimal_at(vector, type, row)));
    case DUCKDB_TYPE_ENUM:
      return CellValue(enum_at(vector, type, row));
    case DUCKDB_TYPE_UUID:
      return CellValue(uuid_at(vector, row));
    case DUCKDB_TYPE_BLOB:
      return CellValue(blob_at(vector, row));
    case DUCKDB_TYPE_BIT:
      return CellValue(bit_at(vector, row));
    case DUCKDB_TYPE_VARCHAR: {
      const std::string text = text_at(vector, row);
      return CellValue(duckdb_create_varchar_length(text.data(), text.size()));
    }
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_BIGINT:
      return CellValue(integer_value_at(vector, id, row));
    default:
      return CellValue(time_at(vector, id, row));
  }
}

CellValue value_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  if (is_null(vector, row)) return CellValue(duckdb_create_null_value());
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_LIST:
    case DUCKDB_TYPE_ARRAY:
      return list_at(vector, type, row);
    case DUCKDB_TYPE_MAP:
      return map_at(vector, type, row);
    case DUCKDB_TYPE_STRUCT:
      return struct_at(vector, type, row);
    case DUCKDB_TYPE_UNION:
      return union_at(vector, type, row);
    default:
      return scalar_at(vector, type, row);
  }
}

// Returns the text of a value whose type has no cell of its own, or its type's name if DuckDB has
// no text for it.
std::string rendered(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  CellValue value = value_at(vector, type, row);
  char* text = value ? duckdb_get_varchar(value.get()) : nullptr;
  if (text == nullptr) return "(" + type_name(duckdb_get_type_id(type)) + ")";
  std::string copy(text);
  duckdb_free(text);
  return copy;
}

Value cell_at(duckdb_vector vector, duckdb_logical_type type, idx_t row) {
  if (is_null(vector, row)) return std::monostate();
  const duckdb_type id = duckdb_get_type_id(type);
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
      return at<bool>(vector, row);
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_BIGINT:
      return integer_at(vector, id, row);
    case DUCKDB_TYPE_UBIGINT: {
      const auto value = at<uint64_t>(vector, row);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return static_cast<double>(value);
      }
      return static_cast<int64_t>(value);
    }
    case DUCKDB_TYPE_FLOAT:
      return static_cast<double>(at<float>(vector, row));
    case DUCKDB_TYPE_DOUBLE:
      return at<double>(vector, row);
    case DUCKDB_TYPE_HUGEINT:
      return duckdb_hugeint_to_double(at<duckdb_hugeint>(vector, row));
    case DUCKDB_TYPE_UHUGEINT:
      return duckdb_uhugeint_to_double(at<duckdb_uhugeint>(vector, row));
    case DUCKDB_TYPE_DECIMAL:
      return duckdb_decimal_to_double(decimal_at(vector, type, row));
    case DUCKDB_TYPE_VARCHAR:
      return text_at(vector, row);
    default:
      return rendered(vector, type, row);
  }
}

}  // namespace

std::string type_name(duckdb_type type) {
  static constexpr std::pair<duckdb_type, const char*> kNames[] = {
      {DUCKDB_TYPE_BOOLEAN, "BOOLEAN"},
      {DUCKDB_TYPE_TINYINT, "TINYINT"},
      {DUCKDB_TYPE_SMALLINT, "SMALLINT"},
      {DUCKDB_TYPE_INTEGER, "INTEGER"},
      {DUCKDB_TYPE_BIGINT, "BIGINT"},
      {DUCKDB_TYPE_UTINYINT, "UTINYINT"},
      {DUCKDB_TYPE_USMALLINT, "USMALLINT"},
      {DUCKDB_TYPE_UINTEGER, "UINTEGER"},
      {DUCKDB_TYPE_UBIGINT, "UBIGINT"},
      {DUCKDB_TYPE_FLOAT, "FLOAT"},
      {DUCKDB_TYPE_DOUBLE, "DOUBLE"},
      {DUCKDB_TYPE_HUGEINT, "HUGEINT"},
      {DUCKDB_TYPE_UHUGEINT, "UHUGEINT"},
      {DUCKDB_TYPE_DECIMAL, "DECIMAL"},
      {DUCKDB_TYPE_VARCHAR, "VARCHAR"},
      {DUCKDB_TYPE_BLOB, "BLOB"},
      {DUCKDB_TYPE_BIT, "BIT"},
      {DUCKDB_TYPE_UUID, "UUID"},
      {DUCKDB_TYPE_ENUM, "ENUM"},
      {DUCKDB_TYPE_DATE, "DATE"},
      {DUCKDB_TYPE_TIME, "TIME"},
      {DUCKDB_TYPE_TIME_NS, "TIME_NS"},
      {DUCKDB_TYPE_TIME_TZ, "TIME WITH TIME ZONE"},
      {DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP"},
      {DUCKDB_TYPE_TIMESTAMP_S, "TIMESTAMP_S"},
      {DUCKDB_TYPE_TIMESTAMP_MS, "TIMESTAMP_MS"},
      {DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"},
      {DUCKDB_TYPE_TIMESTAMP_TZ, "TIMESTAMP WITH TIME ZONE"},
      {DUCKDB_TYPE_INTERVAL, "INTERVAL"},
      {DUCKDB_TYPE_LIST, "LIST"},
      {DUCKDB_TYPE_ARRAY, "ARRAY"},
      {DUCKDB_TYPE_STRUCT, "STRUCT"},
      {DUCKDB_TYPE_MAP, "MAP"},
      {DUCKDB_TYPE_UNION, "UNION"},
      {DUCKDB_TYPE_SQLNULL, "NULL"},
  };
  for (const auto& [id, name] : kNames) {
    if (id == type) return name;
  }
  return "UNKNOWN";
}

ResultRows::ResultRows(duckdb_result& result) : result_(result) {
  const idx_t columns = duckdb_column_count(&result);
  for (idx_t c = 0; c < columns; ++c) {
    types_.emplace_back(duckdb_column_logical_type(&result, c));
    columns_.push_back(
        {duckdb_column_name(&result, c), type_name(duckdb_get_type_id(types_.back().get()))});
  }
}

bool ResultRows::next(std::vector<std::vector<Value>>* rows) {
  rows->clear();
  Chunk chunk(duckdb_fetch_chunk(result_));
  if (!chunk) return false;
  rows->resize(duckdb_data_chunk_get_size(chunk.get()));
  for (auto& row : *rows) row.reserve(types_.size());
  for (idx_t c = 0; c < types_.size(); ++c) {
    duckdb_vector vector = duckdb_data_chunk_get_vector(chunk.get(), c);
    for (size_t r = 0; r < rows->size(); ++r) {
      (*rows)[r].push_back(cell_at(vector, types_[c].get(), r));
    }
  }
  return true;
}

Status ResultRows::check(std::string_view name) const {
  const char* message = duckdb_result_error(&result_);
  if (message == nullptr || *message == '\0') return Ok{};
  return query_error(name, message);
}

}  // namespace xsp::store
