// Helpers of the server's tests: a server over a folder of one evaluation, and a client that may
// send any bytes.
#ifndef XSP_DESK_SERVE_TESTING_H_
#define XSP_DESK_SERVE_TESTING_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "desk/serve/http/server.h"
#include "desk/store/database.h"

namespace xsp::serve {

inline constexpr const char* kHost = "Host: 127.0.0.1\r\nConnection: close\r\n";

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("serve_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "deep");
    make(folder_ / "deep" / "a b.xsp");
  }
  void TearDown() override {
    if (server_) server_->stop();
    if (running_.joinable()) running_.join();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  static void make(const std::filesystem::path& path) {
    auto database = store::Database::create(path);
    ASSERT_TRUE(database.ok()) << database.error().text;
    ASSERT_TRUE(database->execute("INSERT INTO evaluation VALUES ('model', 'tiny')").ok());
    ASSERT_TRUE(database->finish().ok());
  }

  void start(ServerOptions options = {}) {
    options.port = 0;
    auto library = Library::of_folder(folder_);
    ASSERT_TRUE(library.ok());
    library_ = std::move(library).value();
    server_ = std::make_unique<Server>(*library_, options);
    const auto address = server_->listen();
    ASSERT_TRUE(address.ok()) << address.error().text;
    const std::string text = address.value();
    std::from_chars(text.data() + text.rfind(':') + 1, text.data() + text.size(), port_);
    running_ = std::thread([this] { EXPECT_TRUE(server_->run().ok()); });
  }

  // `receive_bytes` is the size of this client's receive buffer; 0 means the system's default.
  int connect(int receive_bytes = 0) const {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (receive_bytes != 0) {
      setsockopt(client, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return client;
  }
  // Returns the server's answer to these bytes, until it closes the connection.
  std::string say(const std::string& bytes) const {
    const int client = connect();
    EXPECT_EQ(send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return hear(client);
  }
  // Returns all bytes that arrive until the server closes the connection.
  static std::string hear(int client) {
    std::string answer;
    char piece[4096];
    for (ssize_t got; (got = recv(client, piece, sizeof piece, 0)) > 0;) {
      answer.append(piece, static_cast<size_t>(got));
    }
    close(client);
    return answer;
  }
  std::string get(const std::string& target, const std::string& headers = kHost) const {
    return say("GET " + target + " HTTP/1.1\r\n" + headers + "\r\n");
  }
  static int status_of(const std::string& answer) {
    int status = 0;
    if (answer.size() > 12) std::from_chars(answer.data() + 9, answer.data() + 12, status);
    return status;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Server> server_;
  std::thread running_;
  uint16_t port_ = 0;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_TESTING_H_
