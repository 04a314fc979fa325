/* Files and bytes of checkpoints, against DLIO's own sizes and those that MLPerf Storage names. */
#include "feed/checkpoint/shards.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB 0x1p30

static struct checkpoint_shards shards_with(const char *name, const char *const *overrides, int count,
                                            int64_t ranks)
{
    struct workload workload;
    struct workload_options options = {.overrides = overrides, .override_count = count};
    struct checkpoint_shards shards = {0};
    struct error err = {0};
    if (!workload_open(&workload, name, &options, &err) ||
        !checkpoint_shards_init(&shards, &workload, ranks, &err))
        fail_msg("%s", err.text);
    workload_release(&workload);
    return shards;
}

static struct checkpoint_shards shards_of(const char *name, int64_t ranks)
{
    return shards_with(name, NULL, 0, ranks);
}

static void assert_file(const struct checkpoint_shards *shards, int64_t rank, int index, const char *name,
                        int64_t bytes)
{
    struct checkpoint_shard shard;
    assert_true(index < checkpoint_shards_count(shards, rank));
    checkpoint_shards_get(shards, rank, index, &shard);
    assert_string_equal(shard.name, name);
    assert_int_equal(shard.bytes, bytes);
}

static void assert_refused(const char *name, const char *const *overrides, int count, int64_t ranks,
                           const char *message)
{
    struct workload workload;
    struct workload_options options = {.overrides = overrides, .override_count = count};
    struct checkpoint_shards shards;
    struct error err = {0};
    if (!workload_open(&workload, name, &options, &err))
        fail_msg("%s", err.text);
    assert_false(checkpoint_shards_init(&shards, &workload, ranks, &err));
    if (!strstr(err.text, message))
        fail_msg("'%s' is not in '%s'", message, err.text);
    workload_release(&workload);
}

/* MLPerf Storage v2.0: 105, 912 and 5290 "GB" with 8, 64 and 512 ranks; they are GiB. */
static void sizes_are_those_of_mlperf_in_gib(void **state)
{
    static const struct {
        const char *name;
        int64_t ranks;
        double gib;
    } known[] = {{"llama_8b_zero3", 8, 105}, {"llama_70b", 64, 912}, {"llama_405b", 512, 5.29e3}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct checkpoint_shards shards = shards_of(known[i].name, known[i].ranks);
        double gib = checkpoint_shards_bytes(&shards) / GIB;
        if (fabs(gib / known[i].gib - 1) > 0.005)
            fail_msg("%s: %.1f GiB", known[i].name, gib);
    }
}

/* MLPerf says 18 TB; its architecture gives 14 bytes for each of 1.183e12 parameters, 16.6 TB or 15.1 TiB. By hand:
 * a head has 134 numbers, keys and values 4288. */
static void the_model_of_a_trillion_is_smaller_than_mlperf_says(void **state)
{
    struct checkpoint_shards shards = shards_of("llama_1t", 1024);
    double h = 25872, block = h * (h + 2 * 4288) + h * h + 3 * h * 98304 + 2 * h;
    double parameters = 2 * 128256 * h + 128 * block + h;
    (void)state;
    assert_true(shards.parameters == parameters);
    assert_true(fabs(checkpoint_shards_bytes(&shards) / (14 * parameters) - 1) < 0.001);
    assert_true(fabs(checkpoint_shards_bytes(&shards) - 16.566e12) < 0.003e12);
}

/* DLIO saved a model of 17,040,128 parameters (vocabulary 32000, width 256, MLP 512, one layer) with ZeRO 1 on one
 * rank: files of 34,082,571 and 204,498,583 bytes, of which torch.save's own part is 2,315 and 1,687 bytes. */
static void files_are_as_large_as_dlio_s(void **state)
{
    static const char *const small[] = {
        "model.num_layers=1", "model.transformer={vocab_size: 32000, hidden_size: 256, ffn_hidden_size: "
                              "512, num_attention_heads: 8, num_kv_heads: 8}"};
    struct checkpoint_shards shards = shards_with("llama_7b", small, 2, 1);
    (void)state;
    assert_true(shards.parameters == 17040128);
    assert_int_equal(checkpoint_shards_count(&shards, 0), 2);
    assert_file(&shards, 0, 0, "model_0_model_states.pt", 34082571 - 2315);
    assert_file(&shards, 0, 1, "zero_pp_rank_0_mp_rank_0_optim_states.pt", 204498583 - 1687);
}

/* DLIO reported 2.19 GiB for its run of a small model on one and two ranks (ZeRO 3). */
static void the_small_run_on_one_and_two_ranks(void **state)
{
    static const char *const small[] = {
        "model.num_layers=8", "model.transformer={vocab_size: 32000, hidden_size: 1024, ffn_hidden_size: "
                              "2816, num_attention_heads: 16, num_kv_heads: 16}"};
    (void)state;
    for (int64_t ranks = 1; ranks <= 2; ranks++) {
        struct checkpoint_shards shards = shards_with("llama_7b_zero3", small, 2, ranks);
        assert_true(shards.parameters == 168313856);
        assert_true(fabs(checkpoint_shards_bytes(&shards) / GIB - 2.19) < 0.006);
        assert_file(&shards, ranks - 1, 0,
                    ranks == 1 ? "zero_pp_rank_0_mp_rank_0_model_states.pt"
                               : "zero_pp_rank_1_mp_rank_0_model_states.pt",
                    168313856 * 2 / ranks);
    }
}

/* Whatever the split, the model is there once, with 2 bytes per number; but norms are on every tensor rank. */
static void the_model_is_saved_once(void **state)
{
    static const struct {
        const char *name;
        int64_t ranks;
        double width;
    } cases[] = {{"llama_7b", 4, 4096},
                 {"llama_7b_zero3", 4, 4096},
                 {"llama_70b", 64, 8192},
                 {"llama_70b_zero3", 16, 8192},
                 {"llama_405b", 512, 16384}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checkpoint_shards shards = shards_of(cases[i].name, cases[i].ranks);
        double model = 0;
        for (int64_t rank = 0; rank < shards.ranks; rank++)
            for (int at = 0; at < checkpoint_shards_count(&shards, rank); at++) {
                struct checkpoint_shard shard;
                checkpoint_shards_get(&shards, rank, at, &shard);
                model += shard.kind == CHECKPOINT_MODEL ? (double)shard.bytes : 0;
            }
        double norms = (2 * (double)shards.layers + 1) * cases[i].width * (double)(shards.split.tensor - 1);
        assert_true(model == 2 * (shards.parameters + norms));
    }
}

/* 80 layers in 4 stages; the first has the embedding, the last the head and the norm. */
static void a_pipeline_saves_layer_by_layer(void **state)
{
    struct checkpoint_shards shards = shards_of("llama_70b", 64);
    int64_t embedding = INT64_C(128256) * 8192 / 8 * 2;
    (void)state;
    assert_int_equal(checkpoint_shards_count(&shards, 0), 21 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 8), 20 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 31), 22 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 32),
                     1); /* of the second replica: the optimizer's part */
    assert_file(&shards, 0, 0, "layer_0-model_0_model_states.pt", embedding);
    assert_file(&shards, 31, 20, "layer_81-model_31_model_states.pt", embedding);
    assert_file(&shards, 31, 21, "layer_82-model_31_model_states.pt", 8192 * 2);
    assert_file(&shards, 8, 0, "layer_21-model_8_model_states.pt", shards.block * 2);
    struct checkpoint_shard shard;
    checkpoint_shards_get(&shards, 33, 0, &shard);
    assert_string_equal(shard.name, "zero_pp_rank_1_mp_rank_1_optim_states.pt");
}

/* 126 layers in 32 stages: 30 of 4, 2 of 3, and each layer on one stage. */
static void layers_that_do_not_divide_go_to_the_first_stages(void **state)
{
    struct checkpoint_shards shards = shards_of("llama_405b", 256);
    (void)state;
    assert_int_equal(checkpoint_shards_count(&shards, 0), 1 + 4 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 8), 4 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 30 * 8), 3 + 1);
    assert_int_equal(checkpoint_shards_count(&shards, 31 * 8), 3 + 2 + 1);
    struct checkpoint_shard shard;
    checkpoint_shards_get(&shards, 30 * 8, 0, &shard);
    assert_string_equal(shard.name, "layer_121-model_240_model_states.pt");
}

static void without_zero_the_first_replica_writes_all(void **state)
{
    static const char *const zero[] = {"model.parallelism.zero_stage=0"};
    struct checkpoint_shards shards = shards_with("llama_7b", zero, 1, 4);
    (void)state;
    assert_int_equal(checkpoint_shards_count(&shards, 0), 2);
    assert_int_equal(checkpoint_shards_count(&shards, 1), 0);
    assert_file(&shards, 0, 0, "zero_pp_rank_0_mp_rank_0_model_states.pt", (int64_t)shards.parameters * 2);
}

/* Eight ranks stand for the first of 512: what one of them writes does not change. */
static void a_subset_writes_what_its_ranks_would(void **state)
{
    static const char *const subset[] = {"checkpoint.mode=subset", "model.parallelism.data=2"};
    struct checkpoint_shards whole = shards_of("llama_405b", 512);
    struct checkpoint_shards part = shards_with("llama_405b", subset, 2, 8);
    (void)state;
    for (int64_t rank = 0; rank < 8; rank++)
        assert_true(checkpoint_shards_rank_bytes(&part, rank) == checkpoint_shards_rank_bytes(&whole, rank));
    assert_true(part.ranks == 8);
}

/* DLIO reads past `model_size`, and saves 10 KiB. */
static void unet3d_saves_its_model_size(void **state)
{
    struct checkpoint_shards shards = shards_of("unet3d_h100", 2);
    (void)state;
    assert_int_equal(checkpoint_shards_count(&shards, 0), 1);
    assert_file(&shards, 0, 0, "model_states-0.pt", 499153191);
    assert_int_equal(checkpoint_shards_count(&shards, 1), 0);
}

/* Groups are saved three times on every rank; a layer's two tensors are split over four ranks; 40 layers, 8 stages. */
static void megatron_s_sizes_are_given(void **state)
{
    struct checkpoint_shards shards = shards_of("megatron", 64);
    int64_t layer = 52583936 / 4 + 209715200 / 4;
    (void)state;
    assert_int_equal(checkpoint_shards_count(&shards, 0), 1 + 5 + 1);
    assert_file(&shards, 0, 0, "model_states-0.pt", 30102);
    assert_file(&shards, 0, 1, "layer_1-model_0_model_states.pt", layer);
    assert_file(&shards, 31, 5, "layer_40-model_31_model_states.pt", layer);
    assert_file(&shards, 63, 1, "zero_pp_rank_1_mp_rank_31_optim_states.pt",
                3 * (INT64_C(1009254400) + 865075200 + 793600));
}

static void tensorflow_files_end_otherwise(void **state)
{
    struct checkpoint_shards shards = shards_of("bert", 1);
    (void)state;
    assert_file(&shards, 0, 0, "model_states-0.pb", INT64_C(4034713312));
}

static void ranks_that_do_not_divide_are_an_error(void **state)
{
    static const char *const subset[] = {"checkpoint.mode=subset", "model.parallelism.data=1"};
    (void)state;
    assert_refused("llama_70b", NULL, 0, 8,
                   "8 ranks do not divide into replicas of 8 tensor x 4 pipeline ranks");
    assert_refused("llama_405b", NULL, 0, 300, "300 ranks do not divide");
    assert_refused("llama_70b", subset, 2, 64, "64 ranks exceed the job's 32 x 1");
    assert_refused("llama_70b", NULL, 0, 0, "at least one rank");
}

static void folders_are_named_by_epoch_and_step(void **state)
{
    char folder[CHECKPOINT_FOLDER_SIZE];
    (void)state;
    assert_string_equal(checkpoint_shards_folder(folder, 1, 250), "global_epoch1_step250");
}

/* The tensors of each file have the file's bytes, however the model is cut. */
static void tensors_are_all_of_a_file(void **state)
{
    static const struct {
        const char *name;
        int64_t ranks;
    } known[] = {{"llama_7b", 3},         {"llama_7b_zero3", 7}, {"llama_8b_zero3", 8}, {"llama_70b", 64},
                 {"llama_70b_zero3", 64}, {"llama_405b", 512},   {"llama_1t", 1024},    {"unet3d_v100", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct checkpoint_shards shards = shards_of(known[i].name, known[i].ranks);
        for (int64_t rank = 0; rank < shards.ranks; rank += 1 + shards.ranks / 5) {
            for (int index = 0; index < checkpoint_shards_count(&shards, rank); index++) {
                struct checkpoint_tensors tensors = {0};
                struct checkpoint_shard shard;
                struct error err;
                int64_t bytes = 0;
                checkpoint_shards_get(&shards, rank, index, &shard);
                assert_true(checkpoint_shards_tensors(&shards, rank, index, &tensors, &err));
                for (size_t t = 0; t < tensors.count; t++)
                    bytes += tensors.items[t].bytes;
                assert_int_equal(bytes, shard.bytes);
                checkpoint_tensors_release(&tensors);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_mlperf_in_gib),
        cmocka_unit_test(the_model_of_a_trillion_is_smaller_than_mlperf_says),
        cmocka_unit_test(files_are_as_large_as_dlio_s),
        cmocka_unit_test(the_small_run_on_one_and_two_ranks),
        cmocka_unit_test(the_model_is_saved_once),
        cmocka_unit_test(a_pipeline_saves_layer_by_layer),
        cmocka_unit_test(layers_that_do_not_divide_go_to_the_first_stages),
        cmocka_unit_test(without_zero_the_first_replica_writes_all),
        cmocka_unit_test(a_subset_writes_what_its_ranks_would),
        cmocka_unit_test(unet3d_saves_its_model_size),
        cmocka_unit_test(megatron_s_sizes_are_given),
        cmocka_unit_test(tensorflow_files_end_otherwise),
        cmocka_unit_test(ranks_that_do_not_divide_are_an_error),
        cmocka_unit_test(folders_are_named_by_epoch_and_step),
        cmocka_unit_test(tensors_are_all_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
