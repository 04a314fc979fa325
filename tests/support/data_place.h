/* A folder as the place of a data set. */
#ifndef REHEARSE_TESTS_DATA_PLACE_H
#define REHEARSE_TESTS_DATA_PLACE_H

#include "feed/place.h"

#include <stdio.h>
#include <stdlib.h>

/* The caller frees folder->storage. */
static inline struct dataset_place data_place(struct feed_place *folder, const char *root)
{
    struct error err;
    *folder = (struct feed_place){storage_new(&(struct storage_options){.root = root}, &err), false};
    if (!folder->storage) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return feed_place_of(folder);
}

#endif
