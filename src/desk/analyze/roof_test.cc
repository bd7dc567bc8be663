// Tests which pipe a kernel ran on, by its name: analyses/prelude_7_roof.sql.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"

namespace xsp::analyze {
namespace {

struct Named {
  const char* name;
  const char* arithmetic;  // arithmetic of the layer
  const char* pipes;       // the slowest and the fastest possible pipe
};

// Kernels in layers of matrix products, with the names that the libraries use.
constexpr Named kInMatrixProducts[] = {
    // cuBLAS and cuDNN from Volta on: s1688 is TF32, unless the name has a type or is Turing's.
    {"volta_sgemm_128x64_nn", "fp32", "[fp32, fp32]"},
    {"volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "fp32", "[fp32, fp32]"},
    {"volta_h884gemm_64x128_ldg8_nn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"turing_fp16_s1688gemm_fp16_128x64_ldg8_f2f_tn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"turing_s1688cudnn_fp16_128x128_ldg8_relu_exp_medium", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"turing_h1688gemm_128x128_ldg8_nn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"ampere_sgemm_32x128_tn", "fp32", "[fp32, fp32]"},
    {"ampere_scudnn_128x64_relu_small_nn_v1", "fp32", "[fp32, fp32]"},
    {"ampere_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn", "bf16", "[bf16_tensor, bf16_tensor]"},
    {"ampere_h16816gemm_256x128_ldg8_stages_32x3_tn", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"volta_hgemm_128x64_nn", "fp16", "[fp16, fp16]"},
    {"ampere_dgemm_64x64_nn", "fp64", "[fp64, fp64_tensor]"},
    // xmma.
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x32x64_stage5_"
     "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn",
     "fp32", "[tf32_tensor, tf32_tensor]"},
    {"sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x64x32_"
     "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
     "fp32", "[tf32_tensor, tf32_tensor]"},
    {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_"
     "warpsize1x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
     "fp32", "[fp32, fp32]"},
    {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_"
     "kernel",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize32x32x64_stage6_warpsize2x2x1_"
     "tensor16x8x16_kernel",
     "bf16", "[bf16_tensor, bf16_tensor]"},
    {"sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x32_"
     "kernel",
     "int8", "[int8_tensor, int8_tensor]"},
    {"sm80_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize32x32x16_stage4_warpsize2x2x1_tensor8x8x4_"
     "kernel",
     "fp64", "[fp64_tensor, fp64_tensor]"},
    // CUTLASS.
    {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>(cutlass_80_"
     "tensorop_s1688gemm_64x64_32x6_nn_align4::Params)",
     "fp32", "[tf32_tensor, tf32_tensor]"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8>("
     "int)",
     "bf16", "[bf16_tensor, bf16_tensor]"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x5_nn_align8>(int)",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    {"void cutlass::Kernel2<cutlass_75_tensorop_f16_s1688gemm_f16_128x128_32x2_nn_align8>(int)",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(int)", "fp32",
     "[fp32, fp32]"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x128_64x5_tn_align16>(int)",
     "int8", "[int8_tensor, int8_tensor]"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(int)", "fp64",
     "[fp64_tensor, fp64_tensor]"},
    {"cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_bf16_bf16_128x128x128_1x2x1_0_tnn",
     "bf16", "[fp8_tensor, fp8_tensor]"},
    // nvjet: the letters of the name are its types.
    {"nvjet_tst_192x192_64x4_1x2_h_bz_coopB_TNT", "bf16", "[bf16_tensor, bf16_tensor]"},
    {"nvjet_hsh_128x64_64x8_2x1_v_bz_TNT", "fp16", "[fp16_tensor, fp16_tensor]"},
    {"nvjet_sss_64x32_64x10_1x4_h_bz_NNT", "fp32", "[tf32_tensor, tf32_tensor]"},
    {"nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT", "bf16", "[fp8_tensor, fp8_tensor]"},
    {"nvjet_sm100_tst_128x256_64x4_2x1_2cta_v_bz_TNT", "bf16", "[bf16_tensor, bf16_tensor]"},
    // Attention.
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
     "cutlass::half_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::half_t> > >(Flash_fwd_params)",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
     "cutlass::bfloat16_t> >(Flash_fwd_params)",
     "bf16", "[bf16_tensor, bf16_tensor]"},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::"
     "half_t>::Params)",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::"
     "Params)",
     "fp32", "[tf32_tensor, tf32_tensor]"},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_"
     "0",
     "fp16", "[fp16_tensor, fp16_tensor]"},
    // Without tensor cores.
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float>(int)",
     "fp32", "[fp32, fp32]"},
    {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false>(int)", "fp32",
     "[fp32, fp32]"},
    {"void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(int)",
     "fp32", "[fp32, fp32]"},
    {"void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128>(int)", "fp16",
     "[fp32, fp16]"},
    // The name does not tell, so the pipe lies between the two.
    {"triton_tem_fused_convolution_0", "fp32", "[fp32, tf32_tensor]"},
    {"triton_tem_fused_addmm_relu_3", "bf16", "[fp32, bf16_tensor]"},
    {"gemm_fusion_dot_12", "fp32", "[fp32, tf32_tensor]"},
    {"fusion_12", "fp16", "[fp32, fp16_tensor]"},
    {"my_matmul", "fp32", "[fp32, tf32_tensor]"},
    // Kernels that serve a matrix product.
    {"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, "
     "(cudnnKernelDataType_t)2>(int)",
     "fp32", "[fp32, fp32]"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>(int)", "fp32",
     "[fp32, fp32]"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half> >("
     "int)",
     "fp16", "[fp32, fp16]"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)", "fp32",
     "[fp32, fp32]"},
    {"triton_poi_fused_convolution_relu_3", "fp32", "[fp32, fp32]"},
    {"loop_convolution_fusion_3", "fp32", "[fp32, fp32]"},
    {"void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)", "fp32",
     "[fp32, fp32]"},
};

class Roof : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<store::Database> database = store::Database::in_memory();
    ASSERT_TRUE(database.ok()) << database.error().text;
    database_.emplace(std::move(database).value());
    const Status loaded = load_prelude(*database_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text;
  }
  std::string pipes(const std::string& name, const std::string& arithmetic,
                    const std::string& rest) {
    const Result<store::Table> table =
        database_->query("SELECT CAST(kernel_pipes($name, $arithmetic, " + rest + ") AS VARCHAR)",
                         {{"name", name}, {"arithmetic", arithmetic}});
    return table.ok() ? std::get<std::string>(table->rows[0][0]) : table.error().text;
  }

  std::optional<store::Database> database_;
};

TEST_F(Roof, NamesOfKernelsTellTheirPipes) {
  for (const Named& one : kInMatrixProducts) {
    EXPECT_EQ(pipes(one.name, one.arithmetic, "true, NULL"), one.pipes) << one.name;
  }
}

// If the name does not tell, the framework's settings, or the work of the layer, do.
TEST_F(Roof, SettingsAndLayersTellWhatNamesDoNot) {
  EXPECT_EQ(pipes("my_matmul", "fp32", "true, true"), "[fp32, tf32_tensor]");
  EXPECT_EQ(pipes("my_matmul", "fp32", "true, false"), "[fp32, fp32]");
  EXPECT_EQ(pipes("fusion_12", "fp32", "false, NULL"), "[fp32, fp32]");
  EXPECT_EQ(pipes("fusion_12", "fp32", "NULL, NULL"), "[fp32, tf32_tensor]");
  // The name has priority over both.
  EXPECT_EQ(pipes("cutlass_80_tensorop_s1688gemm_64x64", "fp32", "false, false"),
            "[tf32_tensor, tf32_tensor]");
}

}  // namespace
}  // namespace xsp::analyze
