// The work that a wrapper of a library's function does around the call. tools/library_calls writes
// the wrappers at build time; each is
//
//     Real* real = real_of<Real>(&function, __builtin_return_address(0));
//     if (!is_recorded()) return real(...);
//     Problem problem;
//     problem.add(&field, value);                  // for each parameter that describes the problem
//     for xsp_span span = begin(&function, problem); real(...); xsp_end(&span);
//
// The site of a span identifies a function and a problem: the problem's facts are written once, and
// a call costs one look-up. All of this runs in the threads of a program that knows nothing of xsp:
// only the first call with a problem allocates memory, nothing throws, and errno keeps its value.
#ifndef XSP_COLLECTORS_LIBRARY_CALLS_CALL_H_
#define XSP_COLLECTORS_LIBRARY_CALLS_CALL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "xsp/xsp.h"

namespace xsp::library_calls {

// Holds a value of an enumeration, and its name.
struct Name {
  int64_t value;
  const char* text;
};

enum class FieldKind : uint8_t {
  kInt,
  kEnum,
  kChar,  // a letter
  kList,  // successive values with one key become a list, "[1,3,224,224]"
  kText   // the value is a pointer to text that lasts as long as the process
};

// Describes one fact of a problem: an attribute of its site.
struct Field {
  const char* key;
  FieldKind kind;
  const Name* names;  // for kEnum; a value without a name is written as its number
  size_t name_count;
};

struct Function {
  const char* name;
  const char* library;  // the type of its spans: "cublas"
  const char* dtype;    // type of the elements, if the function's name tells; or ""
  std::atomic<void*> real;
  std::atomic<uint32_t> site;  // site of calls whose problem has no site of its own
};

// Holds the facts of the problem that a call solves. It lives on the stack.
class Problem {
 public:
  struct Value {
    const Field* field;
    int64_t value;
  };
  static constexpr size_t kMax = 64;  // further values are left out

  void add(const Field* field, int64_t value) {
    if (count_ < kMax) values_[count_++] = {field, value};
  }
  void add(const Field* field, const char* text) {
    if (text != nullptr) add(field, static_cast<int64_t>(reinterpret_cast<intptr_t>(text)));
  }
  const Value* begin() const { return values_; }
  const Value* end() const { return values_ + count_; }
  size_t size() const { return count_; }
  // Returns the value with this key, or `otherwise` if there is none.
  int64_t value_of(const char* key, int64_t otherwise) const;

 private:
  size_t count_ = 0;
  Value values_[kMax];  // deliberately not initialised: every call would pay for it
};

inline bool is_recorded() { return xsp_is_recorded(XSP_LEVEL_LIBRARY) != 0; }

// Finds the real function, as the caller would have found it without this library. The order is:
// the next definition among the libraries that the whole program sees; then the calling library and
// those that it needs (Python's modules are loaded so); then any loaded library. Returns NULL if no
// library has it, and reports that once.
void* find_real(Function* function, const void* caller);
template <typename Real>
Real* real_of(Function* function, const void* caller) {
  void* real = function->real.load(std::memory_order_relaxed);
  if (__builtin_expect(real == nullptr, 0)) real = find_real(function, caller);
  return reinterpret_cast<Real*>(real);
}

// Represents another function of the library that contains `function`, looked up once.
template <typename Real>
struct Sibling {
  const char* name;
  std::atomic<void*> found{nullptr};
  // Returns NULL if the library has none.
  Real* of(const Function* function);
};
inline void* absent() { return reinterpret_cast<void*>(-1); }
void* find_sibling(const Function* function, const char* name);  // returns absent() if the library
                                                                 // has none
template <typename Real>
Real* Sibling<Real>::of(const Function* function) {
  void* real = found.load(std::memory_order_relaxed);
  if (__builtin_expect(real == nullptr, 0)) {
    real = find_sibling(function, name);
    found.store(real, std::memory_order_relaxed);
  }
  return real == absent() ? nullptr : reinterpret_cast<Real*>(real);
}

// Begins the call's span.
xsp_span begin(Function* function, const Problem& problem);

}  // namespace xsp::library_calls

#endif  // XSP_COLLECTORS_LIBRARY_CALLS_CALL_H_
