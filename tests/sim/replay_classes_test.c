/* What kernels do, by their names. */
#include "sim/replay/classes.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Names as libraries write them, not as the table does. */
static void names_of_public_libraries_are_known(void **state)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        const char *library;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CLASS_ALL_REDUCE,
         "NCCL"},
        {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", CLASS_ALL_GATHER, "NCCL"},
        {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         CLASS_REDUCE_SCATTER, "NCCL"},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CLASS_REDUCE, "NCCL"},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", CLASS_SEND_RECV, "NCCL"},
        {"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", CLASS_EXCHANGE, "NCCL"},
        {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", CLASS_ALL_TO_ALL, "DeepEP"},
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", CLASS_ALL_REDUCE,
         "vLLM"},
        {"all-reduce.17", CLASS_ALL_REDUCE, "XLA"},
        {"collective-permute-start.2", CLASS_SEND_RECV, "XLA"},
        {"reduce-scatter-start", CLASS_REDUCE_SCATTER, "XLA"},
        {"triton_poi_fused_all_gather_into_tensor_3", CLASS_ELEMENTWISE, "Triton"},
        {"triton_per_fused__softmax_2", CLASS_SOFTMAX, "Triton"},
        {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7", CLASS_NORM, "Triton"},
        {"triton_tem_fused_mm_4", CLASS_MATMUL, "Triton"},
        {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)",
         CLASS_ATTENTION, "FlashAttention"},
        {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::Mainloop>>>(Params)",
         CLASS_ATTENTION, "FlashAttention"},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_"
         "t>)",
         CLASS_ATTENTION, "CUTLASS"},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x64_4x1x1",
         CLASS_ATTENTION, "cuDNN"},
        {"_attn_fwd", CLASS_ATTENTION, ""},
        {"void ck_tile::kentry<256, 1, ck_tile::FmhaFwdKernel<ck_tile::Pipeline>>(Kargs)", CLASS_ATTENTION,
         "Composable Kernel"},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1", CLASS_MATMUL, "Tensile"},
        {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", CLASS_MATMUL, "cuBLAS"},
        {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", CLASS_MATMUL, "cuBLAS"},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", CLASS_MATMUL, "cuBLAS"},
        {"void "
         "cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(Params)",
         CLASS_MATMUL, "CUTLASS"},
        {"void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u>(__nv_bfloat16*, float*)", CLASS_MATMUL,
         "DeepGEMM"},
        {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Traits>(Params)", CLASS_NORM,
         "Transformer Engine"},
        {"void transformer_engine::(anonymous namespace)::cast_transpose_fused_kernel<true>(Param)",
         CLASS_QUANTIZATION, ""},
        {"void at::native::(anonymous "
         "namespace)::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, "
         "at::native::FusedAdamMathFunctor<float, 4>>(float)",
         CLASS_OPTIMIZER, ""},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)",
         CLASS_ELEMENTWISE, ""},
        {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
         "LogSoftMaxForwardEpilogue>(float*)",
         CLASS_LOSS, ""},
        {"fusion.12 (convolution fusion)", CLASS_MATMUL, "XLA"},
        {"fusion.13 (loop fusion)", CLASS_ELEMENTWISE, "XLA"},
        {"copy-start.4", CLASS_COPY, "driver"},
        {"[CUDA memcpy Host-to-Device]", CLASS_COPY, "driver"},
        {"fc-dtype_Float", CLASS_MATMUL, "MTIA"},
        {"sigmoid_backward-dtype_Half", CLASS_ELEMENTWISE, "MTIA"},
        {"aten::mm", CLASS_MATMUL, "PyTorch"},
        {"gloo:all_reduce", CLASS_ALL_REDUCE, ""},
        {"ampere_gcgemm_64x64_nt", CLASS_MATMUL, ""},
        {"loop_add_fusion_3", CLASS_ELEMENTWISE, "XLA"},
        {"gemm_fusion_dot_12", CLASS_MATMUL, "XLA"},
        {"input_reduce_fusion", CLASS_REDUCTION, "XLA"},
        {"Memcpy HtoD (Pinned -> Device)", CLASS_COPY, "driver"},
        {"forward 3", CLASS_PASS, "rehearse"},
        {"", CLASS_UNKNOWN, ""},
        {"my_kernel", CLASS_UNKNOWN, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kernel_rule *rule = kernel_class_of(NULL, cases[i].name);
        if (rule->class != cases[i].class || strcmp(rule->library, cases[i].library) != 0)
            fail_msg("%s: %s of %s", cases[i].name, kernel_class_names[rule->class], rule->library);
    }
}

/* At most 2 % of the time of recorded runs is spent in kernels that no rule knows. */
static void recorded_runs_have_few_unknown_names(void **state)
{
    static const char *const files[] = {
        "timeline/hta_rank0_queue.json.gz",
        "timeline/hta_sampled_rank0.json.gz",
        "timeline/hta_sampled_rank1.json.gz",
        "timeline/hta_trace_diff_control.json.gz",
        "timeline/hta_trace_diff_test.json.gz",
        "training/simulate/deepseek_v3_dualpipe_chunk_h800.kernels.csv.gz",
        "training/simulate/hta_ddp_2xa100.kernels.csv.gz",
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct replay replay;
        struct replay_class_sum *sums;
        size_t count = 0;
        struct error err;
        char *path = reference_path(files[i]);
        if (!path)
            skip();
        if (!replay_load(&replay, path, &err) || !replay_sum_classes(&replay, NULL, &sums, &count, &err))
            fail_msg("%s", err.text);
        double whole = 0;
        for (size_t j = 0; j < count; j++) {
            whole += sums[j].share;
            assert_true(sums[j].class != CLASS_UNKNOWN || sums[j].share <= 0.02);
        }
        assert_true(whole > 0.999999 && whole < 1.000001);
        free(sums);
        replay_release(&replay);
        free(path);
    }
}

static bool parse(struct kernel_classes *classes, const char *text, struct error *err)
{
    return kernel_classes_parse(classes, "k.yaml", text, strlen(text), err);
}

static void rules_of_users_come_first(void **state)
{
    static const char text[] =
        "kernels:\n"
        "  - {names: [\"void mine::*\", \"*gemm*special\"], class: attention, library: ours}\n";
    struct kernel_classes classes;
    struct error err;
    (void)state;
    if (!parse(&classes, text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(kernel_class_of(&classes, "void Mine::kernel<1>(int)")->library, "ours");
    assert_string_equal(kernel_class_of(&classes, "mine::kernel")->library, "ours");
    assert_int_equal(kernel_class_of(&classes, "gemm_very_special")->class, CLASS_ATTENTION);
    assert_int_equal(kernel_class_of(&classes, "gemm_very_special2")->class, CLASS_MATMUL);
    assert_int_equal(kernel_class_of(&classes, "ncclDevKernel_AllGather")->class, CLASS_ALL_GATHER);
    kernel_classes_release(&classes);
}

static void files_of_classes_are_strict(void **state)
{
    static const char *const texts[][2] = {
        {"kernels: []\n", "expected at least one kernel"},
        {"format: rehearse-links/1\nkernels: []\n", "format"},
        {"kernels:\n- {names: [], class: norm}\n", "expected at least one name"},
        {"kernels:\n- {names: [a], class: nrom}\n",
         "k.yaml:2:23: kernels[0].class: unknown class 'nrom', did you mean 'norm'?"},
        {"kernels:\n- {names: [a], class: unknown}\n", "unknown class 'unknown'"},
        {"kernels:\n- {names: [a]}\n", "class"},
        {"kernels:\n- {names: [a], class: norm, flops: 1}\n", "flops: unknown key"},
        {"kernels:\n- norm\n", "kernels[0]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kernel_classes classes;
        struct error err;
        assert_false(parse(&classes, texts[i][0], &err));
        if (!strstr(err.text, texts[i][1]))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_public_libraries_are_known),
        cmocka_unit_test(recorded_runs_have_few_unknown_names),
        cmocka_unit_test(rules_of_users_come_first),
        cmocka_unit_test(files_of_classes_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
