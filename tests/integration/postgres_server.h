// A real PostgreSQL server for tests, on a Unix socket, with its data in a folder of its own.
#ifndef XSP_TESTS_INTEGRATION_POSTGRES_SERVER_H_
#define XSP_TESTS_INTEGRATION_POSTGRES_SERVER_H_

#include <filesystem>
#include <string>
#include <vector>

namespace xsp::integration {

class PostgresServer {
 public:
  // Returns why no server can be had here; empty if it can.
  static std::string why_not();
  PostgresServer() = default;
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // Makes the data, and starts the server. Returns whether it runs. With `disk_mb`, the data are on
  // a file system of their own of this size, which only root can make.
  bool create(int disk_mb = 0);
  bool start();
  // Stops it at once, as a crash does: transactions that run are lost.
  bool stop();
  // Runs a statement, by psql.
  bool execute(const std::string& sql) const;
  // Halts all its processes, so that it is silent and its connections stay, until resume().
  void halt();
  void resume();
  std::string address() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  bool run(const std::string& command) const;
  std::vector<int> pids() const;
  std::filesystem::path folder_;
  bool is_mounted_ = false;
};

}  // namespace xsp::integration

#endif  // XSP_TESTS_INTEGRATION_POSTGRES_SERVER_H_
