/* Checkpoints of a drill, in a folder that all ranks reach:
 *
 *     FOLDER/iteration-20/part-3.bin        the words of part 3 of the layers, 8 bytes each, in this machine's byte
 *     order
 *     FOLDER/iteration-20/checkpoint.json   `rehearse-drill-checkpoint/1`: the list of parts with checksums, written
 *     last
 *
 * A part is written as part-3.bin.part and renamed once it is on the disk. A checkpoint is complete if checkpoint.json
 * exists. If its writer is killed before that, nobody reads the files, and the next checkpoints remove them. Private to
 * run/drill. */
#ifndef REHEARSE_RUN_DRILL_SAVED_H
#define REHEARSE_RUN_DRILL_SAVED_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAVED_MAX_PARTS (1 << 20)

struct saved_part {
    int64_t words;
    uint64_t checksum;
};

struct saved {
    int64_t iteration; /* number of finished iterations */
    int64_t batch;     /* samples of each: the next one is iteration * batch */
    int part_count;
    struct saved_part *parts; /* malloc'ed */
};

void saved_release(struct saved *saved);

uint64_t saved_checksum(int part, const uint64_t *words, int64_t count);

/* Completes the checkpoint. The last complete one before it stays, for readers that find this one corrupted; older ones
 * and unfinished ones are removed. */
bool saved_write(const struct saved *saved, const char *folder, struct error *err);
bool saved_read(struct saved *saved, const char *folder, int64_t iteration, struct error *err);
bool saved_parse(struct saved *saved, const char *path, const char *text, size_t length, struct error *err);

/* Write the words of a part and sync them; read them. Reading fails, with the file's name, if the checksum differs. */
bool saved_write_part(const char *folder, int64_t iteration, int part, const uint64_t *words, int64_t count,
                      struct error *err);
bool saved_read_part(const struct saved *saved, const char *folder, int part, uint64_t *words,
                     struct error *err);

/* Returns the last whole checkpoint with at most so many iterations; -1: there is none. */
int64_t saved_last(const char *folder, int64_t most);

/* Removes all checkpoints, and the folder if nothing else is in it. */
void saved_remove(const char *folder);

#endif
