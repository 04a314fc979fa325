#include "api/profile.h"

#include "api/command.h"

static const struct profile *of(const rh_handle *handle)
{
    return &((const struct api_profile *)handle)->profile;
}

static bool print(const rh_handle *handle, struct text *out, struct error *err)
{
    (void)err;
    profile_print(of(handle), out);
    return true;
}

static void write_json(const rh_handle *handle, struct json *json)
{
    profile_write_json(of(handle), json);
}

static bool save_oobleck(const rh_handle *handle, const char *path, struct error *err)
{
    return profile_save_oobleck(of(handle), path, err);
}

static void release(rh_handle *handle)
{
    profile_release(&((struct api_profile *)handle)->profile);
}

static const struct api_form forms[] = {
    {.name = "text", .write = print},
    {.name = "json"},
    {.name = "oobleck", .save = save_oobleck},
    {.name = NULL},
};

const struct api_kind api_profile_kind = {"profile", forms, release, write_json};

/* The seconds of all devices in one block: a row per device. */
static double *gather(rh_handle *handle, const struct profile *profile, bool backward)
{
    size_t layers = (size_t)profile->layer_count;
    double *all = ARENA_ARRAY(&handle->arena, layers * (size_t)profile->device_count + 1, double);
    handle->failed = handle->failed || !all;
    for (int d = 0; all && d < profile->device_count; d++)
        for (size_t i = 0; i < layers; i++)
            all[(size_t)d * layers + i] =
                backward ? profile->devices[d].backward[i] : profile->devices[d].forward[i];
    return all;
}

static void add_values(rh_handle *handle, const struct profile *profile)
{
    const struct profile_layer *layers = profile->layers;
    int count = profile->layer_count;
    api_add_string(handle, "model", profile->model);
    api_add_string(handle, "source", profile->source);
    api_add_count(handle, "microbatch_size", profile->microbatch_size);
    api_add_count(handle, "layers", count);
    api_add_count(handle, "devices", profile->device_count);
    API_COLUMN(handle, "layers.name", 's', layers, count, name);
    API_COLUMN(handle, "layers.parameters", 'q', layers, count, parameter_bytes);
    API_COLUMN(handle, "layers.activations", 'q', layers, count, activation_bytes);
    API_COLUMN(handle, "layers.output", 'q', layers, count, output_bytes);
    API_COLUMN(handle, "devices.name", 's', profile->devices, profile->device_count, name);
    api_add_table(handle, "forward", 'd', gather(handle, profile, false), profile->device_count, count);
    api_add_table(handle, "backward", 'd', gather(handle, profile, true), profile->device_count, count);
}

rh_handle *api_profile_of(struct profile *profile, struct error *err)
{
    struct api_profile *made = api_new(&api_profile_kind, sizeof *made, err);
    if (!made) {
        profile_release(profile);
        return NULL;
    }
    made->profile = *profile;
    add_values(&made->base, &made->profile);
    return api_made(&made->base, true, err);
}

/* ---- profile show ---- */

static rh_handle *make(const void *context, const struct api_call *call, struct error *err)
{
    const struct rh_profile_request *request = context;
    struct profile profile;
    (void)call;
    if (!profile_load(&profile, request->path, (int)request->microbatch_size, err))
        return NULL;
    return api_profile_of(&profile, err);
}

const struct option_spec api_profile_show_options[] = {
    OPTION(rh_profile_request, path, OPTION_FILE, "profile", .is_operand = true, .required = true,
           .argument = "PROFILE", .help = "a file or folder"),
    OPTION(rh_profile_request, microbatch_size, OPTION_INTEGER, "microbatch-size",
           .dimension = DIMENSION_SAMPLES, .argument = "N", .initial = "0", .max = PROFILE_MAX_MICROBATCH,
           .help = "read mb{N}.json of an Oobleck folder; 0 reads the only one"),
    OPTION_END,
};

const struct api_command api_profile_show = {
    .name = "profile show",
    .options = api_profile_show_options,
    .size = sizeof(struct rh_profile_request),
    .make = make,
};
