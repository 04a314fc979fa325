/* Zip archives as Python's zipfile writes them under numpy (PKWARE APPNOTE 6.3.9): every member has the extra
 * field of 64-bit sizes in its local header; in the directory only where sizes or places pass 2 GiB. */
#ifndef REHEARSE_DATASET_FORMAT_ZIP_H
#define REHEARSE_DATASET_FORMAT_ZIP_H

#include "dataset/writer.h"

#include <stdbool.h>
#include <stdint.h>

#define ZIP_MAX_NAME 255

struct zip_member {
    char name[ZIP_MAX_NAME + 1];
    bool deflated;
    uint32_t sum;         /* CRC-32 of its content */
    int64_t size, packed; /* bytes in it, and in the archive */
    int64_t offset;       /* of its local header */
    int64_t data;         /* of its bytes; set by zip_find and zip_place */
    int64_t directory;    /* where the archive's directory begins; set by zip_find */
};

/* Sets where the member begins and its data; returns where it ends. */
int64_t zip_place(struct zip_member *member, int64_t offset);
int64_t zip_tail_bytes(const struct zip_member *members, int count, int64_t offset);

/* Sum and sizes of a deflated member follow it. */
void zip_put_header(struct dataset_writer *writer, const struct zip_member *member);
void zip_put_tail(struct dataset_writer *writer, const struct zip_member *members, int count, int64_t offset);

/* Reads the directory of an archive, which the caller closes; NULL on failure. `source` and `path` live as long. */
struct zip_archive;
struct zip_archive *zip_open(const struct dataset_source *source, const char *path, struct error *err);
void zip_close(struct zip_archive *archive);

/* The member of this name; with `or_first`, the first of an archive without it. The whole directory is
 * checked, as zipfile does. */
bool zip_take(struct zip_archive *archive, const char *name, bool or_first, struct zip_member *member,
              struct error *err);
bool zip_find(const struct dataset_source *source, const char *path, const char *name, bool or_first,
              struct zip_member *member, struct error *err);

#endif
