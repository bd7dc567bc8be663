// Result<T> is a value or an Error. No exceptions cross a module's edge.
//
// An Error's text is one line, `what: why: what to do`, ready to be shown after "error: ".
#ifndef XSP_SHARED_BASE_RESULT_H_
#define XSP_SHARED_BASE_RESULT_H_

#include <string>
#include <utility>
#include <variant>

namespace xsp {

// Tells the kind of failure; the command line maps it to its exit status.
enum class Code {
  kFailed,        // a file, a process or a device failed (exit 1)
  kUsage,         // the caller asked for something that makes no sense (exit 2)
  kCorrupt,       // foreign bytes are invalid (exit 1)
  kNotAvailable,  // a capability is absent here: a framework, a GPU, a privilege (exit 4)
  kOutOfMemory,   // the host's or a device's memory; a smaller job may fit (exit 1)
  kInterrupted,   // the user asked to stop; results so far are kept (exit 1)
};

struct [[nodiscard]] Error {
  Code code = Code::kFailed;
  std::string text;
};

inline Error failed(std::string text) { return {Code::kFailed, std::move(text)}; }
inline Error usage(std::string text) { return {Code::kUsage, std::move(text)}; }
inline Error corrupt(std::string text) { return {Code::kCorrupt, std::move(text)}; }
inline Error not_available(std::string text) { return {Code::kNotAvailable, std::move(text)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Stands for success without a value.
struct Ok {};
using Status = Result<Ok>;

// XSP_TRY(auto x, expression) sets x to the value, or returns the error from the enclosing
// function.
#define XSP_TRY_CONCAT_(a, b) a##b
#define XSP_TRY_NAME_(line) XSP_TRY_CONCAT_(xsp_try_, line)
#define XSP_TRY(declaration, expression)                                                \
  auto XSP_TRY_NAME_(__LINE__) = (expression);                                          \
  if (!XSP_TRY_NAME_(__LINE__).ok()) return std::move(XSP_TRY_NAME_(__LINE__)).error(); \
  declaration = std::move(XSP_TRY_NAME_(__LINE__)).value()
#define XSP_CHECK_OK(expression)                                \
  do {                                                          \
    auto xsp_status = (expression);                             \
    if (!xsp_status.ok()) return std::move(xsp_status).error(); \
  } while (0)

}  // namespace xsp

#endif  // XSP_SHARED_BASE_RESULT_H_
