// xsp serve: serves the live page over every .xsp file of a folder.
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "desk/catalogue/catalogue.h"
#include "desk/cli/serve_predict.h"
#include "desk/cli/serve_sweep.h"
#include "desk/cli/verbs.h"
#include "desk/machine/machine.h"
#include "desk/manifest/yaml.h"
#include "desk/serve/http/server.h"

namespace xsp::cli {
namespace {

struct ServeOptions {
  std::string folder = ".";
  std::string listen = "127.0.0.1:7777";
  std::string page;
  std::string token_file;
  std::string catalogue;
  std::string executor;   // of the sweeps that requests start; empty: they start none
  std::string executors;  // a file with its settings
  double rate = 200;
  bool upload = false;
  bool notes = false;
  uint64_t max_upload = uint64_t{1} << 30;
  uint64_t memory = 0;  // 0: a quarter of what is available
};

// Returns the token from the file or the environment. If there is none and others can reach the
// server, makes one.
Result<std::string> find_token(const ServeOptions& options, const std::string& host) {
  std::string token;
  if (!options.token_file.empty()) {
    std::ifstream file(options.token_file);
    if (!(file >> token)) return usage(options.token_file + ": holds no token: write one word");
    return token;
  }
  // An empty XSP_TOKEN would let everyone in, so it counts as not set.
  if (const char* given = std::getenv("XSP_TOKEN")) token = given;
  const bool has_others = !options.catalogue.empty();  // the tokens of the catalogue
  if (token.empty() &&
      (!serve::is_loopback(host) || ((options.upload || options.notes) && !has_others))) {
    return serve::make_token();
  }
  return token;
}

Status parse_listen(const std::string& text, serve::ServerOptions& options) {
  const size_t colon = text.rfind(':');
  const char* end = text.data() + text.size();
  const char* begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto [stop, error] = std::from_chars(begin, end, options.port);
  if (error != std::errc() || stop != end || options.port < 0 || options.port > 65535) {
    return usage("--listen '" + text + "': not HOST:PORT: give one, such as 127.0.0.1:7777");
  }
  options.host = text.substr(0, colon);
  if (options.host.empty()) {
    return usage("--listen '" + text + "': no host: give 127.0.0.1, or 0.0.0.0 for others");
  }
  if (options.host.starts_with('[') && options.host.ends_with(']')) {
    options.host = options.host.substr(1, options.host.size() - 2);
  }
  return Ok{};
}

// Returns the text of the file with the executor's settings; empty: none is given.
Result<std::string> settings_text(const ServeOptions& options) {
  if (options.executors.empty()) return std::string();
  return manifest::read_small_file(options.executors);
}

// Returns the engine by which models of other machines answer, if the one that was named can do so.
Result<std::optional<Elsewhere>> find_elsewhere(const ServeOptions& options) {
  if (options.executor.empty()) return std::optional<Elsewhere>();
  XSP_TRY(executors::Executor executor, executors::find_executor(options.executor));
  if (executor.through == nullptr) return std::optional<Elsewhere>();
  XSP_TRY(const std::string text, settings_text(options));
  XSP_TRY(executors::Settings settings, settings_in(text, executor));
  return std::optional<Elsewhere>({std::move(executor), std::move(settings)});
}

// Returns nothing if requests start no sweeps.
Result<std::unique_ptr<NetworkSweeps>> open_sweeps(const ServeOptions& options) {
  if (options.executor.empty() && options.executors.empty()) {
    return std::unique_ptr<NetworkSweeps>();
  }
  if (options.executor.empty()) return usage("--executors: it needs --allow-run EXECUTOR");
  if (options.catalogue.empty()) {
    return usage("--allow-run: it needs --catalogue PLACE, which gets the results");
  }
  NetworkSweepsOptions chosen;
  chosen.folder = options.folder;
  chosen.executor = options.executor;
  chosen.place = options.catalogue;
  XSP_TRY(chosen.settings, settings_text(options));
  return NetworkSweeps::open(std::move(chosen));
}

Status serve_folder(const ServeOptions& options) {
  serve::ServerOptions chosen;
  XSP_CHECK_OK(parse_listen(options.listen, chosen));
  if (!options.page.empty()) {
    std::ifstream file(options.page, std::ios::binary);
    if (!file) return usage(options.page + ": cannot be read: give an HTML file");
    chosen.page.assign(std::istreambuf_iterator<char>(file), {});
  }
  XSP_TRY(chosen.token, find_token(options, chosen.host));
  chosen.notes = options.notes;
  if (options.upload) chosen.max_upload_bytes = options.max_upload;
  const auto available = machine::Machine().available_memory_bytes();
  if (options.memory != 0) {
    chosen.memory_bytes = options.memory;
  } else if (available) {
    chosen.memory_bytes = *available / 4;
  }
  chosen.rate = options.rate;
  std::atomic<int> stop{0};
  if (!options.catalogue.empty()) {
    // A catalogue that cannot be read is told before anything listens.
    XSP_TRY(const auto known, catalogue::Catalogue::open_for_reading(options.catalogue));
    chosen.catalogue = options.catalogue;
    XSP_TRY(const std::optional<Elsewhere> elsewhere, find_elsewhere(options));
    chosen.predict = make_predict(stop, elsewhere);
    if (elsewhere) chosen.systems = make_systems(*elsewhere);
    chosen.models = prediction_models();
  }
  // A separate thread waits for the signals, because a handler may do very little. They
  // are blocked before there is any other thread.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  XSP_TRY(const std::unique_ptr<NetworkSweeps> sweeps, open_sweeps(options));
  chosen.sweeps = sweeps.get();
  XSP_TRY(auto library, serve::Library::of_folder(options.folder));
  serve::Server server(*library, chosen);
  XSP_TRY(const std::string address, server.listen());
  std::fprintf(stderr, "serving %s at %s (Ctrl-C ends it)\n", options.folder.c_str(),
               address.c_str());
  std::thread waiting([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    stop = 1;
    server.stop();
  });
  const Status served = server.run();
  if (!served.ok()) pthread_kill(waiting.native_handle(), SIGTERM);
  waiting.join();
  return served;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* verb = app.add_subcommand("serve", "Show every .xsp file of a folder in the browser");
  verb->add_option("DIR", options->folder, "The folder with .xsp files; by default this one")
      ->type_name("");
  verb->add_option("--listen", options->listen, "Where to listen; port 0: any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  verb->add_option("--token-file", options->token_file,
                   "The token that requests must have, in a file; or set XSP_TOKEN")
      ->type_name("FILE");
  verb->add_option(
          "--catalogue", options->catalogue,
          "A catalogue of many evaluations to show: a file, or postgresql://USER@HOST/NAME")
      ->type_name("PLACE");
  verb->add_option("--allow-run", options->executor,
                   "Let those who have a token of scope run start sweeps by this executor of xsp "
                   "sweep (local, slurm, ...), and by ssh or agents let models of other machines "
                   "answer files")
      ->type_name("EXECUTOR");
  verb->add_option("--executors", options->executors,
                   "Its settings: a file with executors: {...}, as in a sweep's file")
      ->type_name("FILE");
  verb->add_option("--rate", options->rate,
                   "Requests per second that one address or token may send; 0: any number")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--memory", options->memory,
                   "What queries may take, such as 4GB; by default a quarter of what is free")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(true));
  verb->add_flag("--upload", options->upload,
                 "Let those who have the token add evaluations to the folder");
  verb->add_flag("--notes", options->notes,
                 "Let those who have the token write notes on timelines, beside the files");
  verb->add_option("--max-upload", options->max_upload, "The largest of them, such as 500MB")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(true));
  verb->add_option("--page", options->page, "Another page than xsp's own, for those who work on it")
      ->type_name("FILE");
  verb->footer(
      "Open the address that it prints. New files appear as they come; it only reads them.\n"
      "\n"
      "It listens on this machine alone. Elsewhere, with --upload or --notes, it asks for a token; "
      "the\n"
      "address that it prints has it. Nothing is encrypted: beyond a network that you trust, go\n"
      "through ssh. From your own machine to one where it runs:\n"
      "  ssh -L 7777:127.0.0.1:7777 MACHINE xsp serve results\n"
      "\n"
      "With --catalogue it also shows the catalogue's results and sweeps, and lets models answer\n"
      "uploaded files. Whoever writes needs a token: see xsp catalogue token --help.\n"
      "\n"
      "The page's data are for your programs, too: docs/http_api.md.\n"
      "  curl -s http://127.0.0.1:7777/api/v1/evaluations\n"
      "\n"
      "Examples:\n"
      "  xsp serve                               the current folder, at http://127.0.0.1:7777/\n"
      "  xsp serve results --listen 127.0.0.1:0  any free port; the address is printed\n"
      "  xsp serve --listen 0.0.0.0:7777         for others, who need the token");
  verb->callback([options, &exit_status] {
    const Status status = serve_folder(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
