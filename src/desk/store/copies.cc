#include "desk/store/copies.h"

#include "desk/store/bounded.h"
#include "desk/store/duck.h"

namespace xsp::store {
namespace {

constexpr std::chrono::hours kMost{24};
constexpr uint64_t kMemoryBytes = uint64_t{1} << 30;

}  // namespace

Result<std::string> with_copies(const std::filesystem::path& file, const std::filesystem::path& to,
                                const std::function<Result<std::string>(Database&)>& work) {
  const std::filesystem::path whole = std::filesystem::absolute(file);
  Bounds bounds;
  bounds.read = {whole, whole.string() + ".wal"};
  bounds.folder = std::filesystem::absolute(to);
  bounds.most = kMost;
  return bounded(bounds, file.string(), [&]() -> Result<std::string> {
    XSP_TRY(const std::unique_ptr<ScratchFolder> spill, ScratchFolder::create());
    ReadLimits limits;
    limits.memory_bytes = kMemoryBytes;
    XSP_TRY(Database database, Database::open_here(file, limits, spill->path(), bounds.folder));
    return work(database);
  });
}

}  // namespace xsp::store
