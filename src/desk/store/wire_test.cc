#include "desk/store/wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

namespace xsp::store {
namespace {

WireReader reader_of(std::string bytes) {
  return WireReader([bytes = std::move(bytes), at = size_t{0}](char* to, size_t size) mutable {
    const size_t some = std::min({size, bytes.size() - at, size_t{7}});
    bytes.copy(to, some, at);
    at += some;
    return some;
  });
}

TEST(Wire, WhatIsWrittenIsRead) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const std::vector<Value> values = {
      std::monostate(), true, int64_t{-5}, 0.25, std::string(300'000, 'x'), std::string("a\0b", 3)};
  std::thread writing([&] {
    WireWriter writer(pair[0]);
    writer.word(Word::kRow);
    for (const Value& value : values) writer.value(value);
    writer.error(Error{Code::kInterrupted, "why"});
    EXPECT_TRUE(writer.flush());
    ::close(pair[0]);
  });
  WireReader reader([&](char* to, size_t size) {
    const ssize_t got = ::read(pair[1], to, size);
    return got > 0 ? static_cast<size_t>(got) : 0;
  });
  EXPECT_EQ(reader.word(), Word::kRow);
  for (const Value& value : values) EXPECT_EQ(reader.value(), value);
  EXPECT_EQ(reader.word(), Word::kError);
  const Error error = reader.error();
  EXPECT_EQ(error.code, Code::kInterrupted);
  EXPECT_EQ(error.text, "why");
  EXPECT_TRUE(reader.ok());
  reader.byte();
  EXPECT_FALSE(reader.ok()) << "there is no more";
  writing.join();
  ::close(pair[1]);
}

TEST(Wire, NoBytesMakeTheReaderFailOrSwell) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 8 == 0 ? random() : random() % 6);
    WireReader reader = reader_of(bytes);
    while (reader.ok()) {
      EXPECT_LE(reader.text().size(), bytes.size());
      reader.value();
      (void)reader.error();
    }
  }
  // The message claims a text longer than any memory, and has only a few bytes of it.
  WireReader claim = reader_of(std::string(8, '\x7F') + "abc");
  EXPECT_EQ(claim.text(), "");
  EXPECT_FALSE(claim.ok());
  WireReader bounded = reader_of(std::string(1000, '\0'));
  bounded.limit(20);
  for (int i = 0; i < 3; ++i) bounded.number();
  EXPECT_TRUE(bounded.is_over_limit());
}

}  // namespace
}  // namespace xsp::store
