#include "evidence/mixed_read.h"
#include "support/expect.h"
#include "support/mixed_reference.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AMP_COLUMNS "experiment,model,gbs,mbs,tp,dp,pp,partition,real_s,outcome\n"
#define SAILOR_COLUMNS                                                                                       \
    "cluster,model,gbs,mbs,dp,pp,tp,layers_per_stage,stage_gpus,real_s_per_iter,max_mem_bytes\n"

static const char setup[] = "format: rehearse-mixed/1\n"
                            "models:\n"
                            "- name: tiny\n"
                            "  hidden: 10\n"
                            "  heads: 1\n"
                            "  sequence: 5\n"
                            "  vocabulary: 100\n"
                            "  element: 2\n"
                            "  tied: true\n"
                            "  layers:\n"
                            "  - {kind: embedding}\n"
                            "  - {kind: block, count: 2}\n"
                            "  - {kind: head}\n"
                            "devices:\n"
                            "- {name: old, launch: [{tensor: 1, seconds: 100 ms}]}\n"
                            "- {name: new, kernels: {like: old, times: 0.5}}\n"
                            "clusters:\n"
                            "- name: pair\n"
                            "  groups:\n"
                            "  - {device: new, nodes: 1, devices: 2, network: 1 GB/s, inside: 10 GB/s}\n"
                            "  - {device: old, nodes: 1, devices: 2, network: 1 GB/s, inside: 10 GB/s}\n"
                            "  software: {gradient: 4, tied: 2, buffer: 4 MiB, step: 1 s}\n";

/* Blocks: 0.3 s on the old device, of which 0.1 s host; 0.2 s on the new: kernels 0.1, host 0.1. */
static const char forward[] =
    "model,gpu,tp,layer,cost\n"
    "tiny,old (a),1,0,0\ntiny,old (a),1,1,0.3\ntiny,old (a),1,2,0.3\ntiny,old (a),1,3,0.1\n"
    "tiny,new (b),1,0,0\ntiny,new (b),1,1,0.2\ntiny,new (b),1,2,0.2\ntiny,new (b),1,3,0.1\n";

static const char measured[] = "model,gpu,mbs_key,tp_key,layer,fwd_s,bwd_s,update_s\n"
                               "tiny,old,1,1,0,0,0,0.5\ntiny,old,1,1,1,1,2,0.5\n"
                               "tiny,old,1,1,2,1,2,0.5\ntiny,old,1,1,3,1,1,0.5\n"
                               "tiny,new,1,1,0,0,0,0.4\ntiny,new,1,1,1,3,1,0.4\n"
                               "tiny,new,1,1,2,3,1,0.4\ntiny,new,1,1,3,1,1,0.4\n"
                               "tiny,new,2,1,0,0,0,0.4\ntiny,new,2,1,1,2,2,0.4\n"
                               "tiny,new,2,1,2,2,2,0.4\ntiny,new,2,1,3,1,1,0.4\n";

static bool make(struct mixed_table *table, const char *plans, const char *layers, struct error *err)
{
    *table = (struct mixed_table){0};
    if (csv_parse(&table->plans, "plans.csv", plans, strlen(plans), err) &&
        csv_parse(&table->layers, "layers.csv", layers, strlen(layers), err) &&
        mixed_setup_parse(&table->setup, "setup.yaml", setup, strlen(setup), err) &&
        mixed_table_make(table, err))
        return true;
    mixed_table_release(table);
    return false;
}

static struct mixed_table table_of(const char *plans, const char *layers)
{
    struct mixed_table table;
    struct error err;
    if (!make(&table, plans, layers, &err))
        fail_msg("%s", err.text);
    return table;
}

static const struct mixed_row *first_row(const struct mixed_table *table)
{
    if (table->rows[0].reason)
        fail_msg("%s", table->rows[0].reason);
    return &table->rows[0];
}

/* Four devices, one replica each. The old ones are the slowest: a micro-batch of two takes 2 (0.1 + 3 x 0.2 x 2) in
 * their blocks, 3 x 0.1 x 2 in the head. */
static void reads_plans_of_ranks(void **state)
{
    (void)state;
    struct mixed_table table = table_of(AMP_COLUMNS "pair,tiny,16,2,1,4,1,0|4,9.5,ok\n", forward);
    const struct mixed_row *row = first_row(&table);
    near(row->predicted.compute, 2 * (2 * (0.1 + 1.2) + 0.6));
    near(row->predicted.other, 1.0);
    assert_int_equal(row->plan.replicas[1].node, 0);
    assert_int_equal(row->plan.replicas[2].node, 1);
    assert_int_equal(row->predicted.pipeline, 2);
    near(row->error, row->predicted.seconds / 9.5 - 1.0);
    /* the head has the embedding's table: 1,000 parameters, and 2 x 1,330 in blocks; 4 bytes, 2 x 3/4 of them */
    near(row->predicted.gradients, 1.5 * (1000 + 2 * 1330) * 4 / 1e9);
    mixed_table_release(&table);
}

/* On the new device: host time is what kernels, half of the old device's, leave of the forward time. */
static void takes_kernels_from_another_device(void **state)
{
    (void)state;
    struct mixed_table table = table_of(AMP_COLUMNS "pair,tiny,2,2,1,1,1,0|4,,ok\n", forward);
    const struct mixed_row *row = first_row(&table);
    near(row->predicted.compute, 2 * (0.1 + 3 * 0.1 * 2) + 0.6);
    near(row->plan.replicas[0].times->launch[4], 0.2);
    near(row->measured, 0.0);
    mixed_table_release(&table);
}

static void reads_plans_of_device_names(void **state)
{
    (void)state;
    struct mixed_table table = table_of(
        SAILOR_COLUMNS "pair of boxes,tiny,4,1,2,2,1,2|2,oldx8:tp1+oldx8:tp1 ; newx8:tp1+oldx8:tp1,20,1e9\n",
        measured);
    const struct mixed_row *row = first_row(&table);
    assert_string_equal(row->cluster, "pair");
    assert_int_equal(row->plan.node_count, 4);
    assert_int_equal(row->plan.stages, 2);
    assert_int_equal(row->plan.first[1], 2);
    assert_ptr_equal(row->plan.replicas[0].times, row->plan.replicas[3].times);
    near(row->plan.replicas[0].times->seconds[2], 3.0);
    /* stage 0 of the old device has half of the layers, and so half of its update */
    near(row->predicted.optimizer, 0.25);
    mixed_table_release(&table);
}

/* 3 s of one sample where two samples take 2 s. */
static void a_smaller_microbatch_takes_no_longer(void **state)
{
    (void)state;
    struct mixed_table table = table_of(SAILOR_COLUMNS "pair,tiny,1,1,1,1,1,4,newx2:tp1,,\n", measured);
    near(first_row(&table)->predicted.compute, 2 * (2 + 1) + 2);
    mixed_table_release(&table);
}

/* Two samples of five tokens, two bytes, no dropout: 32 bytes per token and width, 2 per score, 6 per logit. */
static void counts_what_is_kept(void **state)
{
    (void)state;
    struct mixed_table table = table_of(AMP_COLUMNS "pair,tiny,2,2,1,1,1,0|4,,ok\n", forward);
    const struct mixed_row *row = first_row(&table);
    double block = 10 * 10 * 32.0 + 5 * 10 * 2.0, head = 10 * 100 * 6.0;
    near(row->predicted_memory, 2 * block + head);
    mixed_table_release(&table);
}

static void marks_copies(void **state)
{
    (void)state;
    struct mixed_table table = table_of(SAILOR_COLUMNS "pair,tiny,1,1,1,1,1,4,newx2:tp1,7,9\n"
                                                       "pair,tiny,2,1,1,1,1,4,newx2:tp1,7,9\n"
                                                       "pair,tiny,3,1,1,1,1,4,newx2:tp1,7,8\n",
                                        measured);
    struct mixed_score all, sure;
    struct error err;
    assert_non_null(table.rows[0].mark);
    assert_non_null(table.rows[1].mark);
    assert_null(table.rows[2].mark);
    assert_true(mixed_table_score(&table, "pair", MIXED_SECONDS, true, &all, &err));
    assert_true(mixed_table_score(&table, "pair", MIXED_SECONDS, false, &sure, &err));
    assert_int_equal(all.errors.rows, 3);
    assert_int_equal(sure.errors.rows, 1);
    mixed_table_release(&table);
}

/* Each row of a table by itself, and why it says nothing. */
static void give_reasons(const char *columns, const char *layers, const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", columns, rows[i][0]);
        struct mixed_table table = table_of(text, layers);
        assert_non_null(table.rows[0].reason);
        assert_string_equal(table.rows[0].reason, rows[i][1]);
        mixed_table_release(&table);
    }
}

static void says_why_not(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"elsewhere,tiny,16,2,1,4,1,0|4,9,ok\n", "cluster 'elsewhere' is not in the setup"},
        {"pair,huge,16,2,1,4,1,0|4,9,ok\n", "model 'huge' is not in the setup"},
        {"pair,tiny,16,2,1,4,1,0|4,,OOM/failed\n", "did not run: OOM/failed"},
        {"pair,tiny,16,3,1,4,1,0|4,9,ok\n", "the batch does not split into micro-batches of its pipelines"},
        {"pair,tiny,16,2,1,4,1,0|5,9,ok\n", "the plan has 5 layers, the model has 4"},
        {"pair,tiny,16,2,1,2,2,0|4,9,ok\n",
         "partition: expected 3 whole numbers up to 4096 between bars, found '0|4'"},
        {"pair,tiny,16,2,1,2,2,0|0|4,9,ok\n", "stage 0: has no layers"},
        {"pair,tiny,16,2,1,8,1,0|4,9,ok\n", "the cluster has fewer devices than the plan"},
        {"pair,tiny,16,2,4,1,1,0|4,9,ok\n", "tensor parallel devices in several nodes are not modelled"},
        {"pair,tiny,16,2,2,2,1,0|4,9,ok\n", "no layer times of tiny on new, tp 2, micro-batch 2"},
        {"pair,tiny,16,x,1,4,1,0|4,9,ok\n", "mbs: expected a whole number from 1 to 1073741824, found 'x'"},
        {"pair,tiny,16,2,1,4,1,0|4,-1,ok\n", "real_s: expected a positive number, found '-1'"},
    };
    give_reasons(AMP_COLUMNS, forward, rows, sizeof rows / sizeof *rows);
}

static void says_what_is_wrong_with_names_of_devices(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"pair,tiny,4,1,2,1,1,4,oldx8:tp1,9,\n", "stage_gpus: does not have 1 stages of 2 replicas"},
        {"pair,tiny,4,1,1,1,1,4,oldx8,9,\n", "stage_gpus: expected TYPExN:tpN, found 'oldx8'"},
        {"pair,tiny,4,1,1,1,1,4,oddx8:tp1,9,\n", "the cluster has no device 'oddx8'"},
        {"pair,tiny,4,1,1,1,1,4,oldx8:tp0,9,\n", "stage_gpus: expected TYPExN:tpN, found 'oldx8:tp0'"},
        {"pair,tiny,12,3,1,1,1,4,oldx8:tp1,9,\n", "no layer times of tiny on old, tp 1, micro-batch 3"},
    };
    give_reasons(SAILOR_COLUMNS, measured, rows, sizeof rows / sizeof *rows);
}

static void refuses_layers_out_of_order(void **state)
{
    (void)state;
    struct mixed_table table;
    struct error err;
    assert_false(make(&table, AMP_COLUMNS, "model,gpu,tp,layer,cost\ntiny,old,1,1,0.1\n", &err));
    assert_non_null(strstr(err.text, "layers.csv:2: layer: expected layer 0"));
    assert_false(make(&table, AMP_COLUMNS, "model,gpu,tp,layer,cost\ntiny,old,1.5,0,0.1\n", &err));
    assert_non_null(strstr(err.text, "expected a whole number, found '1.5'"));
    assert_false(make(&table, AMP_COLUMNS, "model,gpu,tp,layer\n", &err));
    assert_non_null(strstr(err.text, "cost"));
}

static void refuses_setups_that_are_none(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"format: rehearse-mixed/2\n", "format"},
        {"format: rehearse-mixed/1\nmodels: []\n", "expected 1 to 256 entries, found 0"},
        {"models:\n- {name: a, hidden: 1, heads: 1, sequence: 1, vocabulary: 1, element: 2, layers: [{kind: "
         "odd}]}\n",
         "expected embedding, block, head or other, found 'odd'"},
        {"models:\n- {name: a, hidden: 1, heads: 1, sequence: 1, vocabulary: 1, element: 2, tied: 1, layers: "
         "[{kind: "
         "head}]}\n",
         "expected true or false"},
        {"models:\n- {name: a, hidden: 1, heads: 1, sequence: 1, vocabulary: 1, element: 2, layers: [{kind: "
         "block, "
         "count: 4096}, {kind: head}]}\n",
         "more than 4096 layers"},
        {"models:\n- {name: a, hidden: 1, heads: 1, sequence: 1, vocabulary: 1, element: 2, layers: [{kind: "
         "head}]}\n"
         "clusters:\n- {name: c, software: {}, groups: [{device: d, nodes: 1, devices: 1, network: 0 GB/s, "
         "inside: 1 "
         "GB/s}]}\n",
         "network"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mixed_setup read;
        struct error err = {0};
        assert_false(mixed_setup_parse(&read, "setup.yaml", texts[i][0], strlen(texts[i][0]), &err));
        if (!strstr(err.text, texts[i][1]))
            fail_msg("expected '%s' in '%s'", texts[i][1], err.text);
    }
}

static void correlates_ranks(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5}, same[] = {10, 20, 30, 40, 1e9}, back[] = {5, 4, 3, 2, 1};
    const double swapped[] = {1, 2, 4, 3, 5}, ties[] = {1, 2, 2, 4, 5}, flat[] = {7, 7, 7, 7, 7};
    double room[10];
    near(rank_correlation(a, same, 5, room), 1.0);
    near(rank_correlation(a, back, 5, room), -1.0);
    near(rank_correlation(a, swapped, 5, room), 0.9);           /* 1 - 6 x 2 / (5 x 24) */
    near(rank_correlation(a, ties, 5, room), 9.5 / sqrt(95.0)); /* ranks 1, 2.5, 2.5, 4, 5 */
    near(rank_correlation(a, flat, 5, room), 0.0);
}

/* ---- the published plans ---- */

static void expect(const struct mixed_table *table, const char *cluster, bool doubtful, int rows, double mean,
                   double rank)
{
    struct mixed_score score;
    struct error err;
    assert_true(mixed_table_score(table, cluster, MIXED_SECONDS, doubtful, &score, &err));
    assert_true(score.errors.rows >= rows);
    if (score.errors.mean > mean || score.rank < rank)
        fail_msg("%s: mean error %.3f, rank correlation %.3f", cluster, score.errors.mean, score.rank);
}

static void plans_of_amp_are_near(void **state)
{
    (void)state;
    struct mixed_table table;
    mixed_reference_amp(&table);
    expect(&table, "homogeneous", true, 47, 0.035, 0.98);
    expect(&table, "het_cluster", true, 43, 0.10, 0.70);
    expect(&table, "het_cluster", false, 35, 0.055, 0.96);
    mixed_table_release(&table);
}

static void plans_of_sailor_are_near(void **state)
{
    (void)state;
    struct mixed_table table;
    mixed_reference_sailor(&table);
    expect(&table, "GH200 Clariden", true, 15, 0.065, 0.93);
    expect(&table, "MIT heterogeneous", true, 9, 0.065, 0.93);
    struct mixed_score memory;
    struct error err;
    assert_true(mixed_table_score(&table, "GH200 Clariden", MIXED_MEMORY, true, &memory, &err));
    assert_int_equal(memory.errors.rows, 15);
    assert_true(memory.errors.mean < 0.045);
    mixed_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plans_of_ranks),
        cmocka_unit_test(takes_kernels_from_another_device),
        cmocka_unit_test(reads_plans_of_device_names),
        cmocka_unit_test(a_smaller_microbatch_takes_no_longer),
        cmocka_unit_test(counts_what_is_kept),
        cmocka_unit_test(marks_copies),
        cmocka_unit_test(says_why_not),
        cmocka_unit_test(says_what_is_wrong_with_names_of_devices),
        cmocka_unit_test(refuses_layers_out_of_order),
        cmocka_unit_test(refuses_setups_that_are_none),
        cmocka_unit_test(correlates_ranks),
        cmocka_unit_test(plans_of_amp_are_near),
        cmocka_unit_test(plans_of_sailor_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
