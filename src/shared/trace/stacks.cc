#include "shared/trace/stacks.h"

#include <algorithm>
#include <cstring>

#include "shared/base/limits.h"
#include "shared/trace/cursor.h"

namespace xsp::trace {
namespace {

constexpr uint64_t kIdMax = UINT32_MAX;
constexpr size_t kLinesBytesMax = 1u << 20;
constexpr uint64_t kThreadsMax = 1u << 22;  // range of thread numbers
// A sampler never writes a look that stands for a longer time.
constexpr uint64_t kStepNsMax = uint64_t{1} << 56;

}  // namespace

bool Stacks::add_entry(std::span<const uint8_t> bytes) {
  Cursor entry(bytes);
  const auto kind = static_cast<StackEntry>(entry.byte());
  const uint64_t id = entry.number();
  if (id == 0 || id > kIdMax) return false;
  const uint32_t number = static_cast<uint32_t>(id);
  switch (kind) {
    case StackEntry::kText: {
      std::string text = entry.text(kNameBytesMax);
      if (entry.is_good()) texts_[number] = std::move(text);
      break;
    }
    case StackEntry::kPythonCode: {
      Code code;
      code.form = static_cast<LinesForm>(entry.number());
      code.first_line = static_cast<int>(std::min<uint64_t>(entry.number(), INT32_MAX));
      code.function = entry.text(kNameBytesMax);
      code.file = entry.text(kNameBytesMax);
      const std::span<const uint8_t> lines = entry.bytes(entry.number());
      if (lines.size() > kLinesBytesMax) return false;
      code.lines.assign(lines.begin(), lines.end());
      if (entry.is_good()) codes_[number] = std::move(code);
      break;
    }
    case StackEntry::kPythonNode: {
      const uint64_t parent = entry.number();
      const uint64_t code = entry.number();
      const auto instruction = static_cast<int64_t>(unzigzag(entry.number()));
      const auto known = codes_.find(static_cast<uint32_t>(std::min(code, kIdMax)));
      // A walk from a node to its parents always ends.
      if (!entry.is_good() || parent >= id || known == codes_.end()) return false;
      const Code& of = known->second;
      nodes_[number] = {static_cast<uint32_t>(parent),
                        of.function,
                        of.file,
                        line_of(of.form, of.lines, of.first_line, instruction),
                        false,
                        0};
      break;
    }
    case StackEntry::kModule: {
      Module module;
      module.offset = entry.number();
      module.bytes = entry.number();
      module.path = entry.text(kNameBytesMax);
      if (entry.is_good()) modules_[number] = std::move(module);
      break;
    }
    case StackEntry::kNativeNode: {
      const uint64_t parent = entry.number();
      const uint64_t module = entry.number();
      const uint64_t offset = entry.number();
      const auto known = modules_.find(static_cast<uint32_t>(std::min(module, kIdMax)));
      if (!entry.is_good() || parent >= id || known == modules_.end()) return false;
      nodes_[number] = {static_cast<uint32_t>(parent), "", known->second.path, 0, true, offset};
      break;
    }
    default:
      return true;  // an entry of a later minor revision
  }
  return entry.is_good();
}

bool Stacks::add(std::span<const uint8_t> payload) {
  Cursor cursor(payload);
  bool is_good = true;
  while (!cursor.is_at_end()) {
    const std::span<const uint8_t> entry = cursor.bytes(cursor.number());
    if (!cursor.is_good()) return false;
    is_good = add_entry(entry) && is_good;
  }
  return is_good;
}

const StackNode* Stacks::node(uint32_t id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

const std::string* Stacks::text(uint32_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

bool parse_samples(ChunkType type, std::span<const uint8_t> payload, std::vector<Sample>* samples) {
  const bool has_cost = type == ChunkType::kCostedSamples;
  SamplesHeader header;
  if (payload.size() < sizeof header) return false;
  std::memcpy(&header, payload.data(), sizeof header);
  Cursor cursor(payload.subspan(sizeof header));
  std::map<uint32_t, Sample> now;  // by thread
  int64_t time_ns = header.first_ns;
  for (uint32_t look = 0; look < header.look_count; ++look) {
    const uint64_t step_ns = cursor.number();
    const uint64_t duration_ns = cursor.number();
    const uint64_t news = cursor.number();
    if (!cursor.is_good() || step_ns > kStepNsMax || duration_ns > kStepNsMax) return false;
    time_ns = static_cast<int64_t>(static_cast<uint64_t>(time_ns) + step_ns);
    for (uint64_t i = 0; i < news; ++i) {
      const uint64_t thread = cursor.number();
      const uint8_t does = cursor.byte();
      const uint64_t node = cursor.number();
      const uint64_t waits_in = cursor.number();
      const uint64_t system_ns = has_cost ? cursor.number() : 0;
      const uint64_t faults = has_cost ? cursor.number() : 0;
      if (!cursor.is_good() || thread > kThreadsMax || node > kIdMax || waits_in > kIdMax ||
          system_ns > kStepNsMax || faults > kStepNsMax) {
        return false;
      }
      Sample& sample = now[static_cast<uint32_t>(thread)];
      sample.thread = static_cast<uint32_t>(thread);
      sample.does = static_cast<ThreadDoes>(does & ((1u << kLockShift) - 1));
      sample.lock = static_cast<LockState>(does >> kLockShift);
      sample.node = static_cast<uint32_t>(node);
      sample.waits_in = static_cast<uint32_t>(waits_in);
      sample.has_cost = has_cost;
      sample.system_ns = system_ns;
      sample.faults = faults;
    }
    std::erase_if(now, [](const auto& one) { return one.second.does == ThreadDoes::kEnded; });
    for (auto& [thread, sample] : now) {
      sample.time_ns = time_ns;
      sample.duration_ns = static_cast<int64_t>(duration_ns);
      samples->push_back(sample);
      sample.system_ns = sample.faults = 0;
    }
  }
  return true;
}

}  // namespace xsp::trace
