// What an operator is, whatever a framework calls it: Conv, aten::_convolution, Conv2D and
// FusedConv are all of the class `convolution`.
//
// Thread rule: pure functions.
#ifndef XSP_ANALYZE_COMPARE_TYPES_H_
#define XSP_ANALYZE_COMPARE_TYPES_H_

#include <string>
#include <string_view>

namespace xsp::analyze {

// The class of a layer's type. A type that is in no class is one of its own: its name without
// namespace, in small letters, without what marks a variant (aten::relu_, Relu and ReLU agree).
std::string class_of_type(std::string_view type);

// Is it the name of an operator that is in a class?
bool is_known_type(std::string_view type);

// Is it what runtimes fuse into the operator before it: an activation, a normalisation, an
// addition, another operation on each element?
bool is_fused_behind(std::string_view type_class);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_COMPARE_TYPES_H_
