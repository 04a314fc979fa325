/* Which files are data, and of which kind (phase.h, rules 1 and 2). */
#ifndef REHEARSE_TRACE_PHASE_DATA_H
#define REHEARSE_TRACE_PHASE_DATA_H

#include "core/error.h"
#include "trace/store/store.h"

enum phase_kind { PHASE_NO_DATA, PHASE_TRAINING, PHASE_EVAL };

struct phase_data {
    unsigned char *kinds; /* enum phase_kind, of file ids */
    int64_t files;
    bool any;
};

bool phase_data_find(struct phase_data *data, struct trace_reader *reader, struct error *err);
void phase_data_release(struct phase_data *data);

/* Bytes that an event reads from a file; 0: it does not. */
int64_t phase_bytes_read(const struct trace_event *event);

enum phase_kind phase_kind_of(const struct phase_data *data, const struct trace_event *event);

/* What a path has in common with alike ones; false: it is no file of the run. At most `size` bytes. */
bool phase_group_name(const char *path, char *name, size_t size);

#endif
