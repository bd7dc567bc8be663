// The names of NVTX: domains, categories, registered strings, and the sites of spans.
//
// The domain decides the level of a range:
//   "xsp"                       the level that its category names (application, model, layer,
//                               library), else application
//   "TSL" (XLA)                 layer for executed code: "Thunk:#...hlo_op=NAME#" is the
//                               instruction PROGRAM/NAME, "XlaModule:#...hlo_module=NAME...#" the
//                               program NAME; application for the rest, "XlaPass:#name=NAME,...#"
//   "NCCL", "cuBLAS", "cuDNN",  library
//   "cuFFT", "cuSPARSE", "cuSOLVER", "cuTENSOR" and longer names that begin so
//   none, and the range's name begins with "aten::" or "autograd::" (torch's emit_nvtx)
//                               layer; the name ends at the first comma
//   any other, or none          application
//
// Any thread may call these functions.
//
// There are 4096 names of ranges, because programs put numbers into them; a further range is called
// `(other ranges)`, and has its name as an attribute.
#ifndef XSP_PROCESS_WATCH_NVTX_NAMES_H_
#define XSP_PROCESS_WATCH_NVTX_NAMES_H_

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

namespace xsp::process::nvtx {

// Names are cut at this many bytes.
inline constexpr size_t kNameBytesMax = 256;

struct Domain;

// Returns the domain of this name and makes it if it is new. Returns null (the domain without a
// name) if there are too many. Domains live as long as the process.
Domain* domain_of(const char* name);
// Returns whether this is the domain "xsp". In it, a pushed range of the level model is a step of
// the program, and a mark named "step" is xsp_step().
bool is_xsp(const Domain* domain);
// `domain` is null for the domain without a name.
void name_category(Domain* domain, uint32_t category, const char* name);
// Makes a string handle; each registration makes a new one. Returns null if there is no memory.
const void* register_string(const char* text);
const char* registered_text(const void* handle);
// Writes `text` as UTF-8 into `buffer`, which has kNameBytesMax bytes.
const char* narrow(const wchar_t* text, char* buffer);

// Resets the lock in the child of a fork, where no thread holds it.
void forget_names();

// Spans of this range go to this site, which has this level. The site is 0 if there are too many.
struct Place {
  uint32_t site = 0;
  uint32_t level = 0;
  bool is_iteration = false;      // it is a range of the level model
  bool is_other = false;          // there are too many names: this site is shared
  const char* program = nullptr;  // XLA's program, which runs instructions; or null
};
// `type` is "range" or "mark". `program` is XLA's program around the range, or null. The first call
// with a name takes a lock and allocates, as xsp.h's tables do.
Place place_of(Domain* domain, uint32_t category, const char* name, const char* type,
               const char* program);

}  // namespace xsp::process::nvtx

#endif  // XSP_PROCESS_WATCH_NVTX_NAMES_H_
