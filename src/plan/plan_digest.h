/* Digests that identify layers and a cluster: FNV-1a with 64 bits (Fowler, Noll, Vo) of their numbers, equal
 * on all machines and in all versions. "fnv1a:0123456789abcdef". */
#ifndef REHEARSE_PLAN_PLAN_DIGEST_H
#define REHEARSE_PLAN_PLAN_DIGEST_H

#include "plan/plan.h"

#include <stddef.h>

#define PLAN_DIGEST_BEGIN 0xcbf29ce484222325U

uint64_t plan_digest_text(uint64_t digest, const char *text); /* NULL counts as "" */
uint64_t plan_digest_integers(uint64_t digest, const int64_t *numbers, size_t count);
uint64_t plan_digest_numbers(uint64_t digest, const double *numbers, size_t count);

/* Sets the plan's digests: `layers`, and that of its own device types and links. False: out of memory. */
bool plan_set_digests(struct plan *plan, uint64_t layers, struct error *err);

#endif
