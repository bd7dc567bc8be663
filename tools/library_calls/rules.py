"""The libraries, the functions of each that are wrapped, and the opaque parameters that are inspected."""

import re

# ---- Functions that do work -------------------------------------------------------------------------------


def cublas_work(f):
    """Takes the handle, and a size or a stream: functions that only set something up take neither."""
    if f.first_is("cublasHandle_t"):
        return "n" in f.names or "group_count" in f.names
    return f.first_is("cublasLtHandle_t") and "cudaStream_t" in f.types and "Algo" not in f.name


def cudnn_work(f):
    """Takes the handle or a stream, and data of the device: pointers to void. Other functions set up or
    query.
    """
    if not f.first_is("cudnnHandle_t", "cudaStream_t"):
        return False
    if re.match(r"cudnn(Get|Set|Create|Destroy|Query)", f.name):
        return False
    return f.name.endswith("Execute") or any(t in ("void *", "void*") for t in f.types)


def cufft_work(f):
    """Executes a plan. Also makes one, because that takes long, and has the sizes."""
    return bool(re.match(r"cufft(Xt)?(Exec|Plan|MakePlan)", f.name))


def nccl_work(f):
    """Takes a communicator and a stream. The end of a group launches the calls inside it."""
    return ("ncclComm_t" in f.types and "cudaStream_t" in f.types) or f.name == "ncclGroupEnd"


def blas_work(f):
    """Takes a matrix: level 2 and 3. A call of level 1 (a vector) is as short as a span."""
    return f.result.kind == "VOID" and "lda" in f.names


def dnnl_work(f):
    """Executes a primitive, or is a product of matrices."""
    return f.name == "dnnl_primitive_execute" or "lda" in f.names


# The fields are: the prefix of its functions, its headers, the rule for work, and the result of a call if the
# library is not found.
LIBRARIES = {
    "cublas": (r"cublas", ["cublas_v2.h", "cublasLt.h"], cublas_work, "CUBLAS_STATUS_NOT_INITIALIZED"),
    "cudnn": (r"cudnn", ["cudnn.h"], cudnn_work, "CUDNN_STATUS_NOT_INITIALIZED"),
    "cufft": (r"cufft", ["cufftXt.h"], cufft_work, "CUFFT_INTERNAL_ERROR"),
    "nccl": (r"nccl", ["nccl.h"], nccl_work, "ncclInternalError"),
    "blas": (r"cblas_", ["cblas.h"], blas_work, None),
    "onednn": (r"dnnl_", ["oneapi/dnnl/dnnl.h"], dnnl_work, "dnnl_runtime_error"),
}

# A function describe_NAME of collectors/library_calls/describe_LIBRARY.cc inspects parameters of these types,
# or of these types and names: (name, facts). A fact is a key and its type: an enumeration of the header,
# "int", "list", or "text". Its key begins with the parameter's name, unless it begins with "=". Without
# facts, they are known only when the call is made.
DESCRIBED = {
    "cublasLtMatmulDesc_t": ("matmul", [("=transa", "cublasOperation_t"), ("=transb", "cublasOperation_t"),
                                        ("=compute_type", "cublasComputeType_t"),
                                        ("=epilogue", "cublasLtEpilogue_t")]),
    "cublasLtMatrixLayout_t": ("layout", [("type", "cudaDataType_t"), ("order", "cublasLtOrder_t"),
                                          ("rows", "int"), ("cols", "int"), ("ld", "int"),
                                          ("batch_count", "int")]),
    "cublasLtMatmulAlgo_t *": ("algorithm", [("=algorithm", "int")]),
    "cudnnBackendDescriptor_t executionPlan": ("plan", []),
    "cudnnTensorDescriptor_t": ("tensor", [("dtype", "cudnnDataType_t"), ("shape", "list")]),
    "cudnnFilterDescriptor_t": ("filter", [("dtype", "cudnnDataType_t"), ("shape", "list")]),
    "cudnnConvolutionDescriptor_t": ("convolution", [("=padding", "list"), ("=stride", "list"),
                                                     ("=dilation", "list")]),
    "cudnnRNNDescriptor_t": ("rnn", [("=dtype", "cudnnDataType_t"), ("=cell", "cudnnRNNMode_t"),
                                     ("=direction", "cudnnDirectionMode_t"), ("=input_size", "int"),
                                     ("=hidden_size", "int"), ("=layers", "int")]),
    "cudnnRNNDataDescriptor_t": ("rnn_data", [("sequence", "int"), ("batch", "int"), ("vector", "int")]),
    "cufftHandle": ("fft", []),
    "ncclComm_t": ("communicator", [("=ranks", "int"), ("=rank", "int")]),
    "const_dnnl_primitive_t": ("primitive", [("=operation", "text"), ("=implementation", "text"),
                                             ("=src_dtype", "dnnl_data_type_t"), ("=src_shape", "list"),
                                             ("=weights_dtype", "dnnl_data_type_t"),
                                             ("=weights_shape", "list"),
                                             ("=dst_dtype", "dnnl_data_type_t"), ("=dst_shape", "list")]),
}
# The enumerations whose values those files need.
ENUMERATIONS = ["cublasLtMatrixLayoutAttribute_t", "cublasLtMatmulDescAttributes_t",
                "cublasLtMatmulAlgoConfigAttributes_t", "cudnnBackendAttributeName_t",
                "cudnnBackendAttributeType_t", "dnnl_query_t"]
# These integers do not describe the problem.
LEFT_AWAY = r"space|size_?in_?bytes|^nargs$|^pad_?fill$"
# These functions end the life of a plan's facts: they are not work, but are wrapped.
FORGETS = {"cudnnBackendDestroyDescriptor": "forget_plan"}
# After a call that makes a plan, its parameters are kept for the calls that execute the plan.
KEEPS = {r"cufft(Xt)?(Plan|MakePlan)": "keep_fft"}
