/* What DLIO recorded gives the figures that DLIO printed. */
#include "core/doc.h"
#include "feed/script.h"
#include "support/reference.h"

/* A list of numbers in a document. */
static double item(const struct doc_node *map, const char *kind, const char *block, int index)
{
    const struct doc_node *node = doc_find(doc_find(map, kind), block);
    assert_non_null(node);
    for (node = node->first_child; node && index > 0; index--)
        node = node->next;
    assert_non_null(node);
    return node->number;
}

static double value(const struct doc_node *map, const char *kind, const char *block)
{
    const struct doc_node *node = doc_find(doc_find(map, kind), block);
    assert_non_null(node);
    return node->number;
}

static int64_t ns(double seconds)
{
    return (int64_t)llround(seconds * 1e9);
}

/* Replays the steps that DLIO recorded for a block. The block's length is not recorded: it follows from the throughput
 * that DLIO made of it, so that AU and what is summed up are what is tested. */
static void replay(struct metrics *metrics, int rank, int epoch, const struct doc_node *recorded,
                   const char *name, int steps, double batch)
{
    enum metrics_phase phase = strcmp(name, "eval") == 0 ? METRICS_EVAL : METRICS_TRAIN;
    double wall = phase == METRICS_EVAL ? steps * batch / value(recorded, "throughput", name)
                                        : (steps - 2) * batch / value(recorded, "throughput", name) +
                                              item(recorded, "proc", name, 0);
    metrics_block_start(metrics, rank, phase, epoch, phase == METRICS_TRAIN, 0);
    for (int i = 0; i < steps; i++) {
        double compute = item(recorded, "compute", name, i);
        struct metrics_step step = {
            .load = ns(item(recorded, "proc", name, i) - compute),
            .compute_asked = ns(compute),
            .compute = ns(compute),
        };
        metrics_step(metrics, rank, &step);
    }
    ok(metrics_block_end(metrics, rank, ns(wall), &err));
    assert_true(fabs(metrics->blocks[metrics->block_count - 1].dlio_au / value(recorded, "au", name) - 1) <
                1e-7);
}

static bool load(struct doc *doc, const char *name)
{
    char relative[64];
    snprintf(relative, sizeof relative, "trace/raw/dlio_out/%s", name);
    char *path = reference_path(relative);
    if (!path)
        return false;
    ok(doc_load(doc, path, &err));
    free(path);
    return true;
}

static void assert_list(const struct doc_node *metric, const char *key, const double *values, size_t count)
{
    const struct doc_node *list = doc_find(metric, key);
    assert_non_null(list);
    assert_int_equal(list->count, count);
    size_t i = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        assert_true(fabs(values[i++] / node->number - 1) < 1e-7);
}

/* 2 ranks, 2 epochs of 4 steps and an evaluation of 2. */
static void dlios_own_run_gives_dlios_own_summary(void **state)
{
    static const char *const files[] = {"0_output.json", "1_output.json"};
    struct doc summary, output;
    struct metrics metrics;
    struct metrics_dlio train, eval;
    (void)state;
    if (!load(&summary, "summary.json"))
        skip();
    struct metrics_options options = {.accelerators = 2,
                                      .epochs = 2,
                                      .exclude_start = 1,
                                      .steps = {4, 2},
                                      .batch = {4, 1},
                                      .au_target = 0.9};
    ok(metrics_init(&metrics, &options, 0, 2, &err));
    for (int rank = 0; rank < 2; rank++) {
        assert_true(load(&output, files[rank]));
        for (int epoch = 0; epoch < 2; epoch++) {
            const struct doc_node *recorded = doc_find(output.root, epoch == 0 ? "1" : "2");
            assert_non_null(recorded);
            replay(&metrics, rank, epoch, recorded, "block1", 4, 4);
            replay(&metrics, rank, epoch, recorded, "eval", 2, 1);
        }
        doc_release(&output);
    }
    const struct doc_node *metric = doc_find(summary.root, "metric");
    ok(metrics_dlio(&metrics, METRICS_TRAIN, &train, &err));
    assert_list(metric, "train_au_percentage", train.au, train.count);
    assert_list(metric, "train_throughput_samples_per_second", train.throughput, train.count);
    assert_true(fabs(train.au_mean / doc_find(metric, "train_au_mean_percentage")->number - 1) < 1e-7);
    assert_true(fabs(train.au_stdev / doc_find(metric, "train_au_stdev_percentage")->number - 1) < 1e-6);
    assert_true(train.met);
    ok(metrics_dlio(&metrics, METRICS_EVAL, &eval, &err));
    assert_list(metric, "eval_au_percentage", eval.au, eval.count);
    assert_list(metric, "eval_throughput_samples_per_second", eval.throughput, eval.count);
    assert_false(eval.met); /* 98.4 % of use, called 49.2 % */
    metrics_dlio_release(&train);
    metrics_dlio_release(&eval);
    metrics_release(&metrics);
    doc_release(&summary);
}

static void dlios_own_checkpoints_give_dlios_own_summary(void **state)
{
    struct doc summary, epochs;
    struct metrics metrics;
    struct metrics_checkpoints f;
    (void)state;
    if (!load(&summary, "summary.json"))
        skip();
    assert_true(load(&epochs, "0_per_epoch_stats.json"));
    const struct doc_node *metric = doc_find(summary.root, "metric");
    double size = doc_find(metric, "checkpoint_size_GB")->number * 1024 * 1024 * 1024;
    init(&metrics, 2, 2, 4, 1, 0);
    for (int epoch = 0; epoch < 2; epoch++) {
        const struct doc_node *saved = doc_find(doc_find(epochs.root, epoch == 0 ? "1" : "2"), "save_ckpt1");
        assert_non_null(saved);
        struct metrics_checkpoint one = {
            .number = epoch, .end = ns(doc_find(saved, "duration")->number), .bytes = (int64_t)llround(size)};
        ok(metrics_checkpoint(&metrics, &one, &err));
    }
    ok(metrics_checkpoints(&metrics, METRICS_SAVE, &f, &err));
    assert_true(
        fabs(f.dlio_throughput_mean / doc_find(metric, "save_checkpoint_io_mean_GB_per_second")->number - 1) <
        1e-9);
    assert_true(
        fabs(f.dlio_throughput_stdev / doc_find(metric, "save_checkpoint_io_stdev_GB_per_second")->number -
             1) < 1e-9);
    assert_true(
        fabs(f.dlio_duration_mean / doc_find(metric, "save_checkpoint_duration_mean_seconds")->number - 1) <
        1e-9);
    metrics_release(&metrics);
    doc_release(&summary);
    doc_release(&epochs);
}

/* Other runs of DLIO, of which only the epochs' figures were kept: mean, deviation and MB/s follow from them. */
static void dlios_means_are_those_of_its_epochs(void **state)
{
    static const char *const runs[] = {"train_unet3d_v100_np2_warm", "train_unet3d_v100_np3_warm",
                                       "acc_unet3d_v100_np2_1core", "train_unet3d_h100_np1_warm"};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char relative[96];
        struct doc doc;
        double values[16], mean, stdev;
        size_t count = 0;
        snprintf(relative, sizeof relative, "feed/golden/%s.json", runs[i]);
        char *path = reference_path(relative);
        if (!path)
            skip();
        ok(doc_load(&doc, path, &err));
        free(path);
        const struct doc_node *metric = doc_find(doc_find(doc.root, "dlio"), "metric");
        assert_non_null(metric);
        const struct doc_node *list = doc_find(metric, "train_throughput_samples_per_second");
        assert_in_range(list->count, 1, 16);
        for (const struct doc_node *node = list->first_child; node; node = node->next)
            values[count++] = node->number;
        metrics_mean_stdev(values, count, &mean, &stdev);
        assert_true(near(mean, doc_find(metric, "train_throughput_mean_samples_per_second")->number));
        assert_true(fabs(stdev - doc_find(metric, "train_throughput_stdev_samples_per_second")->number) <
                    1e-12);
        assert_true(
            near(mean * 146600628 / 1024 / 1024, doc_find(metric, "train_io_mean_MB_per_second")->number));
        doc_release(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlios_own_run_gives_dlios_own_summary),
        cmocka_unit_test(dlios_own_checkpoints_give_dlios_own_summary),
        cmocka_unit_test(dlios_means_are_those_of_its_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
