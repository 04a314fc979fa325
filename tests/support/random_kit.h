/* Small random kits for the elastic tests. */
#ifndef REHEARSE_TESTS_RANDOM_KIT_H
#define REHEARSE_TESTS_RANDOM_KIT_H

#include "elastic/kit.h"

#include <stdint.h>

/* A whole number from low to high. */
int64_t random_between(uint64_t *state, int64_t low, int64_t high);

struct random_kit_spec {
    int kinds, nodes; /* at most, of each kind */
    int shapes;       /* at most */
    int batch;        /* at most */
    bool pipelines;   /* each shape is one pipeline whose stages are nodes, cut at random; else anything */
};

/* Fills in a kit; the caller releases it with elastic_kit_release. */
void random_kit(struct elastic_kit *kit, const struct random_kit_spec *spec, uint64_t seed);

#endif
