// Tests how long an asker and an agent may be silent.
#include "desk/catalogue/queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace xsp::catalogue {
namespace {

class QueueTest : public testing::Test {
 protected:
  QueueTest() {
    std::string name = (std::filesystem::temp_directory_path() / "xsp-queue-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~QueueTest() override { std::filesystem::remove_all(folder_); }

  std::string place() const { return (folder_ / "catalogue.sqlite").string(); }
  // Lets time pass: whatever the queue noted was so much earlier.
  void pass(int time_s) const {
    auto engine = open_engine(place(), false);
    ASSERT_TRUE(engine.ok()) << engine.error().text;
    for (const char* sql :
         {"UPDATE queue SET asked_at = asked_at - $1, lease_until = lease_until - $1",
          "UPDATE agent SET seen_at = seen_at - $1"}) {
      const Status done = catalogue::run(**engine, sql, {int64_t{time_s}});
      ASSERT_TRUE(done.ok()) << done.error().text;
    }
  }

  std::filesystem::path folder_;
  const Queued task_ = {"sweep", "unit", "{}", "", "", ""};
  const AgentRow agent_ = {"one", "{}"};
};

// Both wait for a server that is started again, so neither is gone when it comes back.
TEST_F(QueueTest, OutlivesARestartOfTheServer) {
  auto queue = Queue::open(place());
  ASSERT_TRUE(queue.ok()) << queue.error().text;
  ASSERT_TRUE(queue->put(task_).ok());
  ASSERT_TRUE(queue->beat(agent_).ok());
  pass(kPatienceSeconds + static_cast<int>(kBeat_s));
  EXPECT_EQ(queue->agents()->size(), 1u);
  ASSERT_TRUE(queue->lease(agent_, [](const Queued&) { return true; })->has_value());
  pass(kPatienceSeconds + static_cast<int>(kBeat_s));
  std::string who;
  EXPECT_EQ(*queue->look(task_, &who), QueueState::kLeased);
  EXPECT_TRUE(*queue->renew(task_, agent_));
  EXPECT_EQ(who, "one");
}

TEST_F(QueueTest, WhoIsSilentForLongerIsGone) {
  auto queue = Queue::open(place());
  ASSERT_TRUE(queue.ok()) << queue.error().text;
  ASSERT_TRUE(queue->put(task_).ok());
  ASSERT_TRUE(queue->beat(agent_).ok());
  ASSERT_TRUE(queue->lease(agent_, [](const Queued&) { return true; })->has_value());
  pass(static_cast<int>(kSilence_s) + 1);
  EXPECT_TRUE(queue->agents()->empty());
  EXPECT_FALSE(*queue->renew(task_, agent_)) << "its asker is gone";
  std::string who;
  EXPECT_EQ(*queue->look(task_, &who), QueueState::kLost);
  EXPECT_FALSE(queue->lease(agent_, [](const Queued&) { return true; })->has_value());
}

}  // namespace
}  // namespace xsp::catalogue
