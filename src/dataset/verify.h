/* Is a data set what its layout says, down to every byte? Needs no stored copy. */
#ifndef REHEARSE_DATASET_VERIFY_H
#define REHEARSE_DATASET_VERIFY_H

#include "core/error.h"
#include "dataset/generate.h"
#include "dataset/layout.h"
#include "dataset/place.h"

#include <stdbool.h>
#include <stdint.h>

#define DATASET_MAX_FAULTS 100 /* that are listed */

enum dataset_fault_kind { DATASET_MISSING, DATASET_WRONG_SIZE, DATASET_WRONG_CONTENT, DATASET_UNREADABLE };

struct dataset_fault {
    enum dataset_fault_kind kind;
    int64_t number;          /* of the file */
    char *path;              /* relative to the place */
    int64_t offset;          /* content: of the first wrong byte */
    int64_t expected, found; /* bytes of the file; content: values of that byte */
    char *text;              /* for people, with the path: "train/x.npz: byte 4096 is 17, expected 203" */
};

struct dataset_verified {
    int64_t files, bytes; /* that were looked at, of all parts */
    int64_t fault_count;  /* all; at most one per part */
    int listed;
    struct dataset_fault faults[DATASET_MAX_FAULTS]; /* those of the lowest file numbers, in order */
};

/* Looks at every file; with `content` false at names and sizes only. False when it could not be done; faults are no
 * failure. The caller ends *verified with dataset_verified_release in either case. */
bool dataset_verify(const struct dataset_layout *layout, const struct dataset_place *place,
                    const struct dataset_work *work, bool content, struct dataset_verified *verified,
                    struct error *err);
void dataset_verified_release(struct dataset_verified *verified);

#endif
