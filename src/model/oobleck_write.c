/* Writes Oobleck's files. */
#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"
#include "core/text.h"
#include "model/oobleck.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The reader divides by 1e3, and several numbers of milliseconds may give the same seconds. At most one of 15 digits
 * does, and then it is the shortest. Seconds that no number of milliseconds gives (about one in fifty that did not come
 * from milliseconds) are off by one part in 10^16. */
double oobleck_milliseconds(double seconds)
{
    double product = seconds * 1e3;
    for (int digits = 15; digits <= 16; digits++) {
        char buffer[40];
        snprintf(buffer, sizeof buffer, "%.*g", digits, product);
        double candidate;
        if (text_real(buffer, &candidate) && candidate / 1e3 == seconds)
            return candidate;
    }
    const double candidates[] = {product, nextafter(product, 0), nextafter(product, INFINITY)};
    for (int i = 0; i < 3; i++)
        if (candidates[i] / 1e3 == seconds)
            return candidates[i];
    return product;
}

static void write_times(struct text *out, const struct profile *profile, const struct profile_device *device)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '[');
    for (int i = 0; i < profile->layer_count; i++) {
        json_open_flat(&json, NULL, '{');
        json_number(&json, "forward", oobleck_milliseconds(device->forward[i]));
        json_number(&json, "backward", oobleck_milliseconds(device->backward[i]));
        json_open_flat(&json, "mem_required", '[');
        json_integer(&json, NULL, profile->layers[i].parameter_bytes);
        json_integer(&json, NULL, profile->layers[i].activation_bytes);
        json_close(&json);
        json_close(&json);
    }
    json_close(&json);
}

static void write_allreduce(struct text *out, const struct profile *profile,
                            const struct profile_allreduce *allreduce)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '[');
    for (int i = 0; i < profile->layer_count; i++) {
        double alone;
        json_open_flat(&json, NULL, '{');
        /* Oobleck looks up "1" for any group, and fails without it. */
        if (!allreduce || !profile_allreduce_find(&allreduce[i], 1, &alone))
            json_number(&json, "1", 0);
        for (int k = 0; allreduce && k < allreduce[i].count; k++) {
            char size[16];
            snprintf(size, sizeof size, "%d", allreduce[i].devices[k]);
            json_number(&json, size, oobleck_milliseconds(allreduce[i].seconds[k]));
        }
        json_close(&json);
    }
    json_close(&json);
}

static void write_content(struct text *out, const struct profile *profile,
                          const struct profile_device *device, enum oobleck_file file)
{
    switch (file) {
    case OOBLECK_TIMES:
        write_times(out, profile, device);
        break;
    case OOBLECK_IN_NODE:
        write_allreduce(out, profile, device->in_node);
        break;
    case OOBLECK_ACROSS_NODES:
        write_allreduce(out, profile, device->across_nodes);
        break;
    default:
        text_add(out, "{}\n");
    }
}

static bool save_file(const struct profile *profile, const struct profile_device *device, const char *folder,
                      enum oobleck_file file, struct error *err)
{
    struct text path = {0}, content = {0};
    const char *name = oobleck_file_name(file);
    if (name)
        text_format(&path, "%s/%s", folder, name);
    else
        text_format(&path, "%s/mb%d.json", folder, profile->microbatch_size ? profile->microbatch_size : 1);
    write_content(&content, profile, device, file);
    bool done = path.failed || content.failed ? error_memory(err)
                                              : file_write(path.data, content.data, content.length, err);
    text_release(&path);
    text_release(&content);
    return done;
}

static bool save_device(const struct profile *profile, const struct profile_device *device,
                        const char *folder, struct error *err)
{
    if (!file_make_directory(folder, err))
        return false;
    for (int file = 0; file < OOBLECK_FILE_COUNT; file++)
        if (!save_file(profile, device, folder, (enum oobleck_file)file, err))
            return false;
    return true;
}

static bool check_folder_names(const struct profile *profile, struct error *err)
{
    for (int d = 0; d < profile->device_count; d++) {
        const char *name = profile->devices[d].name;
        if (name[0] == '.' || strchr(name, '/'))
            return error_set(err, ERROR_INPUT, "%s: devices[%d].name: '%s' cannot be the name of a folder",
                             profile->path, d, name);
    }
    return true;
}

bool profile_save_oobleck(const struct profile *profile, const char *path, struct error *err)
{
    if (profile->device_count == 1)
        return save_device(profile, &profile->devices[0], path, err);
    if (!check_folder_names(profile, err) || !file_make_directory(path, err))
        return false;
    bool done = true;
    for (int d = 0; d < profile->device_count && done; d++) {
        struct text folder = {0};
        text_format(&folder, "%s/%s", path, profile->devices[d].name);
        done =
            folder.failed ? error_memory(err) : save_device(profile, &profile->devices[d], folder.data, err);
        text_release(&folder);
    }
    return done;
}
