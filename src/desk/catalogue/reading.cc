#include "desk/catalogue/reading.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "desk/manifest/sha256.h"

namespace xsp::catalogue {
namespace {

namespace fs = std::filesystem;

constexpr size_t kThreads = 16;
constexpr size_t kAhead = 64;  // files that are read, and not taken yet

Reading read_one(const fs::path& path, const IsKnown& is_known) {
  Reading one;
  const Result<std::string> sha256 = manifest::sha256_of_file(path.string());
  if (sha256.ok() && is_known(path, *sha256)) {
    one.is_known = true;
    return one;
  }
  Result<FileFigures> figures = read_figures(path);
  if (!figures.ok()) {
    one.problem = figures.error().text;
    // Errors of the store begin with the file's name, which the reader of the problem adds.
    const std::string name = path.string() + ": ";
    if (one.problem.starts_with(name)) one.problem.erase(0, name.size());
  } else {
    one.figures = std::move(*figures);
  }
  return one;
}

class Readers {
 public:
  Readers(const std::vector<fs::path>& files, const IsKnown& is_known)
      : files_(files), is_known_(is_known) {
    const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kThreads);
    for (size_t i = 0; i < std::min(most, files.size()); ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  ~Readers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& one : threads_) one.join();
  }
  // Waits for the file of this index.
  Reading take(size_t index) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return read_.count(index) != 0; });
    Reading one = std::move(read_.extract(index).mapped());
    taken_ = index + 1;
    changed_.notify_all();
    return one;
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock,
                    [&] { return is_over_ || next_ >= files_.size() || next_ < taken_ + kAhead; });
      if (is_over_ || next_ >= files_.size()) return;
      const size_t index = next_++;
      lock.unlock();
      Reading one = read_one(files_[index], is_known_);
      lock.lock();
      read_.emplace(index, std::move(one));
      changed_.notify_all();
    }
  }

  const std::vector<fs::path>& files_;
  const IsKnown& is_known_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, Reading> read_;
  size_t next_ = 0;
  size_t taken_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Status read_files(const std::vector<fs::path>& files, const IsKnown& is_known, const Take& take) {
  Readers readers(files, is_known);
  for (size_t i = 0; i < files.size(); ++i) {
    const Reading one = readers.take(i);
    XSP_CHECK_OK(take(files[i], one));
  }
  return Ok{};
}

}  // namespace xsp::catalogue
