// What NVTX's ranges are called: domains, categories, registered strings, and the sites of spans.
//
// Which level a range has is decided by its domain:
//   "xsp"                       the level that its category is named after (application, model,
//   layer,
//                               library), else application
//   "TSL" (XLA)                 layer for what is executed: "Thunk:#...hlo_op=NAME#" is the
//                               instruction PROGRAM/NAME, "XlaModule:#...hlo_module=NAME...#" the
//                               program NAME; application for the rest, "XlaPass:#name=NAME,...#"
//   "NCCL", "cuBLAS", "cuDNN",  library
//   "cuFFT", "cuSPARSE", "cuSOLVER", "cuTENSOR" and longer names that begin so
//   none, and the range's name begins with "aten::" or "autograd::" (torch's emit_nvtx)
//                               layer; the name ends at the first comma
//   any other, or none          application
//
// Thread rule: any thread.
#ifndef XSP_CAPTURE_ATTACH_NVTX_NAMES_H_
#define XSP_CAPTURE_ATTACH_NVTX_NAMES_H_

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

namespace xsp::capture::nvtx {

// Names are cut at so many bytes.
inline constexpr size_t kNameBytesMax = 256;

struct Domain;

// The domain of this name, made at its first mention; null (the domain that has no name) where
// there are too many. They stay as long as the process.
Domain* domain_of(const char* name);
// Is it the domain "xsp"? There a pushed range of the level model is a step of the program, and a
// mark named "step" is xsp_step().
bool is_xsp(const Domain* domain);
// `domain`: null for the one without a name.
void name_category(Domain* domain, uint32_t category, const char* name);
// A string of the domain, as often as it is registered; null if there is no memory.
const void* register_string(const char* text);
const char* registered_text(const void* handle);
// `text` as UTF-8 in `buffer`, of kNameBytesMax.
const char* narrow(const wchar_t* text, char* buffer);

// In the child of a fork: nobody holds the lock.
void forget_names();

// Where spans of this range go: a site, and its level. The site is 0 where there are too many.
struct Place {
  uint32_t site = 0;
  uint32_t level = 0;
  bool is_iteration = false;      // a range of the level model
  bool is_other = false;          // names are too many: the site has none of its own
  const char* program = nullptr;  // of XLA's, whose instructions run inside it; null: it is none
};
// `type`: "range" or "mark". `program`: of XLA's, that it is inside of; or null. Once for each name
// it takes a lock and allocates, as xsp.h's tables do.
Place place_of(Domain* domain, uint32_t category, const char* name, const char* type,
               const char* program);

}  // namespace xsp::capture::nvtx

#endif  // XSP_CAPTURE_ATTACH_NVTX_NAMES_H_
