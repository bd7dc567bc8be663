#include "desk/cli/catalogue_access.h"

#include <cstdio>
#include <memory>

#include "desk/catalogue/access.h"
#include "desk/catalogue/catalogue.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"

namespace xsp::cli {
namespace {

using catalogue::Access;

struct CatalogueAccessOptions {
  std::string place = catalogue::kFileName;
  std::string name;
  std::string scope = "read";
  size_t limit = 100;
  OutputOptions output;
};

store::Value text_or_null(const std::string& text) {
  return text.empty() ? store::Value() : store::Value(text);
}

// Prints the secret alone on the standard output, so that a script can keep it.
Status make_token(const CatalogueAccessOptions& options) {
  XSP_TRY(const catalogue::Scope scope, catalogue::scope_of(options.scope));
  XSP_TRY(Access access, Access::open(options.place));
  XSP_TRY(const std::string secret, access.make_token(options.name, scope));
  const bool is_server = catalogue::is_server(options.place);
  std::fprintf(stderr, "token '%s' of scope %s, for %s; it is shown only now:\n",
               options.name.c_str(), options.scope.c_str(),
               is_server ? "the server's catalogue" : options.place.c_str());
  return write_stdout(secret + "\n");
}

Status print(store::Table table, const CatalogueAccessOptions& options) {
  OutputOptions output = options.output;
  output.all = true;
  return write_stdout(render(sheet_of(std::move(table)), output, terminal_of(1)));
}

Status list_tokens(const CatalogueAccessOptions& options) {
  XSP_TRY(Access access, Access::open(options.place));
  XSP_TRY(const std::vector<catalogue::Token> tokens, access.tokens());
  store::Table table;
  table.columns = {{"id", "VARCHAR"},
                   {"name", "VARCHAR"},
                   {"scope", "VARCHAR"},
                   {"created_at", "VARCHAR"},
                   {"revoked_at", "VARCHAR"}};
  for (const catalogue::Token& one : tokens) {
    table.rows.push_back({one.id, one.name, std::string(catalogue::name_of(one.scope)),
                          one.created_at, text_or_null(one.revoked_at)});
  }
  return print(std::move(table), options);
}

Status revoke_token(const CatalogueAccessOptions& options) {
  XSP_TRY(Access access, Access::open(options.place));
  return access.revoke(options.name);
}

Status show_audit(const CatalogueAccessOptions& options) {
  XSP_TRY(Access access, Access::open(options.place));
  XSP_TRY(const std::vector<catalogue::Audited> log, access.audited(options.limit));
  store::Table table;
  table.columns = {{"at", "VARCHAR"},      {"name", "VARCHAR"},   {"token", "VARCHAR"},
                   {"address", "VARCHAR"}, {"method", "VARCHAR"}, {"path", "VARCHAR"},
                   {"status", "BIGINT"}};
  for (const catalogue::Audited& one : log) {
    table.rows.push_back({one.at, text_or_null(one.name), text_or_null(one.token), one.address,
                          one.method, one.path, int64_t{one.status}});
  }
  return print(std::move(table), options);
}

void run_with(CLI::App* verb, const std::shared_ptr<CatalogueAccessOptions>& options,
              int& exit_status, Status (*work)(const CatalogueAccessOptions&)) {
  verb->add_option("--db", options->place, "The catalogue: a file, or postgresql://USER@HOST/NAME")
      ->type_name("PLACE")
      ->capture_default_str();
  verb->callback([options, &exit_status, work] {
    const Status status = work(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace

void add_access_verbs(CLI::App& catalogue, int& exit_status) {
  auto options = std::make_shared<CatalogueAccessOptions>();
  CLI::App* token = catalogue.add_subcommand("token", "Make, list and revoke tokens of the API");
  token->require_subcommand(1);
  CLI::App* making = token->add_subcommand("new", "Make a token, and print it once");
  making->add_option("--name", options->name, "Whose it is: letters, digits, '.', '_' and '-'")
      ->required()
      ->type_name("NAME");
  making
      ->add_option("--scope", options->scope,
                   "read; run, which also lets models answer; or admin, which may do everything")
      ->type_name("SCOPE")
      ->capture_default_str();
  run_with(making, options, exit_status, make_token);
  CLI::App* listing = token->add_subcommand("list", "List the tokens, also revoked ones");
  add_output_options(*listing, options->output, false);
  run_with(listing, options, exit_status, list_tokens);
  CLI::App* revoking = token->add_subcommand("revoke", "End a token; it is refused from now on");
  revoking->add_option("NAME", options->name, "The token's name or id")->required()->type_name("");
  run_with(revoking, options, exit_status, revoke_token);
  CLI::App* auditing = catalogue.add_subcommand(
      "audit", "Show who wrote through the API, and who was refused; the newest first");
  auditing->add_option("--limit", options->limit, "The most entries")->capture_default_str();
  add_output_options(*auditing, options->output, false);
  run_with(auditing, options, exit_status, show_audit);
}

}  // namespace xsp::cli
