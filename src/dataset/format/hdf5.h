/* HDF5 files through libhdf5, without a disk beneath it. The bytes that it writes are kept in memory, except
 * for data, which only get their places and are generated later; the bytes that it reads come from a source.
 * libhdf5 serves one thread at a time. */
#ifndef REHEARSE_DATASET_FORMAT_HDF5_H
#define REHEARSE_DATASET_FORMAT_HDF5_H

#include "dataset/format.h"

#include <hdf5.h>

#define HDF5_MAX_RANK   (DATASET_MAX_DIMS + 1)
#define HDF5_MAX_CHUNKS ((int64_t)1 << 22) /* of one file */

/* A file beneath libhdf5. */
struct hdf5_store {
    const struct dataset_source *source; /* to read from; NULL: the pages */
    int64_t budget;                      /* bytes that may yet be read */
    struct error *err;                   /* of the source */

    /* The reads so far, in order; reads that touch are one. */
    struct dataset_extent open[DATASET_MAX_OPEN];
    int open_count;

    /* The offset of the last write or read request. While a file is located, data are not read. */
    haddr_t data;
    bool locating;

    /* The written bytes, except for data. */
    struct hdf5_page *pages; /* in order */
    size_t page_count, page_capacity;
    int64_t size;
};

/* Begins and ends work with libhdf5. Between them no other thread is in it, and it prints nothing. */
struct hdf5_session {
    H5E_auto2_t report;
    void *report_context;
};
void hdf5_begin(struct hdf5_session *session);
void hdf5_end(const struct hdf5_session *session);

/* Sets the last message of libhdf5 as an error, "PATH: WHAT: REASON". */
bool hdf5_error(const char *path, const char *what, struct error *err);

/* Opens a store, or makes it a new file; negative when it cannot. H5Fclose ends it. */
hid_t hdf5_open(struct hdf5_store *store);
hid_t hdf5_create(struct hdf5_store *store);
void hdf5_store_release(struct hdf5_store *store);

/* Copies bytes of the file that was made; bytes that were not written are 0. */
void hdf5_store_read(const struct hdf5_store *store, int64_t offset, void *to, size_t n);

/* Convert numpy's types to HDF5's and back; negative, or false, if there is none. */
hid_t hdf5_type(enum dataset_element element);

/* One of a sample's data sets: shape (samples, rest of the record), in one piece or in chunks. */
struct hdf5_shape {
    int rank;
    hsize_t dims[HDF5_MAX_RANK], max[HDF5_MAX_RANK]; /* `max`: that it can grow to */
    hsize_t chunk[HDF5_MAX_RANK];                    /* 0 in the first: one piece */
    int64_t element_bytes;
    int64_t records; /* data sets alike that make up a sample */
    bool deflated, shuffled;
};

/* Sets the shape that a layout asks for. False: *err says why it is impossible. */
bool hdf5_shape_of(struct hdf5_shape *shape, const struct dataset_file *file, struct error *err);

int64_t hdf5_chunk_bytes(const struct hdf5_shape *shape);
int64_t hdf5_row_bytes(const struct hdf5_shape *shape); /* of one sample in one data set */

/* Return the chunks of a data set and of one sample of it, and the start of chunk `i`. */
int64_t hdf5_chunks(const struct hdf5_shape *shape);
int64_t hdf5_row_chunks(const struct hdf5_shape *shape);
void hdf5_chunk_start(const struct hdf5_shape *shape, int64_t i, hsize_t start[HDF5_MAX_RANK]);

/* Calls `run` for each run of elements that a chunk and a data set share: `row` is the sample, `in_row` and
 * `in_chunk` are bytes from the start of both. */
typedef void hdf5_run_fn(void *context, int64_t row, int64_t in_row, int64_t in_chunk, size_t n);
void hdf5_chunk_runs(const struct hdf5_shape *shape, const hsize_t start[HDF5_MAX_RANK], hdf5_run_fn *run,
                     void *context);

bool hdf5_locate(struct dataset_index *index, const char *path, const struct dataset_source *const *parts,
                 struct error *err);
bool hdf5_labels(const struct dataset_file *file, const char *path, const struct dataset_source *const *parts,
                 struct error *err);
bool hdf5_decode(const struct dataset_index *index, int64_t sample, const unsigned char *raw,
                 size_t raw_length, unsigned char *to, size_t capacity, size_t *length, struct error *err);

#endif
