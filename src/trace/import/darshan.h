/* What Darshan's logs and the texts of its parsers have in common. */
#ifndef REHEARSE_TRACE_IMPORT_DARSHAN_H
#define REHEARSE_TRACE_IMPORT_DARSHAN_H

#include "trace/import/internal.h"

#define DARSHAN_MAX_CALLS (INT64_C(1) << 24) /* of one counter */

/* Calls of one kind that a module counted on one file. Times are seconds since the start of the job. */
struct darshan_calls {
    double from, to; /* the first begins, the last ends */
    double busy;     /* sum of their times */
    int64_t count, bytes;
};

enum { DARSHAN_OPEN, DARSHAN_READ, DARSHAN_WRITE, DARSHAN_CLOSE, DARSHAN_KINDS };

struct darshan_record {
    int64_t rank;
    bool stdio;
    struct darshan_calls calls[DARSHAN_KINDS];
};

/* One call that DXT recorded. */
struct darshan_segment {
    int64_t rank, thread; /* thread TRACE_NONE: unknown */
    int64_t offset, length;
    double start, end;
    bool writes, mpi;
};

struct darshan {
    int64_t start_ns; /* of the job */
    char program[64];
};

/* Takes the program's name from its command line. */
void darshan_name(struct darshan *darshan, const char *command);

/* Adds a call. One of MPI-IO is a region, since the calls of POSIX below it move its bytes. */
bool darshan_add_segment(struct import *import, const struct darshan *darshan, int64_t file,
                         const struct darshan_segment *segment, struct error *err);

/* Adds the calls that a record counts, evenly between the first and the last, one behind the other in the file. */
bool darshan_add_record(struct import *import, const struct darshan *darshan, int64_t file,
                        const struct darshan_record *record, struct error *err);

/* Says once what counters cannot tell. */
void darshan_note_counters(struct import *import);

/* Returns whether a file begins as a log. */
bool import_is_darshan(const char *start, size_t length);

#endif
