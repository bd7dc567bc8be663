// xsp.hpp: xsp.h for C++, where a span ends with its scope.
//
//     #include "xsp/xsp.hpp"
//
//     int main() {
//       xsp::Recording recording("a.xtrace");
//       XSP_SPAN(XSP_LEVEL_APPLICATION, "load image");
//       static xsp::Key bytes("image_bytes");
//       xsp::Site site(XSP_LEVEL_APPLICATION, "decode");  // a name made at run time
//       xsp::Span span(site);
//       span.set(bytes, 1 << 20);
//     }
//
// In a model of your own, every outermost span at level model is an inference (see xsp.h).
//
//     xsp::Site net(XSP_LEVEL_MODEL, "net"), conv(XSP_LEVEL_LAYER, "conv1", "Conv");
//     for (const Batch& batch : batches) {
//       xsp::Span inference(net);
//       inference.set_batch(batch.size());  // its inputs; may be left out
//       xsp::Span layer(conv);
//       ...
//     }
//
// No function here throws. The rules of xsp.h about threads, ownership and loss apply.
#ifndef XSP_XSP_HPP_
#define XSP_XSP_HPP_

#include <cstdint>
#include <string>
#include <type_traits>

#include "xsp/xsp.h"

namespace xsp {

// Records from its construction to the end of its scope.
class Recording {
 public:
  // Starts a recording as xsp_start does; nullptr: the environment says where to. error() tells the
  // result. Under `xsp run` that program does the recording.
  explicit Recording(const char* path = nullptr, uint32_t levels = 0) noexcept {
    xsp_options options = {};
    options.struct_size = sizeof options;
    options.path = path;
    options.levels = levels;
    error_ = xsp_start(&options);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    if (error_ == 0) xsp_stop();
  }

  // Returns 0, or an errno value: nothing is being recorded.
  int error() const noexcept { return error_; }

 private:
  int error_ = 0;
};

// Holds the key of an attribute or a counter. Its construction takes a lock: make it once.
class Key {
 public:
  explicit Key(const char* name) noexcept : id_(xsp_intern_key(name)) {}
  uint32_t id() const noexcept { return id_; }

 private:
  uint32_t id_;
};

// Holds a site whose name is made at run time, with facts that hold for all its spans. Its
// construction takes a lock: make it once. For a name that is known at compile time, use XSP_SPAN.
class Site {
 public:
  Site(uint32_t level, const char* name, const char* type = nullptr) noexcept {
    site_.level = level;
    site_.id = xsp_intern_site(level, name, type);
    // The text may not live as long as the site, but the id stands for it. Without an id (the table
    // is full) spans are dropped and counted.
    site_.name = "";
    if (site_.id == 0) site_.id = UINT32_MAX;
  }
  Site& attribute(const char* key, const char* value) noexcept {
    xsp_site_attribute(site_.id, key, value);
    return *this;
  }
  Site& attribute(const char* key, const std::string& value) noexcept {
    return attribute(key, value.c_str());
  }
  Site& counter(const char* key, double value) noexcept {
    xsp_site_counter(site_.id, key, value);
    return *this;
  }
  xsp_site* get() noexcept { return &site_; }

 private:
  xsp_site site_ = {};
};

// Records a span that lasts from its construction to the end of its scope, or to end().
class Span {
 public:
  explicit Span(xsp_site* site) noexcept : span_(xsp_begin(site)) {}
  explicit Span(Site& site) noexcept : Span(site.get()) {}
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { end(); }

  void end() noexcept {
    xsp_end(&span_);
    span_.start = 0;
  }

  // Sets an attribute: a whole number, a number, or a text.
  template <typename Value>
  Span& set(const Key& key, const Value& value) noexcept {
    if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
      xsp_span_int(&span_, key.id(), static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<Value>) {
      xsp_span_double(&span_, key.id(), static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const Value&, const char*>) {
      xsp_span_text(&span_, key.id(), value);
    } else {
      xsp_span_text(&span_, key.id(), value.c_str());
    }
    return *this;
  }
  // Adds a number that hardware or a framework counted during the span.
  Span& count(const Key& key, double value) noexcept {
    xsp_span_counter(&span_, key.id(), value);
    return *this;
  }
  // Sets the number of inputs of the inference that this span, of level model, measures.
  Span& set_batch(int64_t inputs) noexcept {
    xsp_span_batch(&span_, inputs);
    return *this;
  }
  // Returns false if it is not a W3C traceparent.
  bool set_traceparent(const char* traceparent) noexcept {
    return xsp_span_traceparent(&span_, traceparent) == 0;
  }

 private:
  xsp_span span_;
};

}  // namespace xsp

// Records a span from here to the end of the scope. Each place makes its site once. `name` is a
// literal.
#define XSP_SPAN_JOIN_(a, b) a##b
#define XSP_SPAN_NAME_(prefix, line) XSP_SPAN_JOIN_(prefix, line)
#define XSP_SPAN(level, name)                                                  \
  static xsp_site XSP_SPAN_NAME_(xsp_site_, __LINE__) = XSP_SITE(level, name); \
  ::xsp::Span XSP_SPAN_NAME_(xsp_span_, __LINE__)(&XSP_SPAN_NAME_(xsp_site_, __LINE__))

#endif  // XSP_XSP_HPP_
