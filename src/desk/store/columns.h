// Columns lets a query and the reader of its rows have one list: each entry has the SQL of a column
// and the member of a struct that it fills, so that no row is read by position.
#ifndef XSP_DESK_STORE_COLUMNS_H_
#define XSP_DESK_STORE_COLUMNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "desk/store/database.h"

namespace xsp::store {

template <typename Row>
struct ReadColumn {
  const char* sql;
  void (*read)(const Value& cell, Row* row);
};

// Returns the list for SELECT: the columns, with commas between them.
template <typename Row, size_t N>
std::string select_list(const ReadColumn<Row> (&columns)[N]) {
  std::string list;
  for (const ReadColumn<Row>& column : columns) {
    if (!list.empty()) list += ", ";
    list += column.sql;
  }
  return list;
}

// Reads one row of a query whose SELECT begins with these columns.
template <typename Row, size_t N>
Row read_row(const ReadColumn<Row> (&columns)[N], const std::vector<Value>& cells) {
  Row row;
  for (size_t i = 0; i < N; ++i) columns[i].read(cells[i], &row);
  return row;
}

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_COLUMNS_H_
