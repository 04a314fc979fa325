/* Checkpoints that follow from a plan. */
#include "feed/checkpoint/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A plan of Llama 3 8B: two copies of two stages. */
static const char good[] =
    "{\"format\": \"rehearse-plan/2\", \"model\": {\"name\": \"llama-3-8b\"}, \"training\": "
    "{\"global_batch\": 128, "
    "\"microbatch\": 1, \"sequence\": 8192, \"precision\": \"bf16\", \"sharding\": 1}, \"pipelines\": "
    "[{\"copies\": 2, "
    "\"microbatches\": 64, \"stages\": ["
    "{\"layers\": [0, 16], \"device_type\": \"h100-sxm\", \"tensor\": 2, \"context\": 2, \"expert\": 1}, "
    "{\"layers\": [17, 33], \"device_type\": \"h100-sxm\", \"tensor\": 2, \"context\": 2, \"expert\": 1}]}]}";

static bool read_text(struct checkpoint_of_plan *of, const char *text, int length, int64_t ranks,
                      struct error *err)
{
    struct plan plan;
    if (!plan_parse(&plan, "plan.json", text, (size_t)length, err))
        return false;
    bool ok = checkpoint_of_plan(of, &plan, ranks, NULL, err);
    plan_release(&plan);
    return ok;
}

/* With a part replaced. */
static bool parse_with(struct checkpoint_of_plan *of, const char *old, const char *new, int64_t ranks,
                       struct error *err)
{
    char text[2048];
    const char *at = strstr(good, old);
    assert_non_null(at);
    int length = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old));
    return read_text(of, text, length, ranks, err);
}

static struct checkpoint_of_plan plan_with(const char *old, const char *new, int64_t ranks)
{
    struct checkpoint_of_plan of;
    struct error err;
    if (!parse_with(&of, old, new, ranks, &err))
        fail_msg("%s", err.text);
    return of;
}

static void refuse(const char *old, const char *new, int64_t ranks, const char *expected)
{
    struct checkpoint_of_plan of;
    struct error err;
    assert_false(parse_with(&of, old, new, ranks, &err));
    if (!strstr(err.text, expected))
        fail_msg("%s; expected: %s", err.text, expected);
}

/* MLPerf Storage 2.0: 105 GiB for Llama 3 8B; 8,030,261,248 parameters of 14 bytes. */
static void a_checkpoint_has_fourteen_bytes_for_each_parameter(void **state)
{
    struct checkpoint_of_plan of = plan_with("", "", 0);
    (void)state;
    assert_true(of.sized);
    assert_true(of.parameters == 8030261248.0);
    assert_true(fabs(of.model_bytes / (2 * of.parameters) - 1) < 1e-6);
    assert_true(fabs(of.optimizer_bytes / (12 * of.parameters) - 1) < 1e-6);
    assert_true(fabs(checkpoint_shards_bytes(&of.shards) / 0x1p30 - 105) < 0.5);
}

/* By hand: embedding and head 128256 x 4096; a block 2 x 4096 x (4096 + 1024) + 3 x 4096 x 14336 + 2 x 4096; a norm 4096.
 * Two tensor ranks, two stages of 16 blocks; the optimizer over 2 x 2 x 4. */
static void ranks_save_what_they_hold(void **state)
{
    struct checkpoint_of_plan of = plan_with("", "", 0);
    double embedding = 128256.0 * 4096, block = 2 * 4096.0 * 5120 + 3 * 4096.0 * 14336 + 2 * 4096;
    double optimizer = 8030261248.0 / 16 * 12;
    (void)state;
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 0) == (embedding + 16 * block) / 2 * 2 + optimizer);
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 2) ==
                (embedding + 16 * block + 4096) / 2 * 2 + optimizer);
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 4) == optimizer);
    assert_int_equal(checkpoint_shards_count(&of.shards, 0), 17 + 1);
}

static void sharded_parameters_are_saved_by_all(void **state)
{
    struct checkpoint_of_plan of = plan_with("\"sharding\": 1", "\"sharding\": 3", 0);
    (void)state;
    assert_true(fabs(checkpoint_shards_bytes(&of.shards) / (14 * of.parameters) - 1) < 1e-6);
    assert_true(
        fabs(checkpoint_shards_rank_bytes(&of.shards, 4) / checkpoint_shards_rank_bytes(&of.shards, 0) - 1) <
        1e-6);
}

static void without_zero_one_replica_saves_all(void **state)
{
    struct checkpoint_of_plan of = plan_with("\"sharding\": 1", "\"sharding\": 0", 0);
    (void)state;
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 4) == 0);
    assert_true(fabs(checkpoint_shards_bytes(&of.shards) / (14 * of.parameters) - 1) < 1e-6);
}

static void full_precision_has_no_master_copy(void **state)
{
    struct checkpoint_of_plan of = plan_with("bf16", "fp32", 0);
    (void)state;
    assert_true(fabs(of.model_bytes / (4 * of.parameters) - 1) < 1e-6);
    assert_true(fabs(of.optimizer_bytes / (8 * of.parameters) - 1) < 1e-6);
    of = plan_with("bf16", "fp8", 0);
    assert_true(fabs(of.model_bytes / (2 * of.parameters) - 1) < 1e-6);
}

/* GPT-2's head is the embedding's matrix. */
static void a_tied_head_is_saved_once(void **state)
{
    struct checkpoint_of_plan of = plan_with("llama-3-8b", "gpt2-xl", 0);
    (void)state;
    assert_int_equal(of.shards.head, 0);
    assert_true(fabs(of.model_bytes / (2 * of.parameters) - 1) < 1e-5);
}

/* Of Mixtral 8x7B with tensor 2, pipeline 2, data 4. */
static bool read_mixtral(struct checkpoint_of_plan *of, int expert, int sharding, struct error *err)
{
    char text[1024];
    int length =
        snprintf(text, sizeof text,
                 "{\"format\": \"rehearse-plan/2\", \"model\": {\"name\": \"mixtral-8x7b\"}, \"training\": "
                 "{\"precision\": "
                 "\"bf16\", \"microbatch\": 1, \"sharding\": %d}, \"pipelines\": [{\"copies\": 4, "
                 "\"microbatches\": 64, \"stages\": "
                 "[{\"layers\": [0, 16], \"device_type\": \"h100-sxm\", \"tensor\": 2, \"expert\": %d}, "
                 "{\"layers\": [17, 33], \"device_type\": \"h100-sxm\", \"tensor\": 2, \"expert\": %d}]}]}",
                 sharding, expert, expert);
    return read_text(of, text, length, 0, err);
}

static struct checkpoint_of_plan mixtral_with(int sharding)
{
    struct checkpoint_of_plan of;
    struct error err;
    if (!read_mixtral(&of, 4, sharding, &err))
        fail_msg("%s", err.text);
    return of;
}

/* Eight experts of 3 x 4096 x 14336 in each of 32 blocks, of which a stage has 16; four ranks of it have two experts each:
 * those of the first two replicas. */
static void experts_are_saved_by_those_that_hold_them(void **state)
{
    struct checkpoint_of_plan of = mixtral_with(1);
    double experts = 16 * 2 * 3 * 4096.0 * 14336 * 2;
    (void)state;
    assert_true(of.sized);
    assert_true(fabs(of.model_bytes / (2 * of.parameters) - 1) < 1e-6);
    assert_true(fabs(of.optimizer_bytes / (12 * of.parameters) - 1) < 1e-6);
    double optimizer = checkpoint_shards_rank_bytes(&of.shards, 15);
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 4) == experts + optimizer); /* replica 1, stage 0 */
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 7) == experts + optimizer); /* stage 1 */
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 8) == optimizer);           /* replica 2 */
    assert_true(checkpoint_shards_rank_bytes(&of.shards, 0) > experts + optimizer);
}

static void sharded_experts_are_saved_by_all(void **state)
{
    struct checkpoint_of_plan of = mixtral_with(3);
    (void)state;
    assert_true(fabs(of.model_bytes / (2 * of.parameters) - 1) < 1e-6);
    assert_true(
        fabs(checkpoint_shards_rank_bytes(&of.shards, 0) / checkpoint_shards_rank_bytes(&of.shards, 12) - 1) <
        1e-6);
}

static void fewer_ranks_save_their_part(void **state)
{
    struct checkpoint_of_plan all = plan_with("", "", 0), of = plan_with("", "", 3);
    double bytes = 0;
    (void)state;
    for (int rank = 0; rank < 3; rank++)
        bytes += checkpoint_shards_rank_bytes(&all.shards, rank);
    assert_true(checkpoint_shards_bytes(&of.shards) == bytes);
    refuse("", "", 17, "plan.json: 17 ranks, but the plan uses 16 devices");
}

static void without_sizes(const char *old, const char *new, const char *why)
{
    struct checkpoint_of_plan of = plan_with(old, new, 4);
    assert_false(of.sized);
    if (!strstr(of.why, why))
        fail_msg("%s; expected: %s", of.why, why);
}

static void a_plan_without_sizes_says_why(void **state)
{
    (void)state;
    without_sizes("llama-3-8b", "ours", "unknown model 'ours'");
    without_sizes("\"expert\": 1}, ", "\"expert\": 4}, ", "its stages differ");
    without_sizes("\"precision\": \"bf16\", ", "", "no model or no precision");
    without_sizes("\"pipelines\": [",
                  "\"pipelines\": [{\"stages\": [{\"layers\": [0, 33], \"device_type\": \"a\"}]}, ",
                  "its pipelines differ");
    struct checkpoint_of_plan of = mixtral_with(0);
    assert_false(of.sized);
    assert_non_null(strstr(of.why, "expert parallelism without ZeRO"));
}

static void wrong_plans_are_refused(void **state)
{
    (void)state;
    refuse("bf16", "bf17", 0, "unknown number format 'bf17'");
    struct checkpoint_of_plan of;
    struct error err;
    assert_false(read_mixtral(&of, 16, 1, &err));
    assert_string_equal(err.text, "plan.json: ep 16 exceeds tp x dp x cp = 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_has_fourteen_bytes_for_each_parameter),
        cmocka_unit_test(ranks_save_what_they_hold),
        cmocka_unit_test(sharded_parameters_are_saved_by_all),
        cmocka_unit_test(without_zero_one_replica_saves_all),
        cmocka_unit_test(full_precision_has_no_master_copy),
        cmocka_unit_test(a_tied_head_is_saved_once),
        cmocka_unit_test(experts_are_saved_by_those_that_hold_them),
        cmocka_unit_test(sharded_experts_are_saved_by_all),
        cmocka_unit_test(fewer_ranks_save_their_part),
        cmocka_unit_test(a_plan_without_sizes_says_why),
        cmocka_unit_test(wrong_plans_are_refused),
    };
    return cmocka_run_group_tests_name("feed: checkpoints of a plan", tests, NULL, NULL);
}
