// Classes of operators across frameworks: Conv, aten::_convolution, Conv2D and FusedConv are all of
// the class `convolution`.
//
// Thread rule: pure functions.
#ifndef XSP_DESK_COMPARE_TYPES_H_
#define XSP_DESK_COMPARE_TYPES_H_

#include <string>
#include <string_view>

namespace xsp::compare {

// Returns the class of a layer's type. A type without a class is its own: its name in small
// letters, without namespace and marks of variants (aten::relu_, Relu and ReLU agree).
std::string class_of_type(std::string_view type);

// Returns whether the type is the name of an operator with a class.
bool is_known_type(std::string_view type);

// Returns whether runtimes fuse this class into the operator before it: an activation, a
// normalisation, an addition, another operation on each element.
bool is_fused_behind(std::string_view type_class);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_TYPES_H_
