/* A small data set in a folder of its own, a storage over it whose reads a test can slow down or break, and a loader. */
#ifndef REHEARSE_TESTS_FEED_SET_H
#define REHEARSE_TESTS_FEED_SET_H

#include "dataset/generate.h"
#include "feed/loader/loader.h"

#include "model/folder.h"
#include "support/data_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct set {
    struct folder folder;
    struct dataset_layout layout;
    struct storage_calls calls;
    struct storage *storage;
    struct order order;
    struct loader *loader;
};

static struct set set;

static inline struct loader_counts set_counts(struct loader *loader)
{
    struct loader_counts counts = {0};
    loader_add_counts(loader, &counts);
    return counts;
}

/* What a test begins from: 12 files of 4 samples of 1000 bytes, 3 to evaluate with. */
static inline void set_start(const char *format)
{
    folder_make(&set.folder);
    dataset_layout_init(&set.layout);
    set.layout.format = dataset_format_find(format);
    set.layout.files_train = 12;
    set.layout.files_eval = 3;
    set.layout.samples_per_file = 4;
    set.layout.record_bytes = 1000;
    set.calls = (struct storage_calls){0};
}

static inline void set_make(void)
{
    struct error err;
    struct feed_place folder;
    struct dataset_place place = data_place(&folder, set.folder.path);
    struct dataset_generated generated;
    const struct dataset_work work = {.ranks = 1};
    if (!dataset_layout_check(&set.layout, &err) ||
        !dataset_generate(&set.layout, &place, &work, &generated, &err))
        fail_msg("%s", err.text);
    storage_free(folder.storage);
    set.storage = storage_new(&(struct storage_options){.root = set.folder.path, .calls = &set.calls}, &err);
    if (!set.storage)
        fail_msg("%s", err.text);
}

static inline int set_npz(void **state)
{
    (void)state;
    set_start("npz");
    set_make();
    return 0;
}

static inline int set_tfrecord(void **state)
{
    (void)state;
    set_start("tfrecord");
    set_make();
    return 0;
}

static inline int set_end(void **state)
{
    (void)state;
    loader_free(set.loader);
    storage_free(set.storage);
    dataset_layout_release(&set.layout);
    folder_remove(&set.folder);
    set = (struct set){0};
    return 0;
}

static inline void set_path(char path[512], int64_t number)
{
    struct dataset_file file;
    struct text name = {0};
    dataset_file_init(&file, &set.layout, number);
    assert_true(dataset_file_path(&file, 0, &name));
    snprintf(path, 512, "%s/%s", set.folder.path, name.data);
    text_release(&name);
}

static inline struct loader_options set_loader_options(int accelerators)
{
    return (struct loader_options){
        .storage = set.storage,
        .layout = &set.layout,
        .count = accelerators,
        .read_threads = 2,
        .prefetch = 2,
        .exact = true,
    };
}

static inline void set_loader(const struct loader_options *options)
{
    struct error err;
    loader_free(set.loader);
    set.loader = loader_new(options, &err);
    if (!set.loader)
        fail_msg("%s", err.text);
}

static inline void set_order(int accelerators, int64_t batch)
{
    struct error err;
    const struct order_options options = {
        .files = set.layout.files_train,
        .samples_per_file = set.layout.samples_per_file,
        .batch = batch,
        .accelerators = accelerators,
        .file_shuffle = ORDER_SEED,
        .sample_shuffle = ORDER_SEED,
        .seed = 7,
        .seed_change_epoch = true,
    };
    if (!order_init(&set.order, &options, &err))
        fail_msg("%s", err.text);
}

static inline void set_pass(int64_t epoch)
{
    struct error err;
    const struct loader_pass pass = {
        .order = &set.order, .epoch = epoch, .steps = set.order.steps, .interval = 1000000};
    if (!loader_start(set.loader, &pass, &err))
        fail_msg("%s", err.text);
}

/* Waits for a batch; false where the loader fails. */
static inline bool set_take(int accelerator, int64_t step, struct metrics_batch *batch, struct error *err)
{
    int told[64];
    while (!loader_take(set.loader, accelerator, step, batch))
        if (loader_wait(set.loader, LOADER_NEVER, told, 64, err) < 0)
            return false;
    return true;
}

/* All batches of an epoch. */
static inline struct metrics_batch set_take_all(int accelerators)
{
    struct error err;
    struct metrics_batch sum = {0}, batch;
    for (int64_t step = 0; step < set.order.steps; step++) {
        for (int i = 0; i < accelerators; i++) {
            if (!set_take(i, step, &batch, &err))
                fail_msg("%s", err.text);
            sum.samples += batch.samples;
            sum.bytes += batch.bytes;
            sum.mark += batch.mark;
        }
    }
    return sum;
}

#endif
