#include "cases.h"

#include "cost/model_profile.h"
#include "devices/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct bench_case bench_experiments[5] = {
    {"1: 4 nodes, 2 types", "v100 2 2, 3090 2 2", NULL, 50, 25.506, 2.630},
    {"2: 6 nodes, 3 types", "v100 2 2, 3090 2 2, 4090 2 2", NULL, 50, 599.848, 86.634},
    {"3: 11 nodes, 4 types", "v100 4 2, 3090 3 2, a6000 2 2, 4090 2 2", NULL, 50, 39104.357, 559.208},
    {"4: 6 nodes, 3 types", "v100 2 4, 3090 2 4, a6000 2 4", NULL, 50, 630.140, 121.436},
    {"5: 10 nodes, 3 types", "v100 4 2, 3090 4 2, a100-80 2 2", NULL, 50, 7084.061, 546.048},
};

const struct bench_case bench_long[6] = {
    {"1: 18 nodes x 4", "v100 10 4, 3090 8 4", NULL, 1000, 0, 0},
    {"2: 24 nodes x 4", "v100 10 4, 3090 8 4, 4090 6 4", NULL, 1000, 0, 0},
    {"3: 28 nodes x 4", "v100 10 4, 3090 8 4, a6000 6 4, 4090 4 4", NULL, 1000, 0, 0},
    {"4: 52 nodes x 4", "v100 10 4, 3090 12 4, a6000 14 4, 4090 16 4", NULL, 1000, 0, 0},
    {"5: 24 nodes x 8", "v100 10 8, 3090 8 8, a6000 6 8", NULL, 1000, 0, 0},
    {"6: 24 nodes x 4", "v100 10 4, 3090 8 4, a100-80 6 4", NULL, 1000, 0, 0},
};

const struct bench_case bench_wide[5] = {
    {"64 nodes x 8", "4090 64 8", "12 GB/s", 64, 0, 0},  {"64 nodes x 8", "4090 64 8", "12 GB/s", 128, 0, 0},
    {"64 nodes x 8", "4090 64 8", "12 GB/s", 256, 0, 0}, {"64 nodes x 8", "4090 64 8", "12 GB/s", 400, 0, 0},
    {"64 nodes x 8", "4090 64 8", "12 GB/s", 512, 0, 0},
};

const struct bench_case bench_six_kinds = {"48 nodes x 8, 6 types",
                                           "v100 8 8, 3090 8 8, a6000 8 8, 4090 8 8, a100-80 8 8, h100 8 8",
                                           NULL,
                                           512,
                                           0,
                                           0};

const struct bench_case bench_homogeneous[4] = {
    {"4 nodes x 4, 1 type", "4090 4 4", "12 GB/s", 50, 0, 0},
    {"8 nodes x 4, 1 type", "4090 8 4", "12 GB/s", 50, 0, 0},
    {"7 nodes x 8, 1 type", "4090 7 8", "12 GB/s", 50, 0, 0},
    {"8 nodes x 8, 1 type", "4090 8 8", "12 GB/s", 50, 0, 0},
};

static const struct {
    const char *device;
    double speed;
} speeds[] = {{"v100", 1.0},  {"3090", 1.8},     {"a6000", 2.15},
              {"4090", 2.94}, {"a100-80", 4.41}, {"h100", 5.45}};

static void die(const struct error *err)
{
    fprintf(stderr, "bench: %s\n", err->text);
    exit(1);
}

static double speed_of(const char *device)
{
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (strcmp(device, speeds[i].device) == 0)
            return speeds[i].speed;
    return 1;
}

static void make_cluster(const struct bench_case *which, struct cluster *cluster)
{
    struct text text = {0};
    struct error err;
    text_add(&text, "profile: {device: base, speed: 2.94}\ngroups:\n");
    for (const char *at = which->groups; at; at = strchr(at, ',') ? strchr(at, ',') + 2 : NULL) {
        char device[16];
        int nodes, devices;
        if (sscanf(at, "%15s %d %d", device, &nodes, &devices) == 3) {
            text_format(&text, "  - {device: %s-gpu, speed: %g, nodes: %d, devices_per_node: %d", device,
                        speed_of(device), nodes, devices);
            if (which->link)
                text_format(&text, ", intra_node: {latency: 0, bandwidth: %s}", which->link);
            text_add(&text, "}\n");
        }
    }
    if (text.failed || !cluster_parse(cluster, "bench.yaml", text.data, text.length, &err))
        die(&err);
    text_release(&text);
}

/* A small generator of its own, so that the layers are the same everywhere. */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 0x1p53;
}

/* Stretches a profile to `layers`: its first and last layer, and in between layers drawn from its others, a
 * little faster or slower. */
static void stretch(struct profile *profile, int layers)
{
    uint64_t state = 1;
    struct profile_device *device = &profile->devices[0];
    double *forward = ARENA_ARRAY(&profile->arena, (size_t)layers, double);
    double *backward = ARENA_ARRAY(&profile->arena, (size_t)layers, double);
    struct profile_layer *all = ARENA_ARRAY(&profile->arena, (size_t)layers, struct profile_layer);
    if (!forward || !backward || !all)
        exit(1);
    for (int i = 0; i < layers; i++) {
        int inner = 1 + (int)(draw(&state) * (profile->layer_count - 2));
        int from = i == 0 ? 0 : i == layers - 1 ? profile->layer_count - 1 : inner;
        double factor = 0.8 + 0.4 * draw(&state);
        all[i] = profile->layers[from];
        forward[i] = device->forward[from] * factor;
        backward[i] = device->backward[from] * factor;
    }
    profile->layers = all;
    profile->layer_count = layers;
    device->forward = forward;
    device->backward = backward;
    device->forward_ms = device->backward_ms = NULL;
    device->in_node = device->across_nodes = NULL;
}

static bool load_reference(struct profile *profile)
{
    const char *folder = getenv("REHEARSE_REFERENCE");
    char path[4096];
    struct error err;
    snprintf(path, sizeof path, "%s/planning/profiles/gpt2-xl-raw", folder ? folder : "../shared/reference");
    return profile_load(profile, path, 0, &err);
}

static void make_profile(struct profile *profile, const char **from)
{
    struct error err;
    const struct architecture *model = architecture_find("gpt2-xl");
    const struct cost_device *device = tables_device(NULL, "rtx-4090");
    struct model_options options = {.microbatch = 1, .tensor = 1, .software = software_find("fsdp")};
    *from = "layer times measured by the reference";
    if (load_reference(profile))
        return;
    *from = "layer times computed";
    if (!model_profile(profile, model, &device, 1, &options, &err))
        die(&err);
    profile->devices[0].name = NULL;
}

void bench_problem(const struct bench_case *which, enum plan_objective objective,
                   struct plan_problem *problem, const char **from)
{
    struct profile profile;
    struct cluster cluster;
    struct error err;
    make_profile(&profile, from);
    bool wide = false;
    for (int i = 0; i < 5; i++)
        wide |= which == &bench_wide[i];
    if (wide || which->microbatches == 1000)
        stretch(&profile, 1000);
    else if (which == &bench_six_kinds)
        stretch(&profile, 100);
    make_cluster(which, &cluster);
    if (!plan_problem_init(problem, &profile, &cluster, objective,
                           which->link ? ALLREDUCE_MODEL : ALLREDUCE_NONE, which->microbatches, &err))
        die(&err);
    cluster_release(&cluster);
    profile_release(&profile);
}
