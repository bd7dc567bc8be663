#include "process/sample/stack_log.h"

#include <stdio.h>
#include <string.h>

#include "process/record/watcher.h"
#include "process/sample/call_names.h"
#include "shared/trace/varint.h"

namespace xsp::process {
namespace {

using trace::ChunkHeader;
using trace::ChunkType;
using trace::LinesForm;
using trace::LockState;
using trace::StackEntry;
using trace::ThreadDoes;

constexpr char kSource[] = "stacks";
constexpr size_t kEntryHeadBytes = trace::kVarintBytesMax + 1;
// A search in a table stops after this many probes: the table counts as full before it is slow.
constexpr uint32_t kProbesMax = 64;
constexpr uint32_t kNativeBit = 1u << 31;
constexpr uint64_t kNativeStep = 16;
constexpr size_t kPathBytesMax = 4096;

uint64_t mixed(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ (value >> 29);
}

uint8_t* put_text(uint8_t* out, const void* text, size_t size) {
  out = trace::put_varint(out, size);
  memcpy(out, text, size);
  return out + size;
}

LinesForm lines_form_of(uint32_t version) {
  if (version >= 0x030b) return LinesForm::kFrom311;
  return version == 0x030a ? LinesForm::k310 : LinesForm::kBefore310;
}

}  // namespace

void StackLog::begin() { stacks_end_ = stacks_ + kHeadBytes; }

// The length is written in front of the entry once it is known.
uint8_t* StackLog::begin_entry(size_t bytes_max) {
  if (stacks_end_ + bytes_max + kEntryHeadBytes > stacks_ + kHeadBytes + kStackBytes) {
    return nullptr;
  }
  entry_ = stacks_end_ + kEntryHeadBytes;
  return entry_;
}

void StackLog::end_entry(uint8_t* end) {
  const size_t bytes = static_cast<size_t>(end - entry_);
  uint8_t* body = trace::put_varint(stacks_end_, bytes);
  memmove(body, entry_, bytes);
  stacks_end_ = body + bytes;
}

bool StackLog::define_code(const PythonWalk& walk, uint64_t address, const PythonCode& facts,
                           uint32_t id) {
  const size_t lines = walk.read_lines(facts, lines_);
  uint8_t* out = begin_entry(1 + 5 * trace::kVarintBytesMax + 2 * kPythonNameBytesMax + lines + 16);
  if (out == nullptr) return false;
  *out++ = static_cast<uint8_t>(StackEntry::kPythonCode);
  out = trace::put_varint(out, id);
  out = trace::put_varint(out, static_cast<uint8_t>(lines_form_of(walk.layout()->version)));
  out = trace::put_varint(out, facts.first_line > 0 ? static_cast<uint32_t>(facts.first_line) : 0);
  if (!walk.read_function(address, name_)) name_[0] = '\0';
  out = put_text(out, name_, strlen(name_));
  if (!walk.read_text(facts.filename, name_)) name_[0] = '\0';
  out = put_text(out, name_, strlen(name_));
  out = put_text(out, lines_, lines);
  end_entry(out);
  return true;
}

// Different code at a known address gets an id of its own.
uint32_t StackLog::code_of(const PythonWalk& walk, uint64_t address, const PythonCode& facts) {
  uint64_t at = mixed(address);
  for (uint32_t probe = 0; probe < kProbesMax; ++probe, ++at) {
    Code& code = codes_[at % kCodesMax];
    const bool is_free = code.id == 0;
    if (!is_free && code.address != address) continue;
    if (!is_free && code.facts == facts) return code.id;
    if (!define_code(walk, address, facts, code_ids_ + 1)) return 0;
    code = {address, facts, ++code_ids_};
    return code.id;
  }
  return 0;
}

uint32_t StackLog::node_below(uint32_t parent, uint32_t code, int32_t instruction) {
  uint64_t at = mixed((uint64_t{parent} << 32 | code) ^
                      mixed(static_cast<uint32_t>(instruction) + uint64_t{1}));
  for (uint32_t probe = 0; probe < kProbesMax; ++probe, ++at) {
    Node& node = nodes_[at % kNodesMax];
    if (node.id == 0) {
      uint8_t* out = begin_entry(1 + 4 * trace::kVarintBytesMax);
      if (out == nullptr) return 0;
      node = {parent, code, instruction, ++node_count_};
      const bool is_native = (code & kNativeBit) != 0;
      const uint64_t place = is_native ? uint64_t{static_cast<uint32_t>(instruction)} * kNativeStep
                                       : trace::zigzag(static_cast<uint64_t>(int64_t{instruction}));
      *out++ = static_cast<uint8_t>(is_native ? StackEntry::kNativeNode : StackEntry::kPythonNode);
      out = trace::put_varint(out, node.id);
      out = trace::put_varint(out, parent);
      out = trace::put_varint(out, code & ~kNativeBit);
      out = trace::put_varint(out, place);
      end_entry(out);
      return node.id;
    }
    const bool is_it =
        node.parent == parent && node.code == code && node.instruction == instruction;
    if (is_it) return node.id;
  }
  return 0;
}

uint32_t StackLog::node_of(const PythonWalk& walk, uint32_t parent, const PythonFrame& frame,
                           const PythonCode& code) {
  const uint32_t id = code_of(walk, frame.code, code);
  const uint32_t node = id == 0 ? 0 : node_below(parent, id, walk.instruction_of(frame, code));
  if (node == 0) ++without_room_;
  return node;
}

uint32_t StackLog::native_node_of(uint32_t parent, uint32_t module, uint64_t offset) {
  const uint32_t node =
      node_below(parent, (module + 1) | kNativeBit,
                 static_cast<int32_t>(static_cast<uint32_t>(offset / kNativeStep)));
  if (node == 0) ++without_room_;
  return node == 0 ? parent : node;
}

void StackLog::define_module(uint32_t module, const Module& facts, const char* path) {
  const size_t length = strnlen(path, kPathBytesMax);
  uint8_t* out = begin_entry(1 + 4 * trace::kVarintBytesMax + length);
  if (out == nullptr) {
    ++without_room_;
    return;
  }
  *out++ = static_cast<uint8_t>(StackEntry::kModule);
  out = trace::put_varint(out, module + 1);
  out = trace::put_varint(out, facts.offset);
  out = trace::put_varint(out, facts.end - facts.start);
  end_entry(put_text(out, path, length));
}

uint32_t StackLog::text_of_call(int32_t call) {
  if (call < 0) return 0;
  const bool has_place = static_cast<size_t>(call) < kCallTextsMax;
  uint32_t* text = has_place ? &call_texts_[call] : &other_call_text_;
  if (*text != 0) return *text;
  const char* name = has_place ? name_of_call(call) : "another call";
  char number[32];
  if (name == nullptr) {
    snprintf(number, sizeof number, "call %d", static_cast<int>(call));
    name = number;
  }
  uint8_t* out = begin_entry(1 + 2 * trace::kVarintBytesMax + strlen(name));
  if (out == nullptr) return 0;
  *text = ++text_ids_;
  *out++ = static_cast<uint8_t>(StackEntry::kText);
  out = trace::put_varint(out, *text);
  end_entry(put_text(out, name, strlen(name)));
  return *text;
}

void StackLog::begin_looks(int64_t now_ns) {
  const trace::SamplesHeader header = {now_ns, 0, 0};
  memcpy(looks_ + kHeadBytes, &header, sizeof header);
  looks_end_ = looks_ + kHeadBytes + sizeof header;
  look_count_ = 0;
  look_ns_ = now_ns;
  said_count_ = 0;
}

// Threads come in the same order at every look, so the search usually ends at once.
bool StackLog::is_news(size_t* hint, const SampledThread& thread, uint8_t does) {
  size_t at = *hint;
  for (size_t i = 0; i < said_count_ && said_[at < said_count_ ? at : 0].tid != thread.tid; ++i) {
    at = at + 1 < said_count_ ? at + 1 : 0;
  }
  if (at >= said_count_) at = 0;
  if (said_count_ == 0 || said_[at].tid != thread.tid) {
    if (said_count_ == kSampledThreadsMax) return true;
    at = said_count_++;
    said_[at] = {thread.tid, 0, 0, 0, true};
  }
  Said& said = said_[at];
  said.is_there = true;
  *hint = at + 1;
  const bool is_same = said.node == thread.node && said.call_text == thread.call_text &&
                       said.does == does && does != 0 && (thread.system_ns | thread.faults) == 0;
  said.node = thread.node;
  said.call_text = thread.call_text;
  said.does = does;
  return !is_same;
}

void StackLog::add_look(int64_t now_ns, int64_t duration_ns, const SampledThread* threads,
                        size_t count) {
  constexpr size_t kNewsBytes = 5 * trace::kVarintBytesMax + 1;
  const size_t wanted = (count + kSampledThreadsMax + 2) * kNewsBytes;
  if (look_count_ > 0 && looks_end_ + wanted > looks_ + kHeadBytes + kLookBytes) {
    looks_without_room_ += count;
    return;
  }
  if (look_count_ == 0) begin_looks(now_ns);
  // The count of changes is written in front of them.
  uint8_t* const start = looks_end_;
  uint8_t* out = start + 3 * trace::kVarintBytesMax;
  uint8_t* const news = out;
  uint64_t news_count = 0;
  for (size_t i = 0; i < said_count_; ++i) said_[i].is_there = false;
  size_t hint = 0;
  uint64_t samples = 0;
  const auto put = [&](int32_t tid, uint8_t does, const SampledThread* thread) {
    out = trace::put_varint(out, static_cast<uint32_t>(tid));
    *out++ = does;
    out = trace::put_varint(out, thread != nullptr ? thread->node : 0);
    out = trace::put_varint(out, thread != nullptr ? thread->call_text : 0);
    out = trace::put_varint(out, thread != nullptr ? thread->system_ns : 0);
    out = trace::put_varint(out, thread != nullptr ? thread->faults : 0);
    ++news_count;
  };
  for (size_t i = 0; i < count; ++i) {
    const SampledThread& thread = threads[i];
    if (thread.does == ThreadDoes::kEnded) continue;
    ++samples;
    const uint8_t does = static_cast<uint8_t>(
        static_cast<uint8_t>(thread.does) | static_cast<uint8_t>(thread.lock) << trace::kLockShift);
    if (is_news(&hint, thread, does)) put(thread.tid, does, &thread);
  }
  for (size_t i = 0; i < said_count_;) {
    if (said_[i].is_there) {
      ++i;
      continue;
    }
    put(said_[i].tid, 0, nullptr);
    said_[i] = said_[--said_count_];
  }
  const size_t news_bytes = static_cast<size_t>(out - news);
  out = trace::put_varint(start, now_ns > look_ns_ ? static_cast<uint64_t>(now_ns - look_ns_) : 0);
  out = trace::put_varint(out, duration_ns > 0 ? static_cast<uint64_t>(duration_ns) : 0);
  out = trace::put_varint(out, news_count);
  memmove(out, news, news_bytes);
  looks_end_ = out + news_bytes;
  look_ns_ = now_ns;
  ++look_count_;
  xsp_count_samples(samples);
}

bool StackLog::is_filling() const {
  return static_cast<size_t>(stacks_end_ - stacks_) > kStackBytes / 4 ||
         (look_count_ > 0 && static_cast<size_t>(looks_end_ - looks_) > kLookBytes / 4);
}

void StackLog::write_stacks() {
  const size_t bytes = static_cast<size_t>(stacks_end_ - stacks_) - kHeadBytes;
  stacks_end_ = stacks_ + kHeadBytes;
  if (bytes == 0) return;
  const uint32_t type = static_cast<uint32_t>(ChunkType::kStacks);
  if (xsp_append_chunk(type, stacks_, bytes) != 0) ++not_written_;
}

void StackLog::write_looks() {
  if (look_count_ == 0) return;
  memcpy(looks_ + kHeadBytes + offsetof(trace::SamplesHeader, look_count), &look_count_,
         sizeof look_count_);
  const size_t bytes = static_cast<size_t>(looks_end_ - looks_) - kHeadBytes;
  const uint32_t type = static_cast<uint32_t>(ChunkType::kCostedSamples);
  // A reader counts the missing samples.
  (void)xsp_append_chunk(type, looks_, bytes);
  look_count_ = 0;
}

void StackLog::flush() {
  write_stacks();
  write_looks();
  if (without_room_ > 0) xsp_count_loss(kSource, "frame of a stack without room", without_room_);
  if (not_written_ > 0) xsp_count_loss(kSource, "table of stacks not written", not_written_);
  if (looks_without_room_ > 0) {
    xsp_count_loss(kSource, "sample without room", looks_without_room_);
  }
  without_room_ = not_written_ = looks_without_room_ = 0;
}

}  // namespace xsp::process
