// guard() is the one place where exceptions end. Foreign code that may throw is called through it.
#ifndef XSP_SHARED_BASE_GUARD_H_
#define XSP_SHARED_BASE_GUARD_H_

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace xsp {

// Describes the exception that foreign code threw.
struct Thrown {
  bool out_of_memory = false;
  std::string text;
};

// Calls `call`. Returns nothing if it returned normally.
template <typename Call>
std::optional<Thrown> guard(Call&& call) {
  try {
    std::forward<Call>(call)();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Thrown{true, "out of memory"};
  } catch (const std::exception& error) {
    return Thrown{false, error.what()};
  } catch (...) {
    return Thrown{false, "an exception of unknown type"};
  }
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_GUARD_H_
