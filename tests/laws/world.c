#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)

static double draw_time(struct random_source *source, int kind)
{
    return kind == 0   ? random_range(source, 1, 9) / 1e3
           : kind == 1 ? random_range(source, 1, 500) / 1e5
                       : 1e-4 + random_unit(source) / 50;
}

static void draw_layers(struct world *world, struct random_source *source)
{
    int kind = random_range(source, 0, 2);
    double speed[WORLD_MAX_TYPES];
    bool alike = random_one_in(source, 3), free = random_one_in(source, 3);
    for (int t = 0; t < world->type_count; t++)
        speed[t] = random_range(source, 2, 20) / 10.0;
    for (int l = 0; l < world->layer_count; l++) {
        struct world_layer *layer = &world->layers[l];
        double one = draw_time(source, kind);
        layer->parameters = (int64_t)MIB * random_range(source, 1, 300);
        layer->activations = (int64_t)MIB * random_range(source, 1, 80);
        layer->output = MIB / 8 * (int64_t)random_range(source, 1, 40);
        for (int t = 0; t < world->type_count; t++) {
            layer->forward[t] = free ? draw_time(source, kind) : one * speed[t];
            layer->backward[t] = free ? draw_time(source, kind) : 2 * layer->forward[t];
            for (int i = 1; i < WORLD_MAX_SIZES; i++)
                layer->allreduce[t][i] = draw_time(source, kind) / 8;
        }
        if (alike && l > 0)
            *layer = world->layers[0];
    }
}

static void draw_groups(struct world *world, struct random_source *source)
{
    static const double rates[] = {1e9, 2.5e9, 1e10, 1e11};
    bool limited = !random_one_in(source, 3);
    for (int g = 0; g < world->group_count; g++) {
        struct world_group *group = &world->groups[g];
        group->type = g < world->type_count ? g : random_range(source, 0, world->type_count - 1);
        group->nodes = random_range(source, 1, world->group_count > 2 ? 2 : 3);
        group->per_node = 1 << random_range(source, 0, world->group_count > 2 ? 1 : 2);
        if (limited)
            group->memory = (int64_t)MIB * 1024 * (1 << random_range(source, 0, 4));
        group->bandwidth = rates[random_range(source, 0, 3)];
        group->latency = random_range(source, 0, 3) * 1e-6;
    }
    world->bandwidth = rates[random_range(source, 0, 3)];
    world->latency = random_range(source, 0, 3) * 1e-5;
}

void world_draw(struct world *world, struct random_source *source)
{
    *world = (struct world){.layer_count = random_range(source, 1, 9),
                            .type_count = random_range(source, 1, 3),
                            .has_allreduce = random_one_in(source, 2)};
    world->group_count = world->type_count + random_range(source, 0, 1);
    for (int t = 0; t < WORLD_MAX_TYPES; t++)
        world->names[t] = t;
    draw_layers(world, source);
    draw_groups(world, source);
}

/* ---- changes ---- */

void world_slow_down(struct world *world, double factor)
{
    for (int l = 0; l < world->layer_count; l++)
        for (int t = 0; t < world->type_count; t++) {
            world->layers[l].forward[t] *= factor;
            world->layers[l].backward[t] *= factor;
            for (int i = 0; i < WORLD_MAX_SIZES; i++)
                world->layers[l].allreduce[t][i] *= factor;
        }
    for (int g = 0; g < world->group_count; g++) {
        world->groups[g].bandwidth /= factor;
        world->groups[g].latency *= factor;
    }
    world->bandwidth /= factor;
    world->latency *= factor;
}

void world_speed_up(struct world *world, int type, double factor)
{
    for (int l = 0; l < world->layer_count; l++) {
        world->layers[l].forward[type] /= factor;
        world->layers[l].backward[type] /= factor;
    }
}

void world_add_memory(struct world *world, int group)
{
    world->groups[group].memory *= 2;
}

void world_speed_up_links(struct world *world, double factor)
{
    for (int g = 0; g < world->group_count; g++) {
        world->groups[g].bandwidth *= factor;
        world->groups[g].latency /= factor;
    }
    world->bandwidth *= factor;
    world->latency /= factor;
}

void world_rearrange(struct world *world, struct random_source *source)
{
    for (int t = 0; t < WORLD_MAX_TYPES; t++)
        world->names[t] = (world->names[t] * 5 + 7) % 26;
    for (int g = 0, count = world->group_count; g < count; g++) {
        struct world_group *group = &world->groups[g];
        if (group->nodes > 1 && world->group_count < WORLD_MAX_GROUPS && random_one_in(source, 2)) {
            struct world_group *part = &world->groups[world->group_count++];
            *part = *group;
            part->nodes = random_range(source, 1, group->nodes - 1);
            group->nodes -= part->nodes;
        }
    }
    for (int g = world->group_count - 1; g > 0; g--) {
        int other = random_range(source, 0, g);
        struct world_group one = world->groups[g];
        world->groups[g] = world->groups[other];
        world->groups[other] = one;
    }
}

bool world_replace_type(struct world *world, int group, double factor)
{
    int type = world->type_count, old = world->groups[group].type;
    if (type == WORLD_MAX_TYPES)
        return false;
    for (int l = 0; l < world->layer_count; l++) {
        struct world_layer *layer = &world->layers[l];
        layer->forward[type] = layer->forward[old];
        layer->backward[type] = layer->backward[old];
        memcpy(layer->allreduce[type], layer->allreduce[old], sizeof layer->allreduce[old]);
    }
    world->type_count++;
    world->groups[group].type = type;
    world_speed_up(world, type, factor);
    return true;
}

bool world_add_nodes(struct world *world, struct random_source *source)
{
    if (random_one_in(source, 2)) {
        world->groups[random_range(source, 0, world->group_count - 1)].nodes++;
        return true;
    }
    if (world->group_count == WORLD_MAX_GROUPS)
        return false;
    struct world_group *group = &world->groups[world->group_count++];
    *group = world->groups[random_range(source, 0, world->group_count - 2)];
    group->nodes = 1;
    group->per_node = 1 << random_range(source, 0, 1);
    return true;
}

/* ---- files ---- */

#define MAX_PIECES 64

/* The values of a map or list, which may be shuffled before they are written. */
struct pieces {
    char *texts[MAX_PIECES];
    int count;
};

static void add(struct pieces *pieces, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct pieces *pieces, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (pieces->count == MAX_PIECES || vasprintf(&pieces->texts[pieces->count++], format, values) < 0)
        abort();
    va_end(values);
}

/* Returns them between brackets; the caller frees the text. Ends the pieces. */
static char *joined(struct pieces *pieces, char open, char close, struct random_source *shuffle)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        abort();
    for (int i = pieces->count - 1; shuffle && i > 0; i--) {
        int other = random_range(shuffle, 0, i);
        char *one = pieces->texts[i];
        pieces->texts[i] = pieces->texts[other];
        pieces->texts[other] = one;
    }
    putc(open, out);
    for (int i = 0; i < pieces->count; i++) {
        fprintf(out, "%s%s", i > 0 ? ", " : "", pieces->texts[i]);
        free(pieces->texts[i]);
    }
    putc(close, out);
    fclose(out);
    return text;
}

/* Adds a key whose value is a text that it frees. */
static void add_made(struct pieces *pieces, const char *key, char *text)
{
    if (key)
        add(pieces, "\"%s\": %s", key, text);
    else
        add(pieces, "%s", text);
    free(text);
}

static void save(const char *path, char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
    free(text);
}

static char *times_of(const struct world *world, int type, int l, struct random_source *shuffle)
{
    const struct world_layer *layer = &world->layers[l];
    struct pieces times = {0}, sizes = {0};
    add(&times, "\"forward\": %.17g", layer->forward[type]);
    add(&times, "\"backward\": %.17g", layer->backward[type]);
    for (int i = 0; world->has_allreduce && i < WORLD_MAX_SIZES; i++)
        add(&sizes, "\"%d\": %.17g", 1 << i, i > 0 ? layer->allreduce[type][i] : 0.0);
    if (world->has_allreduce)
        add_made(&times, "allreduce_in_node", joined(&sizes, '{', '}', shuffle));
    return joined(&times, '{', '}', shuffle);
}

void world_write_profile(const struct world *world, const char *path, struct random_source *shuffle)
{
    struct pieces layers = {0}, devices = {0}, whole = {0};
    for (int l = 0; l < world->layer_count; l++) {
        const struct world_layer *layer = &world->layers[l];
        struct pieces one = {0};
        add(&one, "\"parameter_bytes\": %" PRId64, layer->parameters);
        add(&one, "\"activation_bytes\": %" PRId64, layer->activations);
        add(&one, "\"output_bytes\": %" PRId64, layer->output);
        add_made(&layers, NULL, joined(&one, '{', '}', shuffle));
    }
    for (int t = 0; t < world->type_count; t++) {
        struct pieces one = {0}, times = {0};
        for (int l = 0; l < world->layer_count; l++)
            add_made(&times, NULL, times_of(world, t, l, shuffle));
        add(&one, "\"name\": \"%c\"", 'a' + world->names[t]);
        add_made(&one, "layers", joined(&times, '[', ']', NULL));
        add_made(&devices, NULL, joined(&one, '{', '}', shuffle));
    }
    add(&whole, "\"format\": \"rehearse-profile/1\"");
    add(&whole, "\"microbatch_size\": 1");
    add_made(&whole, "layers", joined(&layers, '[', ']', NULL));
    add_made(&whole, "devices", joined(&devices, '[', ']', shuffle));
    save(path, joined(&whole, '{', '}', shuffle));
}

static char *link_of(double bandwidth, double latency, struct random_source *shuffle)
{
    struct pieces link = {0};
    add(&link, "\"bandwidth\": %.17g", bandwidth);
    add(&link, "\"latency\": %.17g", latency);
    return joined(&link, '{', '}', shuffle);
}

void world_write_cluster(const struct world *world, const char *path, struct random_source *shuffle)
{
    struct pieces groups = {0}, whole = {0};
    for (int g = 0; g < world->group_count; g++) {
        const struct world_group *group = &world->groups[g];
        struct pieces one = {0};
        add(&one, "\"device\": \"%c\"", 'a' + world->names[group->type]);
        add(&one, "\"nodes\": %d", group->nodes);
        add(&one, "\"devices_per_node\": %d", group->per_node);
        if (group->memory > 0)
            add(&one, "\"memory\": %" PRId64, group->memory);
        if (group->bandwidth > 0)
            add_made(&one, "intra_node", link_of(group->bandwidth, group->latency, shuffle));
        add_made(&groups, NULL, joined(&one, '{', '}', shuffle));
    }
    add(&whole, "\"format\": \"rehearse-cluster/1\"");
    add_made(&whole, "groups", joined(&groups, '[', ']', NULL));
    if (world->bandwidth > 0)
        add_made(&whole, "inter_node", link_of(world->bandwidth, world->latency, shuffle));
    save(path, joined(&whole, '{', '}', shuffle));
}
