#include "process/sample/unwinder.h"

#include <elf.h>
#include <string.h>

#ifdef XSP_HAS_UNWINDER
#include <libunwind.h>

// libunwind declares this function in a header that it does not install.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);
#endif

namespace xsp::process {
namespace {

constexpr uint64_t kProgramHeadersMax = 64;
constexpr size_t kTableHeadBytes = 12;
// Linkers write only this form of the table: offsets of 4 bytes from the table's head.
constexpr uint8_t kTableForm[] = {1, 0x1b, 0x03, 0x3b};
volatile bool is_unwinding = false;
bool was_forked_within = false;

#ifdef XSP_HAS_UNWINDER
Unwinder* of(void* context) { return static_cast<Unwinder*>(context); }

int find_procedure(unw_addr_space_t, unw_word_t ip, unw_proc_info_t* out, int wants_program,
                   void* context) {
  return of(context)->find_procedure(ip, out, wants_program);
}
void put_procedure(unw_addr_space_t, unw_proc_info_t*, void*) {}
int find_made(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int writes,
                  void* context) {
  return writes == 0 && of(context)->read_word(address, value) ? 0 : -UNW_EINVAL;
}
int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int writes,
                    void* context) {
  return writes == 0 && of(context)->read_register(number, value) ? 0 : -UNW_EBADREG;
}
int access_float(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }
int resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int name_procedure(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
  return -UNW_ENOINFO;
}

unw_accessors_t accessors() {
  unw_accessors_t all = {};
  all.find_proc_info = find_procedure;
  all.put_unwind_info = put_procedure;
  all.get_dyn_info_list_addr = find_made;
  all.access_mem = access_memory;
  all.access_reg = access_register;
  all.access_fpreg = access_float;
  all.resume = resume;
  all.get_proc_name = name_procedure;
  return all;
}
#endif

}  // namespace

void forget_unwinding() {
  was_forked_within = was_forked_within || is_unwinding;
  is_unwinding = false;
}

bool Unwinder::begin(const OwnMemory* memory, const Modules* modules) {
  memory_ = memory;
  modules_ = modules;
  space_ = nullptr;
#ifdef XSP_HAS_UNWINDER
  if (was_forked_within) return false;
  unw_accessors_t all = accessors();
  is_unwinding = true;
  const auto space = unw_create_addr_space(&all, 0);
  if (space != nullptr) {
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
    unw_set_cache_size(space, kCachedMax, 0);
  }
  is_unwinding = false;
  space_ = space;
#endif
  return space_ != nullptr;
}

void Unwinder::end() {
#ifdef XSP_HAS_UNWINDER
  if (space_ != nullptr) unw_destroy_addr_space(static_cast<unw_addr_space_t>(space_));
#endif
  space_ = nullptr;
}

void Unwinder::forget_tables() { has_new_ = true; }

bool Unwinder::read_table(const Module& module, Table* table) const {
  Elf64_Ehdr head;
  if (module.head == 0 || !memory_->read(module.head, &head)) return false;
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > kProgramHeadersMax) {
    return false;
  }
  Elf64_Phdr parts[kProgramHeadersMax];
  if (!memory_->read(module.head + head.e_phoff, parts, head.e_phnum * sizeof parts[0])) {
    return false;
  }
  uint64_t moved = module.head;
  for (size_t i = 0; i < head.e_phnum; ++i) {
    if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0) moved -= parts[i].p_vaddr;
  }
  uint64_t address = 0;
  for (size_t i = 0; i < head.e_phnum; ++i) {
    if (parts[i].p_type == PT_GNU_EH_FRAME) address = moved + parts[i].p_vaddr;
  }
  uint8_t form[kTableHeadBytes];
  if (address == 0 || !memory_->read(address, form, sizeof form) ||
      memcmp(form, kTableForm, sizeof kTableForm) != 0) {
    return false;
  }
  for (size_t i = 0; i < head.e_phnum; ++i) {
    const uint64_t start = moved + parts[i].p_vaddr;
    const bool is_constant = parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_W) == 0;
    if (!is_constant || address < start || address - start >= parts[i].p_filesz) continue;
    table->start = start;
    table->end = start + parts[i].p_filesz;
    table->count = field_of<uint32_t>(form, sizeof kTableForm + 4);
    table->head = address;
  }
  return table->head != 0;
}

const Unwinder::Table* Unwinder::table_of(uint64_t address) {
  const int module = modules_->find(address);
  if (module < 0) return nullptr;
  Table& table = tables_[module];
  if (!table.is_known) {
    table.is_known = true;
    if (!read_table((*modules_)[static_cast<size_t>(module)], &table)) table.head = 0;
  }
  return table.head != 0 ? &table : nullptr;
}

bool Unwinder::read_register(int number, uint64_t* out) const {
  if (number < 0 || number >= static_cast<int>(kRegistersMax)) return false;
  if ((start_->known >> number & 1) == 0) return false;
  *out = start_->registers[number];
  return true;
}

bool Unwinder::read_word(uint64_t address, uint64_t* out) {
  const uint64_t in_copy = address - start_->stack;
  if (in_copy < start_->size && start_->size - in_copy >= sizeof *out) {
    *out = field_of<uint64_t>(start_->bytes, in_copy);
    return true;
  }
  const uint64_t page = address & ~(kPageBytes - 1);
  const uint64_t at = address - page;
  if (at > kPageBytes - sizeof *out) return memory_->read(address, out);
  // Tables do not change; a stack is read again each time.
  if (constant_start_ <= address && address < constant_end_) {
    Page& kept = pages_[page / kPageBytes % kTablePagesMax];
    if (kept.address != page) {
      kept.address = memory_->read(page, kept.bytes, sizeof kept.bytes) ? page : 0;
    }
    if (kept.address == 0) return memory_->read(address, out);
    *out = field_of<uint64_t>(kept.bytes, at);
    return true;
  }
  for (size_t i = 0; i < live_count_; ++i) {
    if (live_[i].address != page) continue;
    *out = field_of<uint64_t>(live_[i].bytes, at);
    return true;
  }
  if (live_count_ == kLivePagesMax) return memory_->read(address, out);
  Page& live = live_[live_count_];
  if (!memory_->read(page, live.bytes, sizeof live.bytes)) return memory_->read(address, out);
  live.address = page;
  ++live_count_;
  *out = field_of<uint64_t>(live.bytes, at);
  return true;
}

#ifdef XSP_HAS_UNWINDER

int Unwinder::find_procedure(uint64_t address, void* out, int wants_program) {
  const Table* table = table_of(address);
  if (table == nullptr) return -UNW_ENOINFO;
  const Module& module = (*modules_)[static_cast<size_t>(modules_->find(address))];
  constant_start_ = table->start;
  constant_end_ = table->end;
  unw_dyn_info_t info = {};
  info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  info.start_ip = module.start;
  info.end_ip = module.end;
  info.u.rti.segbase = table->head;
  info.u.rti.table_data = table->head + kTableHeadBytes;
  info.u.rti.table_len = table->count * 2 * sizeof(int32_t) / sizeof(unw_word_t);
  return UNW_OBJ(dwarf_search_unwind_table)(static_cast<unw_addr_space_t>(space_), address, &info,
                                            static_cast<unw_proc_info_t*>(out), wants_program,
                                            this);
}

bool Unwinder::find_function(uint64_t address, uint64_t* start, uint64_t* end) {
  const NativeStart nothing = {};
  start_ = &nothing;
  live_count_ = 0;
  unw_proc_info_t found = {};
  is_unwinding = true;
  const bool is_found = find_procedure(address, &found, 0) >= 0;
  is_unwinding = false;
  *start = found.start_ip;
  *end = found.end_ip;
  return is_found;
}

// Returns whether the callers of the first frame are unchanged: each return address lies just below
// the stack pointer of the caller.
bool Unwinder::is_same_from(const NativeFrame* known, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    uint64_t back = 0;
    if (!read_word(known[i].sp - sizeof back, &back) || back != known[i].address) return false;
  }
  return true;
}

size_t Unwinder::unwind(const NativeStart& start, uint64_t stop, uint64_t stop_end,
                        const NativeFrame* known, size_t known_count, NativeFrame* frames) {
  start_ = &start;
  live_count_ = 0;
  constant_start_ = constant_end_ = 0;
  if (has_new_) {
    // A file may have been mapped in the place of another: drop everything that was cached.
    has_new_ = false;
    unw_flush_cache(static_cast<unw_addr_space_t>(space_), 0, 0);
    for (Page& page : pages_) page.address = 0;
  }
  size_t count = 0;
  size_t next = 0;  // index into `known`
  unw_cursor_t cursor;
  is_unwinding = true;
  int left = unw_init_remote(&cursor, static_cast<unw_addr_space_t>(space_), this) == 0 ? 1 : 0;
  while (left > 0 && count < kNativeDepthMax) {
    NativeFrame frame = {};
    if (unw_get_reg(&cursor, UNW_REG_IP, &frame.address) < 0 ||
        unw_get_reg(&cursor, UNW_REG_SP, &frame.sp) < 0) {
      break;
    }
    // A caller is in a file, and further up the stack. Only the innermost frame may be in generated
    // code.
    const bool is_caller = count > 0;
    if (is_caller && (frame.sp <= frames[count - 1].sp || modules_->find(frame.address - 1) < 0)) {
      break;
    }
    frames[count++] = frame;
    if (stop <= frame.address && frame.address < stop_end) break;
    while (next < known_count && known[next].sp < frame.sp) ++next;
    if (is_caller && next < known_count && known[next].sp == frame.sp &&
        known[next].address == frame.address && is_same_from(known + next, known_count - next)) {
      for (++next; next < known_count && count < kNativeDepthMax; ++next) {
        frames[count++] = known[next];
      }
      break;
    }
    left = unw_step(&cursor);
  }
  is_unwinding = false;
  return count;
}

#else

int Unwinder::find_procedure(uint64_t, void*, int) { return -1; }
bool Unwinder::find_function(uint64_t, uint64_t*, uint64_t*) { return false; }
bool Unwinder::is_same_from(const NativeFrame*, size_t) { return false; }
size_t Unwinder::unwind(const NativeStart&, uint64_t, uint64_t, const NativeFrame*, size_t,
                        NativeFrame*) {
  return 0;
}

#endif

}  // namespace xsp::process
