#include "tests/integration/engines.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "tests/integration/postgres_server.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text, fs::perms perms = fs::perms(0644)) {
  std::ofstream(path) << text;
  fs::permissions(path, perms);
}

bool shell(const std::string& command) { return std::system(command.c_str()) == 0; }

bool wait_until(const std::function<bool()>& is_true) {
  for (int i = 0; i < 600; ++i) {
    if (is_true()) return true;
    std::this_thread::sleep_for(milliseconds(100));
  }
  return false;
}

// A port that is this test's for as long as this lives: a bound socket that does not listen keeps
// the kernel from giving the port to other tests and to connections that go out, and lets a server
// that allows reuse of addresses (sshd and Slurm do) listen at it.
class KeptPort {
 public:
  KeptPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t size = sizeof address;
    bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    number_ = ntohs(address.sin_port);
  }
  ~KeptPort() { close(socket_); }
  KeptPort(const KeptPort&) = delete;
  KeptPort& operator=(const KeptPort&) = delete;

  std::string number() const { return std::to_string(number_); }

 private:
  int socket_;
  int number_ = 0;
};

std::vector<int> all_pids() {
  std::vector<int> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0) pids.push_back(pid);
  }
  return pids;
}

// Returns the processes whose command line, or environment, has this text.
std::vector<int> pids_with(const std::string& file, const std::string& text) {
  std::vector<int> pids;
  for (const int pid : all_pids()) {
    if (pid == getpid()) continue;
    if (read_file("/proc/" + std::to_string(pid) + "/" + file).find(text) != std::string::npos) {
      pids.push_back(pid);
    }
  }
  return pids;
}

int parent_of(int pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = stat.rfind(')');
  return end == std::string::npos ? 0 : std::atoi(stat.c_str() + end + 4);
}

std::set<int> with_descendants(int pid) {
  std::set<int> family = {pid};
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const int one : all_pids()) {
      if (family.count(parent_of(one)) != 0) has_grown |= family.insert(one).second;
    }
  }
  return family;
}

void kill_with_descendants(int pid) {
  for (const int one : with_descendants(pid)) kill(one, SIGKILL);
}

class Local : public EngineUnderTest {
 public:
  bool start(const fs::path& folder) override {
    folder_ = folder;
    return true;
  }
  std::string executor() const override { return "local"; }
  void kill_machine_of(int pid) override { kill_with_descendants(pid); }
  size_t left() const override {
    return pids_with("cmdline", (folder_ / "out" / "plan.json").string()).size();
  }

 protected:
  fs::path folder_;
};

class Ssh : public Local {
 public:
  ~Ssh() override {
    if (server() <= 0) return;
    kill(server(), SIGTERM);
    wait_until([&] { return !fs::exists(folder_ / "sshd.pid"); });  // it removes the file
  }
  std::string why_not() const override {
    return fs::exists("/usr/sbin/sshd") ? "" : "sshd is not installed: openssh-server has it";
  }
  bool start(const fs::path& folder) override {
    folder_ = folder;
    const std::string at = folder.string();
    std::error_code ignored;
    if (geteuid() == 0) fs::create_directories("/run/sshd", ignored);  // sshd demands it
    for (const char* key : {"host_key", "user_key"}) {
      if (!shell("ssh-keygen -q -t ed25519 -N '' -f " + at + "/" + key)) return false;
    }
    write_file(folder / "authorized_keys", read_file(folder / "user_key.pub"), fs::perms(0600));
    write_file(folder / "sshd_config",
               "Port " + port_.number() + "\nListenAddress 127.0.0.1\nHostKey " + at +
                   "/host_key\nPidFile " + at + "/sshd.pid\nAuthorizedKeysFile " + at +
                   "/authorized_keys\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                   "PermitRootLogin yes\n");
    write_file(folder / "ssh_config", "Host a b\n  HostName 127.0.0.1\n  Port " + port_.number() +
                                          "\n  IdentityFile " + at +
                                          "/user_key\n  IdentitiesOnly yes\n  UserKnownHostsFile " +
                                          at + "/known\n  StrictHostKeyChecking accept-new\n");
    return shell("/usr/sbin/sshd -f " + at + "/sshd_config") &&
           wait_until([&] { return fs::exists(folder / "sshd.pid"); });
  }
  std::string executor() const override { return "ssh"; }
  std::string settings() const override {
    return "hosts: [a, b], xsp: " + places::bin("xsp") + ", options: [-F, " +
           (folder_ / "ssh_config").string() + "]";
  }
  // The machine is on the other side of the connection. Tests run beside each other, and other
  // servers have such tasks, too.
  void kill_machine_of(int pid) override {
    const std::set<int> own = with_descendants(server());
    bool is_killed = false;
    for (const int one : pids_with("cmdline", std::string("task\0-\0", 7))) {
      if (own.count(one) == 0) continue;
      kill_with_descendants(one);
      is_killed = true;
    }
    if (!is_killed) kill_with_descendants(pid);
  }

 private:
  int server() const { return std::atoi(read_file(folder_ / "sshd.pid").c_str()); }

  KeptPort port_;
};

class SlurmCluster : public EngineUnderTest {
 public:
  ~SlurmCluster() override {
    for (const char* name :
         {"slurmctld.pid", "slurmd-n1.pid", "slurmd-n2.pid", "slurmd-n3.pid", "munge.pid"}) {
      const int pid = std::atoi(read_file(folder_ / name).c_str());
      if (pid > 0) kill(pid, SIGKILL);
    }
    for (const int pid : pids_with("environ", "SLURM_CONF=" + conf())) kill(pid, SIGKILL);
  }
  std::string why_not() const override {
    return fs::exists("/usr/sbin/slurmctld") && fs::exists("/usr/sbin/munged")
               ? ""
               : "Slurm is not installed: slurm-wlm and munge have it";
  }
  bool start(const fs::path& folder) override {
    folder_ = folder;
    // Munge and Slurm use sockets and files that other users may see.
    fs::permissions(folder, fs::perms(0755));
    std::string key(1024, '\0');
    std::ifstream("/dev/urandom", std::ios::binary).read(key.data(), 1024);
    write_file(folder / "munge.key", key, fs::perms(0600));
    write_config();
    const std::string at = folder.string() + "/munge.";
    if (!shell("/usr/sbin/munged --force --key-file=" + at + "key --socket=" + at +
               "socket --pid-file=" + at + "pid --log-file=" + at + "log --seed-file=" + at +
               "seed 2>>" + at + "log")) {
      return false;
    }
    setenv("SLURM_CONF", conf().c_str(), 1);
    if (!shell("/usr/sbin/slurmctld -c")) return false;
    for (const char* node : {"n1", "n2", "n3"}) {
      if (!shell(std::string("/usr/sbin/slurmd -c -N ") + node)) return false;
    }
    return wait_until([] { return shell("test $(sinfo -h -N -t idle | wc -l) = 3"); });
  }
  std::string executor() const override { return "slurm"; }
  // Slurm itself runs the job of a lost node again, but only after two minutes.
  std::string settings() const override { return "options: [--no-requeue]"; }
  std::map<std::string, std::string> environment() const override {
    return {{"SLURM_CONF", conf()}};
  }
  std::string impossible() const override { return "executors: {slurm: {constraint: nosuch}}"; }
  void kill_machine_of(int pid) override {
    const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    const std::string key = "SLURMD_NODENAME=";
    const size_t begin = environment.find(key);
    if (begin == std::string::npos) return;
    const std::string node = environment.substr(begin + key.size(), 2);
    kill(std::atoi(read_file(folder_ / ("slurmd-" + node + ".pid")).c_str()), SIGKILL);
    kill_with_descendants(parent_of(pid));  // the step's daemon
    kill_with_descendants(pid);
  }
  size_t left() const override { return shell("test -z \"$(squeue -h)\"") ? 0 : 1; }

 private:
  std::string conf() const { return (folder_ / "slurm.conf").string(); }
  void write_config() const {
    const std::string at = folder_.string();
    const char* user = geteuid() == 0 ? "root" : std::getenv("USER");
    std::string text =
        "ClusterName=xsp\nSlurmctldHost=localhost\nSlurmctldPort=" + controller_port_.number() +
        "\nAuthType=auth/munge\nAuthInfo=socket=" + at +
        "/munge.socket\nSlurmUser=" + std::string(user != nullptr ? user : "root") +
        "\nSlurmdUser=" + std::string(user != nullptr ? user : "root") +
        "\nStateSaveLocation=" + at + "/state\nSlurmdSpoolDir=" + at +
        "/spool-%n\nSlurmctldPidFile=" + at + "/slurmctld.pid\nSlurmdPidFile=" + at +
        "/slurmd-%n.pid\nSlurmctldLogFile=" + at + "/slurmctld.log\nSlurmdLogFile=" + at +
        "/slurmd-%n.log\nSlurmdTimeout=12\nKillWait=3\nReturnToService=2\n"
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
        "SchedulerParameters=batch_sched_delay=0,sched_interval=2\nMpiDefault=none\n"
        "GresTypes=gpu\n";
    for (size_t i = 0; i < std::size(node_ports_); ++i) {
      text += "NodeName=n" + std::to_string(i + 1) +
              " NodeHostname=localhost Port=" + node_ports_[i].number() +
              " CPUs=2 RealMemory=1000" + (i == 0 ? " Gres=gpu:1" : "") + "\n";
    }
    write_file(folder_ / "slurm.conf", text + "PartitionName=all Nodes=ALL Default=YES State=UP\n");
    write_file(folder_ / "gres.conf", "NodeName=n1 Name=gpu File=/dev/null\n");
  }

  fs::path folder_;
  KeptPort controller_port_;
  KeptPort node_ports_[3];
};

// Two agents and a PostgreSQL server. Each agent is in a network namespace of its own, in which
// nothing can connect to it; it reaches the server by a socket of the file system.
class Agents : public Local {
 public:
  ~Agents() override {
    for (const int pid : pids_with("cmdline", std::string("agent\0--db\0", 11))) {
      if (is_own(pid)) kill_with_descendants(pid);
    }
  }
  std::string why_not() const override {
    if (!shell("unshare --net true 2>/dev/null")) return "network namespaces cannot be made here";
    return PostgresServer::why_not();
  }
  bool start(const fs::path& folder) override {
    folder_ = folder;
    if (!server_.create()) return false;
    for (const char* name : {"one", "two"}) start_agent(name);
    return wait_until([&] {
      return read_file(folder / "one.log").find("agent one:") != std::string::npos &&
             read_file(folder / "two.log").find("agent two:") != std::string::npos;
    });
  }
  std::string executor() const override { return "agents"; }
  std::string settings() const override { return "db: \"" + server_.address() + "\""; }
  bool restart_server() override {
    const bool is_stopped = server_.stop();
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return is_stopped && server_.start();
  }
  // The agent dies with the task that it does, and comes back.
  void kill_machine_of(int) override {
    int agent = 0;
    wait_until([&] {
      for (const int task : pids_with("cmdline", std::string("task\0-\0", 7))) {
        if (is_own(parent_of(task))) agent = parent_of(task);
      }
      return agent != 0;
    });
    if (agent == 0) return;
    const std::string words = read_file("/proc/" + std::to_string(agent) + "/cmdline");
    kill_with_descendants(agent);
    const std::string name = words.find("one") != std::string::npos ? "one" : "two";
    // Its lease runs out in a minute and a half, for which no test should wait.
    server_.execute("UPDATE queue SET lease_until = 0 WHERE agent = '" + name + "'");
    start_agent(name);
  }

 private:
  // Tests run beside each other, and other engines have such tasks, too.
  bool is_own(int agent) const {
    return read_file("/proc/" + std::to_string(agent) + "/cmdline").find(server_.address()) !=
           std::string::npos;
  }
  void start_agent(const std::string& name) const {
    shell("TMPDIR=" + folder_.string() + " setsid unshare --net " + places::bin("xsp") +
          " agent --db '" + server_.address() + "' --name " + name + " </dev/null >>" +
          (folder_ / (name + ".log")).string() + " 2>&1 &");
  }

  PostgresServer server_;
};

}  // namespace

std::unique_ptr<EngineUnderTest> make_engine(const std::string& name) {
  if (name == "ssh") return std::make_unique<Ssh>();
  if (name == "agents") return std::make_unique<Agents>();
  if (name == "slurm") return std::make_unique<SlurmCluster>();
  return std::make_unique<Local>();
}

}  // namespace xsp::integration
