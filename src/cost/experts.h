/* Exchanges of tokens between devices that hold the experts of a block.
 *
 * Problem. A device has t tokens of h numbers. Each goes to k of E experts, which lie evenly on n devices, and comes
 * back. How long does a way take?
 *
 * All-to-all (NCCL): each of the k copies of a token travels by itself, in the format of the activations; links inside
 * and between nodes work at the same time (collective.h).
 *
 * All-gather (Megatron-Core's --moe-token-dispatcher-type allgather): every device gathers the tokens of all, and the
 * outputs are added up and scattered: as much on the wire as if a token went to all n devices.
 *
 * DeepEP (github.com/deepseek-ai/DeepEP): a token crosses to a node once, however many of its experts are there, and is
 * forwarded over NVLink once to each device that has one. On its way to the experts it may be in 8 bits, with a scale
 * for each 128 numbers; it returns in the format of the activations, summed on the way. Both networks work at the same
 * time, and the slower one sets the time. Its rates are shares of the links', from its published bandwidths on H800
 * with 400 Gb/s per device, 4096 tokens of 7168 numbers, 8 of 256 experts (its README of February 2025 and that of its
 * version 1):
 *
 *     one node, 8 devices    153 GB/s to the experts, 158 back, of the 200 that NVLink has: 0.77
 *     8 nodes, 64 devices     46 and 45 GB/s, counting a token's own node: 7/8 of that crosses, 40 of 50 GB/s: 0.8
 *
 * How many places (nodes, devices) a token reaches is an expectation over experts drawn without replacement, where
 * routing is limited out of the chosen groups of experts (arXiv:2412.19437, section 2.1.2; Megatron-Core:
 * --moe-router-num-groups, --moe-router-group-topk).
 *
 * Check: tests/cost/experts_test.c draws experts at random, and compares with the published bandwidths and with the
 * kernels of a published profile. */
#ifndef REHEARSE_COST_EXPERTS_H
#define REHEARSE_COST_EXPERTS_H

#include "cost/collective.h"
#include "devices/architecture.h"
#include "devices/technique.h"

struct expert_exchange {
    const struct architecture *model;
    const struct calibration *calibration;
    struct collective_group group; /* devices that hold all experts once */
    enum dispatcher dispatcher;
    double tokens;    /* that a device sends */
    double width;     /* bytes of a number on its way back, */
    double out_width; /* and on its way to the experts, where the dispatcher narrows it */
    double imbalance; /* tokens of the busiest device, of the mean */
    bool in_turn;     /* a token's experts follow each other, those of the next token them */
};

struct expert_seconds {
    double dispatch, combine; /* to the experts, and back */
    double bytes[2];          /* that a device sends, as an all-to-all counts them */
};

struct expert_seconds expert_seconds_of(const struct expert_exchange *exchange);

/* Returns how many of `places` equal parts of the experts a token goes to, on average. */
double expert_places(const struct architecture *model, double places);

/* The same where token i goes to the k experts from i k on, modulo all: a gate that is replaced to balance them, as
 * benchmarks do. Few devices, often one, have all of them. */
double expert_places_in_turn(const struct architecture *model, double places);

/* Rate of an exchange beside kernels, which use the same memory: a published profile of such pairs has dispatches of
 * 3.9 ms and combinations of 6.2 ms (github.com/deepseek-ai/profile-data). */
#define EXPERT_BESIDE_RATE 0.8

/* Multiprocessors that the kernels of an exchange hold, and others cannot use (DeepEP's default). */
#define EXPERT_EXCHANGE_UNITS 20

/* Returns the seconds that kernels of `kernels` seconds and the exchanges of another micro-batch of `exchange` seconds
 * take together (arXiv:2412.19437, section 3.2.1; Megatron-Core's --overlap-moe-expert-parallel-comm). `alone`: seconds
 * of these kernels that nothing overlaps. `units`: the device's multiprocessors. */
double expert_pair_seconds(double kernels, double alone, double exchange, int units);

#endif
