/* Checkpoints of a drill, in a folder that all ranks reach:
 *
 *     FOLDER/iteration-20/part-3.bin        the words of part 3 of the layers, 8 bytes each, as this machine has them
 *     FOLDER/iteration-20/checkpoint.json   `rehearse-drill-checkpoint/1`: what belongs to it, with checksums; written last
 *
 * A part is written as part-3.bin.part and gets its name when it is on the disk. So a checkpoint is whole if it has its last file, and else it
 * is none: whoever is killed while it is written leaves only what nobody reads, and what the next ones remove. Private to run/drill. */
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
    int64_t iteration; /* that were done */
    int64_t batch;     /* samples of each: the next one is iteration * batch */
    int part_count;
    struct saved_part *parts; /* malloc'ed */
};

void saved_release(struct saved *saved);

uint64_t saved_checksum(int part, const uint64_t *words, int64_t count);

/* The checkpoint is whole from now on. Of those before it the last whole one stays, for a reader who finds this one corrupted; others are
 * removed, and what is left of unfinished ones. */
bool saved_write(const struct saved *saved, const char *folder, struct error *err);
bool saved_read(struct saved *saved, const char *folder, int64_t iteration, struct error *err);
bool saved_parse(struct saved *saved, const char *path, const char *text, size_t length, struct error *err);

/* The words of a part, synced. False where they are not read as they were written, with the file's name. */
bool saved_write_part(const char *folder, int64_t iteration, int part, const uint64_t *words, int64_t count,
                      struct error *err);
bool saved_read_part(const struct saved *saved, const char *folder, int part, uint64_t *words,
                     struct error *err);

/* Returns the last whole checkpoint with at most so many iterations; -1: there is none. */
int64_t saved_last(const char *folder, int64_t most);

/* Removes all checkpoints, and the folder if nothing else is in it. */
void saved_remove(const char *folder);

#endif
