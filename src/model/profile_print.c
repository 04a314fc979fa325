#include "model/profile.h"

#include "core/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SIZES_SHOWN 8

/* Rows of neighbours that look the same are folded: "block 1", "block 2", … differ only in the number. */
static int stem_length(const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    while (length > 0 && name[length - 1] == ' ')
        length--;
    return (int)length;
}

static bool same_name(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    int length = stem_length(a);
    return length > 0 && length == stem_length(b) ? strncmp(a, b, (size_t)length) == 0 : strcmp(a, b) == 0;
}

static bool same_layer(const struct profile *profile, const struct profile_device *device, int i, int j)
{
    const struct profile_layer *a = &profile->layers[i];
    const struct profile_layer *b = &profile->layers[j];
    return device->forward[i] == device->forward[j] && device->backward[i] == device->backward[j] &&
           a->parameter_bytes == b->parameter_bytes && a->activation_bytes == b->activation_bytes &&
           a->output_bytes == b->output_bytes && same_name(a->name, b->name);
}

static void print_row(const struct profile *profile, const struct profile_device *device, int first, int last,
                      struct text *out)
{
    const struct profile_layer *layer = &profile->layers[first];
    char range[32], forward[32], backward[32], parameters[32], activations[32], output[32] = "-";
    const char *name = layer->name ? layer->name : "-";
    int width = last > first && layer->name ? stem_length(name) : (int)strlen(name);
    snprintf(range, sizeof range, first == last ? "%d" : "%d-%d", first, last);
    unit_format(forward, sizeof forward, device->forward[first], UNIT_TIME, 4);
    unit_format(backward, sizeof backward, device->backward[first], UNIT_TIME, 4);
    unit_format(parameters, sizeof parameters, (double)layer->parameter_bytes, UNIT_BYTES, 4);
    unit_format(activations, sizeof activations, (double)layer->activation_bytes, UNIT_BYTES, 4);
    if (layer->output_bytes)
        unit_format(output, sizeof output, (double)layer->output_bytes, UNIT_BYTES, 4);
    if (width == 0)
        width = (int)strlen(name);
    text_format(out, "  %-11s  %-14.*s  %10s  %10s  %11s  %11s  %11s\n", range, width, name, forward,
                backward, parameters, activations, output);
}

static void print_layers(const struct profile *profile, const struct profile_device *device, struct text *out)
{
    text_format(out, "  %-11s  %-14s  %10s  %10s  %11s  %11s  %11s\n", "layers", "name", "forward",
                "backward", "parameters", "activations", "output");
    int first = 0;
    for (int i = 1; i <= profile->layer_count; i++)
        if (i == profile->layer_count || !same_layer(profile, device, first, i)) {
            print_row(profile, device, first, i - 1, out);
            first = i;
        }
}

static bool all_layers_have(const struct profile *profile, const struct profile_allreduce *allreduce,
                            int devices)
{
    double seconds;
    for (int i = 0; i < profile->layer_count; i++)
        if (!profile_allreduce_find(&allreduce[i], devices, &seconds))
            return false;
    return true;
}

/* The group sizes that every layer has: "1, 2, 4, 8"; of many the first few and the last. */
static void print_sizes(const struct profile *profile, const struct profile_allreduce *allreduce,
                        const char *where, struct text *out)
{
    int shown = 0, last = 0;
    text_format(out, "  all-reduce %s:", where);
    for (int k = 0; allreduce && k < allreduce[0].count; k++) {
        if (!all_layers_have(profile, allreduce, allreduce[0].devices[k]))
            continue;
        last = allreduce[0].devices[k];
        if (shown++ < SIZES_SHOWN)
            text_format(out, "%s %d", shown > 1 ? "," : "", last);
    }
    if (shown == 0)
        text_add(out, " not measured");
    else if (shown > SIZES_SHOWN)
        text_format(out, ", ... %d", last);
    text_add(out, "\n");
}

static void print_device(const struct profile *profile, const struct profile_device *device, struct text *out)
{
    char forward[32], backward[32];
    double forward_sum = 0, backward_sum = 0;
    for (int i = 0; i < profile->layer_count; i++) {
        forward_sum += device->forward[i];
        backward_sum += device->backward[i];
    }
    unit_format(forward, sizeof forward, forward_sum, UNIT_TIME, 4);
    unit_format(backward, sizeof backward, backward_sum, UNIT_TIME, 4);
    text_format(out, "\n%s: forward %s, backward %s per micro-batch\n",
                device->name ? device->name : "device type not named", forward, backward);
    print_sizes(profile, device->in_node, "in a node, devices", out);
    print_sizes(profile, device->across_nodes, "across nodes", out);
    print_layers(profile, device, out);
}

void profile_print(const struct profile *profile, struct text *out)
{
    char parameters[32], activations[32];
    double parameter_sum = 0, activation_sum = 0;
    for (int i = 0; i < profile->layer_count; i++) {
        parameter_sum += (double)profile->layers[i].parameter_bytes;
        activation_sum += (double)profile->layers[i].activation_bytes;
    }
    text_format(out, "%s: %d layer%s", profile->model ? profile->model : profile->path, profile->layer_count,
                profile->layer_count == 1 ? "" : "s");
    if (profile->microbatch_size)
        text_format(out, ", micro-batch size %d", profile->microbatch_size);
    text_format(out, ", parameters %s, activations %s\n",
                unit_format(parameters, sizeof parameters, parameter_sum, UNIT_BYTES, 4),
                unit_format(activations, sizeof activations, activation_sum, UNIT_BYTES, 4));
    if (profile->source)
        text_format(out, "%s\n", profile->source);
    for (int d = 0; d < profile->device_count; d++)
        print_device(profile, &profile->devices[d], out);
}
