// Tests clients that are slow, idle or too many, over real sockets.
#include "desk/serve/http/connections.h"

#include <poll.h>

#include <string>
#include <vector>

#include "desk/serve/testing.h"

namespace xsp::serve {
namespace {

using std::chrono::milliseconds;

class ConnectionsTest : public ServerTest {
 protected:
  void TearDown() override {
    for (const int client : clients_) close(client);
    ServerTest::TearDown();
  }
  // Connects `count` clients that send these bytes and nothing else.
  void crowd(size_t count, const std::string& bytes, int receive_bytes = 0) {
    for (size_t i = 0; i < count; ++i) {
      clients_.push_back(connect(receive_bytes));
      ASSERT_EQ(send(clients_.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
    }
  }
  // Returns the longest limits: a test that waits for one of them would run into its own timeout.
  static ServerOptions patient() {
    ServerOptions options;
    options.limits.head = options.limits.idle = options.limits.body = std::chrono::minutes(10);
    return options;
  }

  std::vector<int> clients_;
};

TEST_F(ConnectionsTest, RequestsThatDripKeepNobodyWaiting) {
  start(patient());
  crowd(64, "GET /api/v1/catalogue HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ");
  for (const int client : clients_) send(client, "a", 1, MSG_NOSIGNAL);
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
  for (const int client : clients_) send(client, "\r\n", 2, MSG_NOSIGNAL);
  EXPECT_EQ(status_of(get("/api/v1/evaluations")), 200);
}

TEST_F(ConnectionsTest, IdleClientsKeepNobodyWaiting) {
  start(patient());
  crowd(64, "");
  crowd(64, "GET /api/v1/none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
}

TEST_F(ConnectionsTest, AnswersThatAreNotTakenKeepNobodyWaiting) {
  ServerOptions options = patient();
  options.page = std::string(8 << 20, 'x');  // more than the system buffers for a client
  options.limits.untaken_bytes = 32 << 20;   // a tenth of the bytes that they request
  start(options);
  crowd(40, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 4096);
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
  const std::string page = get("/");
  EXPECT_GT(page.size(), options.page.size());
}

TEST_F(ConnectionsTest, ANewClientTakesThePlaceOfTheOneThatIsWaitedForLongest) {
  ServerOptions options = patient();
  options.limits.connections = 8;
  start(options);
  crowd(40, "GET /api");
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
  EXPECT_EQ(hear(clients_.front()), "");
  clients_.erase(clients_.begin());
}

TEST_F(ConnectionsTest, WhatTakesTooLongIsRefused) {
  ServerOptions options;
  options.limits.head = milliseconds(1000);
  options.limits.idle = milliseconds(1000);
  options.limits.body = milliseconds(50);
  options.limits.bytes_per_second = 100 << 20;
  options.max_upload_bytes = 64 << 20;
  options.token = "secret";
  options.page = std::string(16 << 20, 'x');
  start(options);
  EXPECT_EQ(status_of(say("GET / HTTP/1.1\r\nHost: 127")), 408);
  EXPECT_EQ(say(""), "");
  // The request is answered, and then the connection is closed although it asked to be kept open.
  EXPECT_EQ(status_of(say("GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")), 404);
  EXPECT_EQ(status_of(say("POST /api/v1/evaluations?name=a.xsp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                          "Authorization: Bearer secret\r\nContent-Length: 1000\r\n\r\nfew")),
            400);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.xsp"));
  crowd(1, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 4096);
  // If the server has closed a connection, its system rejects further bytes.
  while (send(clients_[0], "x", 1, MSG_NOSIGNAL) == 1) poll(nullptr, 0, 5);
  EXPECT_LT(hear(clients_[0]).size(), options.page.size());
  clients_.clear();
}

TEST_F(ConnectionsTest, TooManyThatWaitAreToldSo) {
  ServerOptions options = patient();
  options.limits.threads = 1;
  options.limits.queue = 2;
  start(options);
  // The only thread waits for its turn.
  auto held = std::make_unique<Held>(library_->hold("deep/a b.xsp").value());
  const std::string one =
      "GET /api/v1/evaluations/deep%2Fa%20b.xsp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      "Connection: close\r\n\r\n";
  crowd(3, one);
  std::string refused;
  while (status_of(refused) != 429) {
    crowd(1, one);
    // Only the refused client gets an answer.
    pollfd first{clients_.back(), POLLIN, 0};
    if (poll(&first, 1, 200) > 0) {
      refused = hear(clients_.back());
      clients_.pop_back();
    }
  }
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos);
  held.reset();
  EXPECT_EQ(status_of(hear(clients_.front())), 200);
  clients_.erase(clients_.begin());
}

TEST_F(ConnectionsTest, RequestsMayComeTogetherAndInPieces) {
  start(patient());
  const std::string one = "GET /api/v1/catalogue HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const std::string last = std::string("GET /api/v1/none HTTP/1.1\r\n") + kHost + "\r\n";
  const std::string answers = say(one + one + last);
  size_t found = 0;
  for (size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++found;
  EXPECT_EQ(found, 2U);
  EXPECT_NE(answers.find("HTTP/1.1 404"), std::string::npos);
  const int client = connect();
  for (const char byte : last) ASSERT_EQ(send(client, &byte, 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(status_of(hear(client)), 404);
}

TEST_F(ConnectionsTest, BodiesThatNobodyAskedForAreNotRead) {
  ServerOptions options;
  options.max_upload_bytes = uint64_t{1} << 30;
  options.token = "secret";
  start(options);
  const std::string body =
      std::string(kHost) + "Content-Length: 1000000000\r\n\r\n" + std::string(1 << 16, 'x');
  EXPECT_EQ(status_of(say("POST / HTTP/1.1\r\n" + body)), 405);
  EXPECT_EQ(
      status_of(say("PUT /api/v1/evaluations HTTP/1.1\r\nAuthorization: Bearer secret\r\n" + body)),
      405);
  EXPECT_EQ(status_of(say("GET / HTTP/1.1\r\n" + body)), 400);
  EXPECT_EQ(status_of(say("POST /api/v1/evaluations?name=a.xsp HTTP/1.1\r\n" + body)), 401);
}

TEST_F(ConnectionsTest, StopsWhileClientsHang) {
  start(patient());
  crowd(64, "GET /api/v1/catalogue HTTP/1.1\r\n");
  EXPECT_EQ(status_of(get("/api/v1/catalogue")), 200);
  server_->stop();
  running_.join();
  EXPECT_EQ(hear(clients_.front()), "");
  clients_.erase(clients_.begin());
}

}  // namespace
}  // namespace xsp::serve
