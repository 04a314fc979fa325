#include "api/profile.h"

#include "api/command.h"
#include "core/fields.h"

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

static const struct field profile_fields[] = {
    FIELD_OUT(struct profile, "model", model, FIELD_TEXT),
    FIELD_OUT(struct profile, "source", source, FIELD_TEXT),
    FIELD_OUT(struct profile, "microbatch_size", microbatch_size, FIELD_INT),
    FIELD_OUT(struct profile, "layers", layer_count, FIELD_INT),
    FIELD_OUT(struct profile, "devices", device_count, FIELD_INT),
};

static const struct field layer_fields[] = {
    FIELD_OUT(struct profile_layer, "name", name, FIELD_TEXT),
    FIELD_OUT(struct profile_layer, "parameters", parameter_bytes, FIELD_INT64),
    FIELD_OUT(struct profile_layer, "activations", activation_bytes, FIELD_INT64),
    FIELD_OUT(struct profile_layer, "output", output_bytes, FIELD_INT64),
};

static const struct field device_fields[] = {FIELD_OUT(struct profile_device, "name", name, FIELD_TEXT)};

rh_handle *api_profile_of(struct profile *profile, struct error *err)
{
    struct api_profile *made = api_new(&api_profile_kind, sizeof *made, err);
    if (!made) {
        profile_release(profile);
        return NULL;
    }
    made->profile = *profile;
    API_VALUES(&made->base, profile, profile_fields);
    API_FIELDS(&made->base, "layers", profile->layers, profile->layer_count, layer_fields);
    API_FIELDS(&made->base, "devices", profile->devices, profile->device_count, device_fields);
    return api_made(&made->base, true, err);
}

/* ---- profile show ---- */

static rh_handle *make_profile(const void *context, const struct api_call *call, struct error *err)
{
    const struct rh_profile_request *request = context;
    struct profile profile;
    (void)call;
    if (!profile_load(&profile, request->path, (int)request->microbatch_size, err))
        return NULL;
    return api_profile_of(&profile, err);
}

API_WHOLE_COMMAND(profile_show, "profile show", rh_profile_request, .make = make_profile);
