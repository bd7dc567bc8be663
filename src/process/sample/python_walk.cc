#include "process/sample/python_walk.h"

#include <dlfcn.h>

namespace xsp::process {
namespace {

constexpr size_t kInterpretersMax = 16;
constexpr size_t kTextCharactersMax = kPythonNameBytesMax - 8;
// Bits of a text's state: characters have 1, 2 or 4 bytes; they follow the head; all are ASCII.
constexpr uint32_t kKindShift = 2;
constexpr uint32_t kKindMask = 7;
constexpr uint32_t kCompactBit = 1u << 5;
constexpr uint32_t kAsciiBit = 1u << 6;
constexpr size_t kObjectSize = 16;  // offset of the size in an object of variable size
constexpr uint64_t kTagMask = 3;    // bits of references that carry a mark

uint64_t address_of(const char* symbol) {
  return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, symbol));
}

// Finds the version. Before Py_Version existed, a function that a version introduced identifies it.
uint32_t find_version() {
  const void* number = dlsym(RTLD_DEFAULT, "Py_Version");
  if (number != nullptr) {
    return static_cast<uint32_t>(*static_cast<const unsigned long*>(number) >> 16);
  }
  if (address_of("PyIter_Send") != 0) return 0x030a;
  if (address_of("PyFrame_GetBack") != 0) return 0x0309;
  return address_of("PyCode_NewWithPosOnlyArgs") != 0 ? 0x0308 : 0;
}

char* put_utf8(char* out, uint32_t c) {
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
    return out;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  *out++ = static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) {
    *out++ = static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
  }
  return out;
}

uint32_t character_at(const uint8_t* data, size_t index, uint32_t kind) {
  if (kind == 1) return data[index];
  if (kind == 2) return field_of<uint16_t>(data, 2 * index);
  const uint32_t c = field_of<uint32_t>(data, 4 * index);
  return c < 0x110000 ? c : '?';
}

}  // namespace

PythonSymbols find_python() {
  PythonSymbols symbols;
  symbols.runtime = address_of("_PyRuntime");
  symbols.code_type = address_of("PyCode_Type");
  symbols.evaluate = address_of("_PyEval_EvalFrameDefault");
  symbols.version = symbols.runtime != 0 ? find_version() : 0;
  return symbols;
}

bool PythonWalk::begin(const OwnMemory* memory, const PythonSymbols& symbols) {
  memory_ = memory;
  symbols_ = symbols;
  thread_count_ = 0;
  layout_ = nullptr;
  if (symbols.runtime == 0 || symbols.code_type == 0) return false;
  layout_ = find_python_layout(*memory, symbols.runtime, symbols.version, &own_layout_);
  return layout_ != nullptr;
}

size_t PythonWalk::read_guessed(const Piece* first, size_t first_count, size_t count,
                                size_t bytes) {
  guess_.count = guess_.next = 0;
  Piece pieces[kPiecesMax];
  for (size_t i = 0; i < first_count; ++i) pieces[i] = first[i];
  size_t before = first_count;  // pieces in front of the blocks
  size_t first_read = 0;
  do {
    const size_t room = kPiecesMax - before;
    const size_t wanted = count - guess_.count < room ? count - guess_.count : room;
    for (size_t i = 0; i < wanted; ++i) {
      const size_t at = guess_.count + i;
      pieces[before + i] = {guess_.address[at], guess_.bytes[at], bytes};
    }
    const size_t got = memory_->read_pieces(pieces, before + wanted);
    if (before > 0) first_read = got < before ? got : before;
    if (got < before + wanted) {
      guess_.count += got > before ? got - before : 0;
      break;
    }
    guess_.count += wanted;
    before = 0;
  } while (guess_.count < count);
  return first_read;
}

// Blocks that were read in advance are in the order of the chain; some threads may have ended
// since.
const uint8_t* PythonWalk::block_at(uint64_t address, size_t bytes, uint8_t* scratch) {
  for (size_t i = guess_.next; i < guess_.count; ++i) {
    if (guess_.address[i] != address) continue;
    guess_.next = i + 1;
    return guess_.bytes[i];
  }
  return memory_->read(address, scratch, bytes) ? scratch : nullptr;
}

bool PythonWalk::find_lock(Interpreter* interpreter) const {
  const PythonLayout& layout = *layout_;
  interpreter->lock = symbols_.runtime + static_cast<uint64_t>(layout.gil.in_runtime);
  const auto offset = static_cast<uint64_t>(layout.gil.of_interpreter);
  return offset == 0 || memory_->read(interpreter->address + offset, &interpreter->lock);
}

void PythonWalk::pieces_of(Interpreter* interpreter, Piece* pieces) const {
  const PythonLayout& layout = *layout_;
  const uint64_t at = interpreter->address;
  const uint64_t lock = interpreter->lock;
  pieces[0] = {at + layout.interpreter.threads, &interpreter->threads, sizeof interpreter->threads};
  pieces[1] = {at + layout.interpreter.next, &interpreter->next, sizeof interpreter->next};
  pieces[2] = {lock + layout.gil.locked, &interpreter->locked, sizeof interpreter->locked};
  pieces[3] = {lock + layout.gil.holder, &interpreter->holder, sizeof interpreter->holder};
}

void PythonWalk::list_threads(const Interpreter& interpreter) {
  const PythonLayout& layout = *layout_;
  uint8_t scratch[kThreadBytesMax];
  uint64_t address = interpreter.threads;
  while (address != 0 && thread_count_ < kPythonThreadsMax) {
    const uint8_t* block = block_at(address, kThreadBytesMax, scratch);
    if (block == nullptr) return;
    PythonThread& thread = threads_[thread_count_++];
    thread.address = address;
    thread.frame = field_of<uint64_t>(block, layout.thread.frame);
    thread.id = field_of<uint64_t>(block, layout.thread.id);
    thread.native_id = layout.thread.native_id < 0
                           ? 0
                           : static_cast<int32_t>(field_of<uint64_t>(
                                 block, static_cast<size_t>(layout.thread.native_id)));
    thread.holds_lock = interpreter.locked == 1 && interpreter.holder == address;
    thread.lock = interpreter.lock;
    address = field_of<uint64_t>(block, layout.thread.next);
  }
}

void PythonWalk::look() {
  const size_t known = thread_count_;
  for (size_t i = 0; i < known; ++i) guess_.address[i] = threads_[i].address;
  thread_count_ = 0;
  uint64_t first = 0;
  Piece pieces[1 + kInterpreterPieces];
  pieces[0] = {symbols_.runtime + layout_->interpreters, &first, sizeof first};
  pieces_of(&main_, pieces + 1);
  const bool is_known = main_.address != 0;
  const size_t wanted = is_known ? 1 + kInterpreterPieces : 1;
  const size_t got = read_guessed(pieces, wanted, is_known ? known : 0, kThreadBytesMax);
  if (got == 0) return;
  if (!is_known || got < wanted || first != main_.address) {
    // This is the first look, or the first interpreter has changed.
    main_ = {};
    main_.address = first;
    if (first == 0 || !find_lock(&main_)) {
      main_.address = 0;
      return;
    }
    pieces_of(&main_, pieces);
    if (memory_->read_pieces(pieces, kInterpreterPieces) < kInterpreterPieces) return;
  }
  list_threads(main_);
  Interpreter one = {};
  one.address = main_.next;
  for (size_t i = 0; one.address != 0 && i < kInterpretersMax; ++i) {
    if (!find_lock(&one)) return;
    pieces_of(&one, pieces);
    if (memory_->read_pieces(pieces, kInterpreterPieces) < kInterpreterPieces) return;
    list_threads(one);
    one.address = one.next;
  }
}

size_t PythonWalk::walk(const PythonThread& thread, const PythonFrame* known, size_t known_count,
                        PythonFrame* frames) {
  const PythonLayout& layout = *layout_;
  const size_t bytes = layout.frame.bytes < kFrameBytesMax ? layout.frame.bytes : kFrameBytesMax;
  is_cut_ = is_broken_ = false;
  uint64_t address = thread.frame;
  if (address == 0) return 0;
  for (size_t i = 0; i < known_count; ++i) guess_.address[i] = known[i].address;
  Piece cframe = {};
  if (layout.thread.frame_of_cframe >= 0) {
    cframe = {address + static_cast<uint64_t>(layout.thread.frame_of_cframe), &address,
              sizeof address};
  }
  const size_t steps_to_frame = cframe.out != nullptr ? 1 : 0;
  if (read_guessed(&cframe, steps_to_frame, known_count, bytes) < steps_to_frame) {
    is_broken_ = true;
    return 0;
  }
  size_t count = 0;
  uint8_t scratch[kFrameBytesMax];
  for (size_t step = 0; address != 0 && count < kDepthMax && step < 2 * kDepthMax; ++step) {
    const uint8_t* block = block_at(address, bytes, scratch);
    if (block == nullptr) break;
    const bool is_of_c =
        layout.frame.owner >= 0 && block[static_cast<size_t>(layout.frame.owner)] >= kOwnerOfC;
    if (!is_of_c) {
      PythonFrame& frame = frames[count++];
      frame.address = address;
      frame.code = field_of<uint64_t>(block, layout.frame.code) & ~kTagMask;
      frame.instruction = layout.has_addresses()
                              ? field_of<uint64_t>(block, layout.frame.instruction)
                              : field_of<uint32_t>(block, layout.frame.instruction);
      frame.node = 0;
    }
    address = field_of<uint64_t>(block, layout.frame.back);
  }
  is_cut_ = address != 0 && count == kDepthMax;
  is_broken_ = address != 0 && !is_cut_;
  return count;
}

bool PythonWalk::refresh(PythonThread* thread) const {
  const uint64_t field = thread->address + static_cast<uint64_t>(layout_->thread.frame);
  return memory_->read(field, &thread->frame) && thread->frame != 0;
}

size_t PythonWalk::read_codes(const PythonFrame* frames, size_t count, PythonCode* codes) {
  const PythonLayout& layout = *layout_;
  const size_t bytes = layout.code.lines + 8;
  uint8_t blocks[kPiecesMax][kCodeBytesMax];
  size_t left = count;
  while (left > 0) {
    Piece pieces[kPiecesMax];
    const size_t wanted = left < kPiecesMax ? left : kPiecesMax;
    for (size_t i = 0; i < wanted; ++i) pieces[i] = {frames[left - 1 - i].code, blocks[i], bytes};
    const size_t got = memory_->read_pieces(pieces, wanted);
    for (size_t i = 0; i < got; ++i, --left) {
      if (field_of<uint64_t>(blocks[i], layout.code.type) != symbols_.code_type) return left;
      codes[left - 1] = {field_of<uint64_t>(blocks[i], layout.code.filename),
                         field_of<uint64_t>(blocks[i], layout.code.name),
                         field_of<uint64_t>(blocks[i], layout.code.lines),
                         field_of<int32_t>(blocks[i], layout.code.first_line),
                         layout.has_addresses() ? field_of<int32_t>(blocks[i], kObjectSize) : -1};
    }
    if (got < wanted) return left;
  }
  return 0;
}

int32_t PythonWalk::instruction_of(const PythonFrame& frame, const PythonCode& code) const {
  if (!layout_->has_addresses()) return static_cast<int32_t>(frame.instruction);
  const uint64_t first = frame.code + static_cast<uint64_t>(layout_->code.bytecode);
  const int64_t number = (static_cast<int64_t>(frame.instruction - first)) / 2;
  return number >= 0 && number < code.size ? static_cast<int32_t>(number) : -1;
}

bool PythonWalk::read_function(uint64_t code, char* out) const {
  const int32_t offset = layout_->code.qualname >= 0 ? layout_->code.qualname
                                                     : static_cast<int32_t>(layout_->code.name);
  uint64_t text = 0;
  return memory_->read(code + static_cast<uint64_t>(offset), &text) && read_text(text, out);
}

bool PythonWalk::read_text(uint64_t text, char* out) const {
  uint64_t length = 0;
  uint32_t state = 0;
  const Piece head[] = {{text + layout_->text.length, &length, sizeof length},
                        {text + layout_->text.state, &state, sizeof state}};
  if (memory_->read_pieces(head, 2) != 2 || (state & kCompactBit) == 0) return false;
  const uint32_t kind = (state >> kKindShift) & kKindMask;
  if (kind != 1 && kind != 2 && kind != 4) return false;
  size_t count = length < kTextCharactersMax ? length : kTextCharactersMax;
  const size_t data = (state & kAsciiBit) != 0 ? layout_->text.ascii : layout_->text.compact;
  uint8_t bytes[4 * kTextCharactersMax];
  if (!memory_->read(text + data, bytes, count * kind)) return false;
  char* end = out;
  for (size_t i = 0; i < count && end < out + kPythonNameBytesMax - 5; ++i) {
    end = put_utf8(end, character_at(bytes, i, kind));
  }
  *end = '\0';
  return true;
}

size_t PythonWalk::read_lines(const PythonCode& code, uint8_t* out) const {
  uint64_t length = 0;
  if (!memory_->read(code.lines + layout_->bytes.length, &length)) return 0;
  if (length > kLinesBytesMax) return 0;
  return memory_->read(code.lines + layout_->bytes.data, out, length) ? length : 0;
}

}  // namespace xsp::process
