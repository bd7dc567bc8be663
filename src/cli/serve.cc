// xsp serve: the page, live, over every .xsp file of a folder.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "cli/verbs.h"
#include "serve/server.h"

namespace xsp::cli {
namespace {

struct Options {
  std::string folder = ".";
  std::string listen = "127.0.0.1:7777";
  std::string page;
};

Status parse_listen(const std::string& text, serve::ServerOptions& options) {
  const size_t colon = text.rfind(':');
  const char* end = text.data() + text.size();
  const char* begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto [stop, error] = std::from_chars(begin, end, options.port);
  if (error != std::errc() || stop != end || options.port < 0 || options.port > 65535) {
    return usage("--listen '" + text + "': not HOST:PORT: give one, such as 127.0.0.1:7777");
  }
  options.host = text.substr(0, colon);
  return Ok{};
}

Status serve_folder(const Options& options) {
  serve::ServerOptions chosen;
  XSP_CHECK_OK(parse_listen(options.listen, chosen));
  if (!options.page.empty()) {
    std::ifstream file(options.page, std::ios::binary);
    if (!file) return usage(options.page + ": cannot be read: give an HTML file");
    chosen.page.assign(std::istreambuf_iterator<char>(file), {});
  }
  XSP_TRY(auto library, serve::Library::of_folder(options.folder));
  // The signals are waited for by a thread of their own: a handler may do next to nothing.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  serve::Server server(*library, chosen);
  XSP_TRY(const std::string address, server.listen());
  std::fprintf(stderr, "serving %s at %s (Ctrl-C ends it)\n", options.folder.c_str(),
               address.c_str());
  std::thread waiting([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    server.stop();
  });
  const Status served = server.run();
  if (!served.ok()) pthread_kill(waiting.native_handle(), SIGTERM);
  waiting.join();
  return served;
}

}  // namespace

void add_serve(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("serve", "Show every .xsp file of a folder in the browser");
  verb->add_option("DIR", options->folder, "The folder; by default the current one")->type_name("");
  verb->add_option("--listen", options->listen, "Where to listen; port 0: any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  verb->add_option("--page", options->page, "Serve this page, for those who work on it (see web/)")
      ->type_name("FILE");
  verb->footer(
      "Examples:\n"
      "  xsp serve                               the current folder, at http://127.0.0.1:7777/\n"
      "  xsp serve results --listen 127.0.0.1:0  any free port; the address is printed");
  verb->callback([options, &exit_status] {
    const Status status = serve_folder(*options);
    exit_status = status.ok() ? 0 : report(status.error());
  });
}

}  // namespace xsp::cli
