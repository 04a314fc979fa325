/* Oobleck's profile folder. Private to this room, its tests and its fuzz target. */
#ifndef REHEARSE_MODEL_OOBLECK_H
#define REHEARSE_MODEL_OOBLECK_H

#include "core/doc.h"
#include "core/error.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* The files of one folder. */
enum oobleck_file {
    OOBLECK_TIMES, /* mb{N}.json */
    OOBLECK_IN_NODE,
    OOBLECK_ACROSS_NODES,
    OOBLECK_MODEL_ARGS,
    OOBLECK_FILE_COUNT,
};

/* Returns the name of a file; NULL for OOBLECK_TIMES, whose name contains the micro-batch size. */
const char *oobleck_file_name(enum oobleck_file file);

/* Is this folder one of Oobleck's, or does it hold such folders? */
bool oobleck_load(struct profile *profile, const char *path, int microbatch_size, struct error *err);

/* Reads one folder's files from memory into a fresh profile; a NULL text is a missing file. */
struct oobleck_text {
    const char *data;
    size_t length;
};
bool oobleck_parse(struct profile *profile, const char *folder,
                   const struct oobleck_text texts[OOBLECK_FILE_COUNT], int microbatch_size,
                   struct error *err);

/* Returns the milliseconds that read back as exactly these seconds, with a minimum of decimals. */
double oobleck_milliseconds(double seconds);

#endif
