/* Between the files that read workloads. */
#ifndef REHEARSE_FEED_WORKLOAD_INTERNAL_H
#define REHEARSE_FEED_WORKLOAD_INTERNAL_H

#include "core/doc.h"
#include "feed/workload/workload.h"

int workload_key_index(const struct workload_key *key);

static inline void *workload_field(struct workload *workload, const struct workload_key *key)
{
    return (char *)workload + key->offset;
}

static inline const void *workload_field_of(const struct workload *workload, const struct workload_key *key)
{
    return (const char *)workload + key->offset;
}

/* Returns the index that an enum's field holds. */
int workload_word(const struct workload *workload, const struct workload_key *key);

/* Sets the field from a value of a document; the caller handles nulls. */
bool workload_set(struct workload *workload, const struct workload_key *key, const struct doc *doc,
                  const struct doc_node *node, struct error *err);

/* Checks the parallelism of a checkpoint's ranks; `ranks` 0: not known yet. */
bool workload_check_parallelism(const struct workload *workload, int64_t ranks, struct error *err);

/* Returns the bytes of a row of Parquet whose columns are named, which make up the record; else 0. */
double workload_columns_bytes(const struct workload *workload);

/* Returns why a key has no effect with this workload's format; NULL: it has one. */
const char *workload_key_idle_with(const struct workload *workload, const struct workload_key *key);

#endif
