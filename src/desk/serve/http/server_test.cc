// Tests the server over a real socket, with a client that may send any bytes.
#include "desk/serve/http/server.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "desk/serve/testing.h"

namespace {
// The error that fsync() returns to the threads of the server; 0: the disk decides.
std::atomic<int> fsync_error = 0;
}  // namespace

// Stands for the C library's, so that a disk can be full.
extern "C" int fsync(int fd) {
  if (fsync_error == 0) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = fsync_error;
  return -1;
}

namespace xsp::serve {
namespace {

namespace fs = std::filesystem;

TEST_F(ServerTest, SendsThePageAndTheAnswers) {
  start();
  const std::string page = get("/");
  EXPECT_EQ(status_of(page), 200);
  EXPECT_NE(page.find("<!doctype html>"), std::string::npos);
  EXPECT_NE(page.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
  const std::string list = get("/api/v1/evaluations");
  EXPECT_NE(list.find("\"id\":\"deep/a b.xsp\""), std::string::npos) << list;
  const std::string one = get("/api/v1/evaluations/deep%2Fa%20b.xsp");
  EXPECT_EQ(status_of(one), 200);
  EXPECT_NE(one.find("\"model\":\"tiny\""), std::string::npos);
  const std::string rows = get("/api/v1/evaluations/deep%2Fa%20b.xsp/analyses/model_information");
  EXPECT_EQ(status_of(rows), 200);
  EXPECT_NE(rows.find("\"not_measured\""), std::string::npos) << rows;
}

TEST_F(ServerTest, WhatTheClientHasIsNotSentAgain) {
  start();
  for (const char* target : {"/api/v1/catalogue", "/api/v1/evaluations/deep%2Fa%20b.xsp"}) {
    const std::string first = get(target);
    const size_t at = first.find("ETag: ");
    ASSERT_NE(at, std::string::npos) << first;
    const std::string tag = first.substr(at + 6, first.find("\r\n", at) - at - 6);
    const std::string same = get(target, std::string(kHost) + "If-None-Match: " + tag + "\r\n");
    EXPECT_EQ(status_of(same), 304);
    EXPECT_TRUE(same.ends_with("\r\n\r\n")) << "an answer without a body";
    const std::string other = get(target, std::string(kHost) + "If-None-Match: W/\"0\"\r\n");
    EXPECT_EQ(status_of(other), 200);
  }
  EXPECT_EQ(get("/api/v1/none").find("ETag"), std::string::npos);
}

TEST_F(ServerTest, RefusesWhatLeadsOutOfTheFolder) {
  const fs::path outside = folder_.string() + "_outside.xsp";
  make(outside);
  fs::create_symlink(outside, folder_ / "link.xsp");
  start();
  const std::string up = "..%2F" + outside.filename().string();
  for (const std::string& id :
       {up, "deep%2F..%2F" + up, "%2F" + outside.string().substr(1), std::string("link.xsp"),
        std::string("..%2F..%2F..%2Fetc%2Fpasswd"), std::string("deep%2Fa%20b.xsp%00"),
        std::string("."), std::string("%2e%2e")}) {
    const std::string answer = get("/api/v1/evaluations/" + id);
    EXPECT_GE(status_of(answer), 400) << id;
    EXPECT_LT(status_of(answer), 500) << id;
    EXPECT_EQ(answer.find("tiny"), std::string::npos) << id;
  }
  EXPECT_GE(status_of(get("/../../etc/passwd")), 400);
  EXPECT_EQ(get("/api/v1/evaluations").find("link.xsp"), std::string::npos);
  fs::remove(outside);
}

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // these keep memory of their own
// Returns the KiB of this process's own memory.
int64_t own_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib;
  }
  ADD_FAILURE() << "not known";
  return 0;
}

// Each of the server's threads keeps the stack that its longest request needed.
TEST_F(ServerTest, LongAddressesCostNoStack) {
  start();
  const std::string target = "/api/v1/evaluations/" + std::string(7000, 'a');
  const auto ask = [&] {
    for (int i = 0; i < 150; ++i) EXPECT_EQ(status_of(get(target)), 404);
  };
  for (int i = 0; i < 150; ++i) get("/api/v1/evaluations/a");
  const int64_t before = own_kib();
  ask();
  EXPECT_LT(own_kib() - before, 12 << 10) << "2 MiB for each of 32 threads";
}
#endif

TEST_F(ServerTest, OutlivesWhatIsNoRequest) {
  start();
  const std::string longest(1 << 20, 'a');
  EXPECT_EQ(status_of(get("/" + std::string(9000, 'a'))), 414);
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\0\1\2\3\r\n\r\n", 8),
        "GET / HTTP/1.1\r\n" + std::string("X: ") + longest + "\r\n\r\n",
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost\r\n\r\n"),
        std::string("POST /api/v1/evaluations?name=a.xsp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Content-Length: 99999999999999999999\r\n\r\n"),
        std::string("PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
        std::string("DELETE /api/v1/evaluations/a.xsp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Connection: close\r\n\r\n")}) {
    const int client = connect();
    // The server may close the connection before all bytes are sent.
    (void)!send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    shutdown(client, SHUT_WR);
    const std::string answer = hear(client);
    EXPECT_NE(status_of(answer), 200) << bytes.substr(0, 60);
  }
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
  EXPECT_TRUE(fs::exists(folder_ / "deep" / "a b.xsp"));
}

TEST_F(ServerTest, AnswersOnTheLoopbackToItsOwnNamesAlone) {
  start();
  EXPECT_EQ(status_of(get("/api/v1/catalogue", "Host: evil.example\r\nConnection: close\r\n")),
            421);
  EXPECT_EQ(status_of(get("/", "Host: evil.example:7777\r\nConnection: close\r\n")), 421);
  EXPECT_EQ(status_of(get("/", "Host: 127.evil.example:7777\r\nConnection: close\r\n")), 421);
  EXPECT_EQ(status_of(get("/", "Host: localhost:7777\r\nConnection: close\r\n")), 200);
  EXPECT_EQ(status_of(get("/", "Host: [::1]:7777\r\nConnection: close\r\n")), 200);
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  start();
  ServerOptions options;
  options.port = port_;
  const auto first = Library::of_folder(folder_).value();
  const auto second = Library::of_folder(folder_).value();
  const auto taken = Server(*first, options).listen();
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.error().text.find("the port is in use"), std::string::npos);
  options.host = "192.0.2.1";  // reserved for documents: no machine has it
  const auto other = Server(*second, options).listen();
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().text.find("no address of this machine"), std::string::npos);
}

TEST(LoopbackTest, IsAnAddressAndNoNameThatLooksLikeOne) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"127.evil.example", "127.0.0.1.evil.example", "127.", "0.0.0.0",
                           "::", "10.0.0.1", "localhost.evil.example", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST_F(ServerTest, AsksForTheToken) {
  ServerOptions options;
  options.token = "secret";
  start(options);
  const std::string host(kHost);
  EXPECT_EQ(status_of(get("/")), 200);  // the page itself contains no data
  EXPECT_EQ(status_of(get("/api/v1/evaluations")), 401);
  EXPECT_EQ(status_of(get("/api/v1/evaluations", host + "Authorization: Bearer secre\r\n")), 401);
  EXPECT_EQ(status_of(get("/api/v1/evaluations", host + "Authorization: Bearer secrets\r\n")), 401);
  EXPECT_EQ(status_of(get("/api/v1/evaluations", host + "Authorization: Bearer secret\r\n")), 200);
}

class UploadTest : public ServerTest {
 protected:
  std::string post(const std::string& name, const std::string& body,
                   const std::string& token = "secret") const {
    return say("POST /api/v1/evaluations?name=" + name + " HTTP/1.1\r\n" + kHost +
               "Authorization: Bearer " + token +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::string bytes_of_evaluation() const {
    std::ifstream file(folder_ / "deep" / "a b.xsp", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
};

TEST_F(UploadTest, AddsAnEvaluation) {
  ServerOptions options;
  options.token = "secret";
  options.max_upload_bytes = 64 << 20;
  start(options);
  const std::string bytes = bytes_of_evaluation();
  EXPECT_EQ(status_of(post("new.xsp", bytes)), 201);
  EXPECT_TRUE(fs::exists(folder_ / "new.xsp"));
  EXPECT_EQ(status_of(post("new.xsp", bytes)), 400) << "it must not take another's place";
  EXPECT_EQ(files(), 2U);
}

TEST_F(UploadTest, LeavesNothingOfWhatItRefuses) {
  ServerOptions options;
  options.token = "secret";
  options.max_upload_bytes = 1 << 20;
  start(options);
  EXPECT_EQ(status_of(post("new.xsp", "no database")), 400);
  EXPECT_EQ(status_of(post("new.xsp", std::string(2 << 20, 'x'))), 413);
  EXPECT_EQ(status_of(post("new.xsp", "x", "wrong")), 401);
  for (const char* name : {"", "x", ".xsp", "..%2Fx.xsp", "a%2Fb.xsp", ".a.xsp", "a.html"}) {
    EXPECT_EQ(status_of(post(name, "x")), 400) << name;
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(UploadTest, PromisesNothingThatTheDiskDidNotKeep) {
  ServerOptions options;
  options.token = "secret";
  options.max_upload_bytes = 64 << 20;
  start(options);
  const std::string bytes = bytes_of_evaluation();
  fsync_error = ENOSPC;
  const std::string answer = post("new.xsp", bytes);
  fsync_error = 0;
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_NE(answer.find("No space left"), std::string::npos) << answer;
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(status_of(post("new.xsp", bytes)), 201);
}

TEST_F(UploadTest, IsOffUnlessAskedFor) {
  ServerOptions options;
  options.token = "secret";
  start(options);
  EXPECT_EQ(status_of(post("new.xsp", "x")), 403);
  EXPECT_EQ(files(), 1U);
}

TEST_F(ServerTest, FilesThatChangeVanishOrBreakAreToldAsTheyAre) {
  start();
  const fs::path path = folder_ / "deep" / "a b.xsp";
  EXPECT_EQ(status_of(get("/api/v1/evaluations/deep%2Fa%20b.xsp")), 200);
  std::ofstream(folder_ / "broken.xsp") << "this is no database";
  std::ofstream(folder_ / "empty.xsp");
  std::string list = get("/api/v1/evaluations");
  EXPECT_NE(list.find("\"status\":\"unreadable\""), std::string::npos);
  EXPECT_EQ(status_of(get("/api/v1/evaluations/broken.xsp")), 500);
  fs::remove(path);
  EXPECT_EQ(status_of(get("/api/v1/evaluations/deep%2Fa%20b.xsp")), 404);
  make(path);
  EXPECT_EQ(status_of(get("/api/v1/evaluations/deep%2Fa%20b.xsp")), 200);
}

TEST_F(ServerTest, DamagedEvaluationsStopNobody) {
  const fs::path path = folder_ / "deep" / "a b.xsp";
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  start();
  unsigned seed = 1;
  for (int round = 0; round < 24; ++round) {
    std::string bytes = whole;
    if (round % 3 == 0) bytes.resize(bytes.size() * static_cast<size_t>(round + 1) / 30);
    for (int flip = 0; flip < 8 && round % 3 != 0; ++flip) {
      seed = seed * 1664525 + 1013904223;
      bytes[seed % bytes.size()] = static_cast<char>(bytes[seed % bytes.size()] ^ 0x55);
    }
    std::ofstream(folder_ / ("damaged" + std::to_string(round) + ".xsp"), std::ios::binary)
        << bytes;
  }
  EXPECT_EQ(status_of(get("/api/v1/evaluations")), 200);
  for (int round = 0; round < 24; ++round) {
    const std::string at = "/api/v1/evaluations/damaged" + std::to_string(round) + ".xsp";
    EXPECT_NE(status_of(get(at)), 0);
    EXPECT_NE(status_of(get(at + "/analyses/audit")), 0);
  }
  EXPECT_EQ(status_of(get("/api/v1/evaluations/deep%2Fa%20b.xsp")), 200);
}

}  // namespace
}  // namespace xsp::serve
