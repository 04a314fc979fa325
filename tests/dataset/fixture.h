/* A folder for a data set, with a place in it and threads. */
#ifndef REHEARSE_TESTS_DATASET_FIXTURE_H
#define REHEARSE_TESTS_DATASET_FIXTURE_H

#include "dataset/io.h"
#include "support/data_place.h"

struct fixture {
    char *root;
    struct feed_place folder;
    struct dataset_place place;
    struct dataset_work work;
};

static inline void fixture_init(struct fixture *f, int threads)
{
    *f = (struct fixture){.root = folder_make(), .work = {.ranks = 1}};
    f->place = data_place(&f->folder, f->root);
    f->work.pool = parallel_new(threads, &(struct error){0});
    assert_non_null(f->work.pool);
}

static inline void fixture_release(struct fixture *f)
{
    parallel_free(f->work.pool);
    storage_free(f->folder.storage);
    folder_remove(f->root);
}

static inline char *path_in(const struct fixture *f, const char *path)
{
    char *joined;
    assert_true(asprintf(&joined, "%s/%s", f->root, path) > 0);
    return joined;
}

static inline struct dataset_generated generate(struct fixture *f, const struct dataset_layout *layout)
{
    struct dataset_generated generated;
    struct error err = {0};
    if (!dataset_generate(layout, &f->place, &f->work, &generated, &err))
        fail_msg("%s", err.text);
    return generated;
}

static inline void layout_some(struct dataset_layout *layout, const char *format)
{
    layout_make(layout, format, 50000, 3);
    layout->files_train = 6;
    layout->files_eval = 2;
    layout->subfolders_train = 2;
}

#endif
