// The texts of analyses/*.sql and analyses/*/*.sql, which the build compiles in
// (cmake/embed_catalogue.cmake).
#ifndef XSP_DESK_ANALYZE_EMBEDDED_H_
#define XSP_DESK_ANALYZE_EMBEDDED_H_

#include <string_view>
#include <vector>

namespace xsp::analyze {

struct EmbeddedSql {
  std::string_view name;  // the path below analyses/, without its ending
  std::string_view text;
};

const std::vector<EmbeddedSql>& embedded_sql();

}  // namespace xsp::analyze

#endif  // XSP_DESK_ANALYZE_EMBEDDED_H_
