#include "tests/integration/postgres_server.h"

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrograms = "/usr/lib/postgresql/15/bin/";  // Debian 12's

// The server refuses to run as root.
std::string as_user() {
  return geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups " : "";
}

}  // namespace

std::string PostgresServer::why_not() {
  std::error_code error;
  if (fs::exists(std::string(kPrograms) + "initdb", error)) return {};
  return "PostgreSQL 15 is not installed: on Debian it is in postgresql-15";
}

PostgresServer::~PostgresServer() {
  if (folder_.empty()) return;
  resume();
  (void)stop();
  if (is_mounted_) umount2(folder_.c_str(), MNT_DETACH);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool PostgresServer::run(const std::string& command) const {
  const std::string whole = "cd " + folder_.string() + " && " + as_user() + kPrograms + command +
                            " >>" + (folder_ / "log").string() + " 2>&1";
  return std::system(whole.c_str()) == 0;
}

bool PostgresServer::create(int disk_mb) {
  std::string name = (fs::temp_directory_path() / "xsp-postgres-XXXXXX").string();
  folder_ = mkdtemp(name.data());
  if (disk_mb > 0) {
    const std::string size = "size=" + std::to_string(disk_mb) + "m";
    is_mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    if (!is_mounted_) return false;
  }
  if (geteuid() == 0) {
    const std::string owned = "chown postgres: " + folder_.string();
    if (std::system(owned.c_str()) != 0) return false;
  }
  return run("initdb -D data -U xsp --auth=trust --no-sync --no-locale -E UTF8") && start();
}

bool PostgresServer::start() {
  return run("pg_ctl -D data -l server.log -w -o \"-k " + folder_.string() +
             " -c listen_addresses=''\" start");
}

bool PostgresServer::stop() { return run("pg_ctl -D data -w -m immediate stop"); }

bool PostgresServer::execute(const std::string& sql) const {
  return run("psql -q -v ON_ERROR_STOP=1 -h " + folder_.string() + " -U xsp -d postgres -c \"" +
             sql + "\"");
}

// The first process starts all others.
std::vector<int> PostgresServer::pids() const {
  int first = 0;
  std::ifstream(folder_ / "data" / "postmaster.pid") >> first;
  std::vector<int> pids;
  if (first > 0) pids.push_back(first);
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    int pid = 0, parent = 0;
    std::string name, state;
    if (file >> pid >> name >> state >> parent && parent == first && first > 0) pids.push_back(pid);
  }
  return pids;
}

void PostgresServer::halt() {
  for (const int pid : pids()) kill(pid, SIGSTOP);
}

void PostgresServer::resume() {
  for (const int pid : pids()) kill(pid, SIGCONT);
}

std::string PostgresServer::address() const {
  return "postgresql:///postgres?user=xsp&host=" + folder_.string();
}

}  // namespace xsp::integration
