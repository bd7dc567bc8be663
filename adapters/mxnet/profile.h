// Reads MXNet's own profile: a file of trace events, with one field per line. The relevant events
// have the category "operator". They come in pairs, "B" and "E", in the order in which they began;
// times are microseconds of the system's clock.
#ifndef XSP_ADAPTERS_MXNET_PROFILE_H_
#define XSP_ADAPTERS_MXNET_PROFILE_H_

#include <cstdint>
#include <istream>
#include <string>

namespace xsp::mxnet {

struct OperatorEvent {
  std::string name;  // name of the operator, not of the node: "Convolution"
  int64_t start_us = 0;
  int64_t end_us = 0;
};

// Reads the next operator's event. Returns false at the end.
bool next_operator(std::istream& file, OperatorEvent* event);

}  // namespace xsp::mxnet

#endif  // XSP_ADAPTERS_MXNET_PROFILE_H_
