/* Verifies that a data set matches its layout in every byte, without a stored copy. */
#ifndef REHEARSE_DATASET_VERIFY_H
#define REHEARSE_DATASET_VERIFY_H

#include "core/error.h"
#include "dataset/generate.h"
#include "dataset/layout.h"
#include "dataset/place.h"

#include <stdbool.h>
#include <stdint.h>

#define DATASET_MAX_FAULTS 100 /* maximum listed */

enum dataset_fault_kind { DATASET_MISSING, DATASET_WRONG_SIZE, DATASET_WRONG_CONTENT, DATASET_UNREADABLE };

struct dataset_fault {
    enum dataset_fault_kind kind;
    int64_t number;          /* of the file */
    char *path;              /* relative to the place */
    int64_t offset;          /* content: of the first wrong byte; else -1 */
    int64_t expected, found; /* bytes of the file; content: values of that byte */
    char *text;              /* message with the path: "train/x.npz: byte 4096 is 17, expected 203" */
};

struct dataset_verified {
    int64_t files, bytes; /* checked, of all parts */
    int64_t fault_count;  /* total; at most one per part */
    int listed;
    struct dataset_fault faults[DATASET_MAX_FAULTS]; /* those of the lowest file numbers, in order */
};

/* Checks every file; with `content` false only names and sizes. Returns false if it could not be done; faults
 * are no failure. The caller always releases *verified with dataset_verified_release. */
bool dataset_verify(const struct dataset_layout *layout, const struct dataset_place *place,
                    const struct dataset_work *work, bool content, struct dataset_verified *verified,
                    struct error *err);
void dataset_verified_release(struct dataset_verified *verified);

#endif
