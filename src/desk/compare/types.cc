#include "desk/compare/types.h"

#include <array>
#include <cctype>
#include <map>
#include <vector>

namespace xsp::compare {
namespace {

struct TypeClass {
  const char* name;
  const char* types;  // as plain_type() spells them
  bool is_fused_behind;
};

// Types need a line here only if their spellings differ, or if they are fused behind others.
constexpr std::array kClasses = {
    TypeClass{"convolution",
              "conv convolution convolutionoverrideable convolutionaddrelu convolutionrelu "
              "thnnconv convdepthwise depthwiseconvnative depthwiseconv sgmkldnnconv convinteger "
              "convforward convbiasactivationforward",
              false},
    TypeClass{"transposed convolution",
              "convtranspose transposedconvolution deconvolution convtransposed "
              "convbackpropinput depthwiseconvnativebackpropinput",
              false},
    TypeClass{"matrix product",
              "matmul gemm linear addmm mm bmm baddbmm addmmactivation mv addmv dot dotgeneral "
              "innerproduct dense transposematmul batchmatmul einsum fullyconnected "
              "sgmkldnnfullyconnected mulmat qgemm matmulinteger matmulintegertofloat "
              "dynamicquantizematmul matmulnbits matmulbnb4 matmulfpq4 matmulinteger16 intmm",
              false},
    TypeClass{"attention",
              "attention qattention multiheadattention groupqueryattention "
              "decodermaskedmultiheadattention "
              "scaleddotproductattention scaleddotproductflashattention "
              "scaleddotproductefficientattention scaleddotproductcudnnattention "
              "scaleddotproductattentionmath scaleddotproductflashattentionforcpu "
              "scaleddotproductfusedattentionoverrideable",
              false},
    TypeClass{"batch normalization",
              "batchnorm batchnormalization batchnormimplindex batchnormlegitnotraining "
              "batchnormwithtraining batchnorminference batchnormex",
              true},
    TypeClass{"layer normalization",
              "layernorm layernormalization skiplayernormalization embedlayernormalization "
              "qembedlayernormalization simplifiedlayernormalization rmsnorm rmsnormalization "
              "skipsimplifiedlayernormalization groupnorm groupnormalization "
              "instancenorm instancenormalization",
              false},
    TypeClass{"relu", "relu relu6 hardtanh clip clamp clampmin clampmax", true},
    TypeClass{"leaky relu", "leakyrelu prelu prelukernel elu selu celu thresholdedrelu", true},
    TypeClass{"sigmoid", "sigmoid hardsigmoid logistic", true},
    TypeClass{"silu", "silu swish hardswish quickgelu", true},
    TypeClass{"gelu", "gelu fastgelu biasgelu", true},
    TypeClass{"tanh", "tanh", true},
    TypeClass{"add", "add biasadd sum addn eltwise", true},
    TypeClass{"multiply", "mul multiply scale", true},
    TypeClass{"dropout", "dropout featuredropout", true},
    TypeClass{"softmax", "softmax logsoftmax biassoftmax", false},
    TypeClass{"average pool",
              "averagepool avgpool globalaveragepool adaptiveavgpool globalavgpool reducemean "
              "mean avepooling",
              false},
    TypeClass{"max pool", "maxpool maxpoolwithindices adaptivemaxpool globalmaxpool maxpooling",
              false},
    TypeClass{"reshape",
              "reshape flatten view viewas unsafeview squeeze unsqueeze unflatten expanddims "
              "bitcast identity alias",
              false},
    TypeClass{"transpose", "transpose permute t conjugatetranspose", false},
    TypeClass{"concatenate", "concat cat concatenate stack", false},
    TypeClass{"split", "split splitwithsizes chunk unbind", false},
    TypeClass{"slice", "slice select narrow stridedslice", false},
    TypeClass{"gather", "gather embedding index indexselect resourcegather", false},
    TypeClass{"copy", "copy clone contiguous to tocopy cast convertelementtype", false},
    TypeClass{"layout",
              "reorder reorderinput reorderoutput nchwtonhwc nhwctonchw inputconversion totf",
              false},
    TypeClass{"quantization",
              "quantizelinear dequantizelinear dynamicquantizelinear quantizepertensor "
              "quantizeperchannel dequantize quantize",
              true},
    TypeClass{"pad", "pad constantpadnd mirrorpad", false},
    TypeClass{"upsample", "upsample resize upsamplenearest upsamplebilinear interpolate", false},
};

std::string_view without(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix && text.size() > prefix.size()
             ? text.substr(prefix.size())
             : text;
}

// Reduces "aten::_convolution", "cudnn_convolution", "FusedConv", "nn.Conv2d" to small letters,
// without namespace, library, number of dimensions and marks of variants.
std::string plain_type(std::string_view type) {
  if (const size_t end = type.find_last_of(".:/"); end != std::string_view::npos) {
    if (end + 1 < type.size()) type.remove_prefix(end + 1);
  }
  std::string letters;
  for (const char c : type) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::string_view plain = letters;
  // A compiled package of PyTorch calls operators by C functions: aoti_torch_cuda_addmm_out.
  for (const char* prefix : {"aotitorchcuda", "aotitorchcpu", "aotitorchxpu"}) {
    const std::string_view rest = without(plain, prefix);
    if (rest.size() == plain.size()) continue;
    plain = rest.size() > 3 && rest.ends_with("out") ? rest.substr(0, rest.size() - 3) : rest;
    break;
  }
  for (const char* prefix :
       {"cudnn", "mkldnn", "onednn", "miopen", "mkl", "fused", "native", "eager", "nhwc", "nchwc",
        "padwith", "fused", "quantized", "qlinear"}) {
    plain = without(plain, prefix);
  }
  // TensorFlow's names of fused operators: QuantizedConv2DWithBiasAndReluAndRequantize.
  for (const char* suffix : {"perchannel", "withbias", "andrelu", "andrequantize"}) {
    if (const size_t at = plain.find(suffix); at != 0) plain = plain.substr(0, at);
  }
  for (const char* dimensions : {"1d", "2d", "3d"}) {
    const size_t at = plain.find(dimensions);
    if (at == std::string_view::npos || at == 0) continue;
    letters = std::string(plain.substr(0, at)) + std::string(plain.substr(at + 2));
    plain = letters;
    break;
  }
  // Removes a version, as in FusedBatchNormV3, GatherV2.
  if (plain.size() > 2 && plain[plain.size() - 2] == 'v' &&
      std::isdigit(static_cast<unsigned char>(plain.back())) != 0) {
    plain.remove_suffix(2);
  }
  return std::string(plain);
}

const std::map<std::string, const TypeClass*, std::less<>>& classes_by_type() {
  static const auto classes = [] {
    std::map<std::string, const TypeClass*, std::less<>> map;
    for (const TypeClass& one : kClasses) {
      std::string_view rest = one.types;
      while (!rest.empty()) {
        const size_t end = std::min(rest.find(' '), rest.size());
        map.emplace(std::string(rest.substr(0, end)), &one);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return map;
  }();
  return classes;
}

}  // namespace

std::string class_of_type(std::string_view type) {
  std::string plain = plain_type(type);
  const auto found = classes_by_type().find(plain);
  if (found != classes_by_type().end()) return found->second->name;
  return plain.empty() ? std::string(type) : plain;
}

bool is_known_type(std::string_view type) { return classes_by_type().count(plain_type(type)) != 0; }

bool is_fused_behind(std::string_view type_class) {
  for (const TypeClass& one : kClasses) {
    if (type_class == one.name) return one.is_fused_behind;
  }
  return false;
}

}  // namespace xsp::compare
