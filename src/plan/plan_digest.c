#include "plan/plan_digest.h"

#include <inttypes.h>
#include <string.h>

#define PRIME 0x100000001b3U

static uint64_t add_byte(uint64_t digest, unsigned char byte)
{
    return (digest ^ byte) * PRIME;
}

uint64_t plan_digest_text(uint64_t digest, const char *text)
{
    for (; text && *text; text++)
        digest = add_byte(digest, (unsigned char)*text);
    return add_byte(digest, 0);
}

uint64_t plan_digest_integers(uint64_t digest, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int bit = 0; bit < 64; bit += 8)
            digest = add_byte(digest, (unsigned char)((uint64_t)numbers[i] >> bit));
    return digest;
}

uint64_t plan_digest_numbers(uint64_t digest, const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        digest = plan_digest_integers(digest, &bits, 1);
    }
    return digest;
}

static uint64_t digest_of_link(uint64_t digest, const struct plan *plan, int link)
{
    if (link < 0)
        return plan_digest_text(digest, NULL);
    const double numbers[] = {plan->links[link].bandwidth, plan->links[link].latency};
    return plan_digest_numbers(plan_digest_text(digest, plan->links[link].name), numbers, 2);
}

static uint64_t digest_of_cluster(const struct plan *plan)
{
    uint64_t digest = PLAN_DIGEST_BEGIN;
    for (int t = 0; t < plan->type_count; t++) {
        const struct plan_device_type *type = &plan->types[t];
        const int64_t numbers[] = {type->nodes.count, type->nodes.devices, type->nodes.memory};
        digest = plan_digest_integers(plan_digest_text(digest, type->name), numbers, 3);
        digest = digest_of_link(digest_of_link(digest, plan, type->inside), plan, type->across);
    }
    for (int i = 0; i < plan->network.level_count; i++) {
        const double numbers[] = {plan->network.levels[i].nodes, plan->network.levels[i].oversubscription};
        digest = plan_digest_numbers(digest, numbers, 2);
    }
    return digest;
}

bool plan_set_digests(struct plan *plan, uint64_t layers, struct error *err)
{
    plan->layers_digest = arena_format(&plan->arena, "fnv1a:%016" PRIx64, layers);
    plan->cluster_digest = arena_format(&plan->arena, "fnv1a:%016" PRIx64, digest_of_cluster(plan));
    return (plan->layers_digest && plan->cluster_digest) || error_memory(err);
}
