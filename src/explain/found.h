/* The job as its trace shows it: degrees by the groups that exchange, and by matrix products what a micro-batch and the
 * model's width are. Zero: not found. */
#ifndef REHEARSE_EXPLAIN_FOUND_H
#define REHEARSE_EXPLAIN_FOUND_H

#include "explain/explain.h"

enum found_degree { FOUND_TENSOR, FOUND_CONTEXT, FOUND_EXPERT, FOUND_PIPELINE, FOUND_DATA, FOUND_DEGREES };
extern const char *const found_degree_names[FOUND_DEGREES];

struct explain_found {
    int64_t degrees[FOUND_DEGREES];
    bool assumed[FOUND_DEGREES]; /* by ranks and operations of groups without a description, or as the rest */
    int64_t world;
    int64_t replicas,
        together;           /* of shards; of data and context: the largest group that exchanges gradients */
    int64_t covered;        /* ranks in such groups, which are the data's only if all are in one */
    int64_t tokens, hidden; /* of a micro-batch on a device; width */
};

/* What a part of a description, or of a collective's name, tells of its group. */
struct found_word {
    const char *part;
    enum found_degree degree;
    bool sums, shards; /* of the data: gradients, or also parameters; neither is told by "data_parallel" */
};

/* Returns the first word that a text holds; NULL: none, or it tells nothing. */
const struct found_word *found_word_in(const char *text);

/* A group's description tells a degree, as "TENSOR_MODEL_PARALLEL_GROUP" or "mesh_tp"; of several it tells none. */
void explain_find_job(struct explain_found *found, const struct explain *explain);

/* "data 8, before 4": in what another run's job or device differs, of what both tell; nothing: in none. */
void explain_tell_unlike(const struct explain *now, const struct explain *before, struct text *out);

#endif
