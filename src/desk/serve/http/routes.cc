#include "desk/serve/http/routes.h"

namespace xsp::serve {

const std::string_view kObjectSchema = R"({"type": "object"})";

const std::vector<const Route*>& all_routes() {
  static const std::vector<const Route*> all = [] {
    std::vector<const Route*> routes;
    for (const auto* area :
         {&document_routes(), &evaluation_routes(), &timeline_routes(), &compare_routes(),
          &upload_routes(), &note_routes(), &listing_routes(), &prediction_routes(),
          &query_routes(), &sweep_routes(), &admin_routes()}) {
      for (const Route& route : *area) routes.push_back(&route);
    }
    return routes;
  }();
  return all;
}

}  // namespace xsp::serve
