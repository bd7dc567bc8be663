// The process that keeps a file open for another process.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "desk/store/apart.h"
#include "desk/store/confine.h"
#include "desk/store/duck.h"
#include "desk/store/wire.h"
#include "shared/base/guard.h"

namespace xsp::store {
namespace {

// Memory that DuckDB uses in addition to the memory that it counts: its code's data, and stacks of
// threads.
constexpr uint64_t kBesideBytes = uint64_t{512} << 20;
constexpr uint64_t kOfLimit = 4;  // share of the limit for the answer's cells and for memory that
                                  // DuckDB does not count

size_t fill(char* to, size_t size) {
  for (;;) {
    const ssize_t got = ::read(kSocket, to, size);
    if (got < 0 && errno == EINTR) continue;
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
}

struct Question {
  std::string sql;
  std::map<std::string, Value> parameters;
  Rows rows = Rows::kNone;
};

Question read_question(WireReader& reader) {
  Question question;
  question.sql = reader.text();
  for (uint64_t left = reader.number(); reader.ok() && left > 0; --left) {
    std::string name = reader.text();
    question.parameters[std::move(name)] = reader.value();
  }
  question.rows = static_cast<Rows>(reader.byte());
  return question;
}

// Receives the queries. While one is being answered, only an interrupt arrives.
class Questions {
 public:
  Questions(WireReader reader, Database& database)
      : reader_(std::move(reader)), database_(database), thread_([this] { read(); }) {}

  Question next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return question_.has_value(); });
    Question question = std::move(*question_);
    question_.reset();
    return question;
  }

 private:
  [[noreturn]] void read() {
    for (;;) {
      const Word word = reader_.word();
      // The other side has gone, so no one needs the pending answer.
      if (!reader_.ok()) ::_exit(0);
      if (word == Word::kInterrupt) {
        database_.interrupt();
        continue;
      }
      Question question = read_question(reader_);
      if (word != Word::kQuery || !reader_.ok()) ::_exit(2);
      const std::lock_guard lock(mutex_);
      question_ = std::move(question);
      came_.notify_one();
    }
  }

  WireReader reader_;
  Database& database_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<Question> question_;
  std::thread thread_;
};

Status write_rows(const Question& question, Database& database, WireWriter& writer) {
  QueryResult result;
  const bool is_streamed = question.rows == Rows::kStreamed;
  XSP_CHECK_OK(database.run(question.sql, question.parameters, result, is_streamed));
  if (question.rows == Rows::kNone) return Ok{};
  ResultRows rows(result.result);
  writer.word(Word::kColumns);
  writer.number(rows.columns().size());
  for (const Column& column : rows.columns()) {
    writer.text(column.name);
    writer.text(column.type);
  }
  for (std::vector<std::vector<Value>> some; rows.next(&some);) {
    for (const auto& row : some) {
      writer.word(Word::kRow);
      for (const Value& value : row) writer.value(value);
    }
  }
  return rows.check(database.state().name);
}

void write_answer(const Question& question, Database& database, const std::string& name,
                  WireWriter& writer) {
  std::optional<Error> error;
  const auto thrown = guard([&] {
    const Status status = write_rows(question, database, writer);
    if (!status.ok()) error = status.error();
  });
  if (thrown && thrown->out_of_memory) {
    error = Error{Code::kOutOfMemory,
                  "SQL on " + name + ": needs more memory than it may take: ask for less"};
  } else if (thrown) {
    error = failed("SQL on " + name + ": " + condense(thrown->text));
  }
  error ? writer.error(*error) : writer.word(Word::kOk);
  if (!writer.flush()) ::_exit(0);
}

void close_others() {
  if (::syscall(SYS_close_range, kSocket + 1, ~0U, 0) == 0) return;
  const auto most = static_cast<int>(::sysconf(_SC_OPEN_MAX));
  for (int fd = kSocket + 1; fd < most; ++fd) ::close(fd);
}

}  // namespace

int be_apart() {
  close_others();
  WireReader reader(fill);
  if (reader.word() != Word::kOpen) return 2;
  const std::string path = reader.text();
  const std::string spill = reader.text();
  ReadLimits limits;
  limits.memory_bytes = reader.number();
  limits.threads = static_cast<int>(reader.number());
  if (!reader.ok()) return 2;
  const std::filesystem::path whole = std::filesystem::absolute(path);
  confine({{whole, whole.string() + ".wal"},
           {spill},
           limits.memory_bytes == 0 ? 0 : kOfLimit * limits.memory_bytes + kBesideBytes});
  WireWriter writer(kSocket);
  auto database = Database::open_here(path, limits, spill);
  if (!database.ok()) {
    writer.error(database.error());
    writer.flush();
    ::_exit(0);
  }
  writer.word(Word::kOk);
  writer.flush();
  Questions questions(std::move(reader), *database);
  for (;;) write_answer(questions.next(), *database, path, writer);
}

}  // namespace xsp::store
