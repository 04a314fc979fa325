#include "model/oobleck.h"

#include "core/file.h"
#include "core/statistics.h"
#include "model/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS 1e3 /* per second */
#define MAX_SIZES    256 /* mb{N}.json files in a folder */

/* The relevant contents of a folder. */
struct listing {
    struct arena arena;
    int size_count;
    int sizes[MAX_SIZES]; /* the N of mb{N}.json, ascending */
    int folder_count;
    char *folders[PROFILE_MAX_DEVICES]; /* ascending */
};

/* The source of the files of one device type. */
struct source {
    const char *folder;
    const struct oobleck_text *texts; /* NULL: from disk */
    int microbatch_size;
};

const char *oobleck_file_name(enum oobleck_file file)
{
    static const char *const names[OOBLECK_FILE_COUNT] = {NULL, "allreduce_in_node.json",
                                                          "allreduce_across_nodes.json", "model_args.json"};
    return names[file];
}

/* ---- the files ---- */

static bool looks_like_allreduce(const struct doc_node *node)
{
    return node->type == DOC_MAP && node->first_child && node->first_child->key[0] >= '0' &&
           node->first_child->key[0] <= '9';
}

/* Checks bytes against those of the types read before: they belong to the layer. */
static bool same_bytes(const struct profile_reader *r, const struct doc_node *node, const char *what,
                       int64_t found, int64_t expected)
{
    if (found == expected)
        return true;
    return doc_error(r->doc, node, r->err,
                     "%s of a layer do not depend on the device, but this has %lld and '%s' %lld", what,
                     (long long)found, r->profile->devices[0].path, (long long)expected);
}

static bool read_memory(const struct profile_reader *r, const struct doc_node *node, bool first,
                        struct profile_layer *layer)
{
    int64_t parameters, activations;
    if (!doc_is_list(r->doc, node, r->err))
        return false;
    if (node->count != 2)
        return doc_error(r->doc, node, r->err,
                         "expected [parameter bytes, activation bytes], found %u values", node->count);
    if (!profile_read_bytes(r, node->first_child, &parameters) ||
        !profile_read_bytes(r, node->first_child->next, &activations))
        return false;
    if (first) {
        layer->parameter_bytes = parameters;
        layer->activation_bytes = activations;
        return true;
    }
    return same_bytes(r, node->first_child, "parameter bytes", parameters, layer->parameter_bytes) &&
           same_bytes(r, node->first_child->next, "activation bytes", activations, layer->activation_bytes);
}

static bool read_layer(const struct profile_reader *r, const struct doc_node *node,
                       struct profile_device *device)
{
    struct profile *profile = r->profile;
    if (looks_like_allreduce(node))
        return doc_error(r->doc, node, r->err,
                         "expected forward, backward and mem_required of a layer, found all-reduce times; "
                         "are the files swapped?");
    const struct doc_node *forward = doc_need(r->doc, node, "forward", r->err);
    if (!forward || !profile_read_time(r, forward, &device->forward[node->index]))
        return false;
    const struct doc_node *backward = doc_need(r->doc, node, "backward", r->err);
    if (!backward || !profile_read_time(r, backward, &device->backward[node->index]))
        return false;
    device->forward_ms[node->index] = forward->number;
    device->backward_ms[node->index] = backward->number;
    const struct doc_node *memory = doc_need(r->doc, node, "mem_required", r->err);
    return memory && read_memory(r, memory, device == profile->devices, &profile->layers[node->index]);
}

/* The first device type decides the number of layers; the others must have as many. */
static bool take_layer_count(const struct profile_reader *r, const struct doc_node *list)
{
    struct profile *profile = r->profile;
    if (profile->layer_count == 0)
        return profile_make_layers(r, list);
    return (int)list->count == profile->layer_count ||
           doc_error(r->doc, list, r->err, "has %u layers, but '%s' has %d", list->count,
                     profile->devices[0].path, profile->layer_count);
}

static bool read_times(const struct profile_reader *r, struct profile_device *device)
{
    const struct doc_node *list = r->doc->root;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    device->path = arena_string(&r->profile->arena, r->doc->path);
    if (!device->path)
        return error_memory(r->err);
    if (!take_layer_count(r, list))
        return false;
    device->forward = ARENA_ARRAY(&r->profile->arena, list->count, double);
    device->backward = ARENA_ARRAY(&r->profile->arena, list->count, double);
    device->forward_ms = ARENA_ARRAY(&r->profile->arena, list->count, double);
    device->backward_ms = ARENA_ARRAY(&r->profile->arena, list->count, double);
    if (!device->forward || !device->backward || !device->forward_ms || !device->backward_ms)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_layer(r, node, device))
            return false;
    return true;
}

static bool read_allreduce(const struct profile_reader *r, struct profile_allreduce **allreduce)
{
    const struct doc_node *list = r->doc->root;
    if (!doc_is_list(r->doc, list, r->err) || !take_layer_count(r, list))
        return false;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (node->type == DOC_MAP && doc_find(node, "forward") && doc_find(node, "mem_required"))
            return doc_error(r->doc, node, r->err,
                             "expected all-reduce times by group size, found the times of a layer; "
                             "are the files swapped?");
    return profile_read_allreduce(r, list, NULL, allreduce);
}

static bool read_doc(const struct profile_reader *r, enum oobleck_file file, struct profile_device *device)
{
    switch (file) {
    case OOBLECK_TIMES:
        return read_times(r, device);
    case OOBLECK_IN_NODE:
        return read_allreduce(r, &device->in_node);
    case OOBLECK_ACROSS_NODES:
        return read_allreduce(r, &device->across_nodes);
    default:
        /* nothing depends on the model's arguments, but a file that is no map is a mistake */
        return r->doc->root->type == DOC_NULL || doc_is_map(r->doc, r->doc->root, r->err);
    }
}

static bool read_file(struct profile *profile, const struct source *source, enum oobleck_file file,
                      struct profile_device *device, struct error *err)
{
    const char *name = oobleck_file_name(file);
    char *path = name
                     ? arena_format(&profile->arena, "%s/%s", source->folder, name)
                     : arena_format(&profile->arena, "%s/mb%d.json", source->folder, source->microbatch_size);
    if (!path)
        return error_memory(err);
    const struct oobleck_text *text = source->texts ? &source->texts[file] : NULL;
    enum file_kind kind = FILE_REGULAR;
    if (!text && !file_look(path, &kind, err))
        return false;
    if (name && (text ? !text->data : kind != FILE_REGULAR))
        return true;
    struct doc doc;
    if (!(text ? doc_parse(&doc, DOC_JSON, path, text->data, text->length, err) : doc_load(&doc, path, err)))
        return false;
    struct profile_reader r = {profile, &doc, MILLISECONDS, err};
    bool done = read_doc(&r, file, device);
    doc_release(&doc);
    return done;
}

static bool read_device(struct profile *profile, const struct source *source, const char *name,
                        struct error *err)
{
    struct profile_device *device = &profile->devices[profile->device_count++];
    if (name) {
        device->name = arena_string(&profile->arena, name);
        if (!device->name)
            return error_memory(err);
    }
    if (profile->microbatch_size == 0)
        profile->microbatch_size = source->microbatch_size;
    if (profile->microbatch_size != source->microbatch_size)
        return error_set(err, ERROR_INPUT, "%s/mb%d.json: not the micro-batch size of '%s'", source->folder,
                         source->microbatch_size, profile->devices[0].path);
    for (int file = 0; file < OOBLECK_FILE_COUNT; file++)
        if (!read_file(profile, source, (enum oobleck_file)file, device, err))
            return false;
    return true;
}

/* ---- the folders ---- */

/* The N of "mb{N}.json"; 0 when it is another name. */
static int microbatch_of(const char *name)
{
    if (strncmp(name, "mb", 2) != 0 || name[2] < '1' || name[2] > '9')
        return 0;
    char *end;
    long size = strtol(name + 2, &end, 10);
    return strcmp(end, ".json") == 0 && size <= PROFILE_MAX_MICROBATCH ? (int)size : 0;
}

static bool list_entry(struct listing *listing, const char *path, const char *name, struct error *err)
{
    int size = microbatch_of(name);
    if (size > 0) {
        if (listing->size_count == MAX_SIZES)
            return error_set(err, ERROR_INPUT, "%s: more than %d mb{N}.json files", path, MAX_SIZES);
        listing->sizes[listing->size_count++] = size;
        return true;
    }
    char *full = arena_format(&listing->arena, "%s/%s", path, name);
    if (!full)
        return error_memory(err);
    enum file_kind kind;
    if (name[0] == '.')
        return true;
    if (!file_look(full, &kind, err))
        return false;
    if (kind != FILE_FOLDER)
        return true;
    if (listing->folder_count == PROFILE_MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "%s: more than %d folders (one per device type)", path,
                         PROFILE_MAX_DEVICES);
    char *folder = arena_string(&listing->arena, name);
    if (!folder)
        return error_memory(err);
    listing->folders[listing->folder_count++] = folder;
    return true;
}

static bool list_folder(struct listing *listing, const char *path, struct error *err)
{
    memset(listing, 0, sizeof *listing);
    DIR *dir = opendir(path);
    if (!dir)
        return error_set(err, error_of_input(errno), "%s: cannot read folder: %s", path, strerror(errno));
    bool done = true;
    const struct dirent *entry;
    while (done && (errno = 0, entry = readdir(dir)))
        done = list_entry(listing, path, entry->d_name, err);
    if (done && errno)
        done = error_set(err, ERROR_FAILED, "%s: cannot read folder: %s", path, strerror(errno));
    closedir(dir);
    if (!done) {
        arena_release(&listing->arena);
        return false;
    }
    qsort(listing->sizes, (size_t)listing->size_count, sizeof *listing->sizes, order_ints);
    qsort(listing->folders, (size_t)listing->folder_count, sizeof *listing->folders, order_texts);
    return true;
}

/* "mb1.json, mb4.json" */
static const char *list_sizes(const struct listing *listing, char *buffer, size_t size)
{
    size_t at = 0;
    buffer[0] = '\0';
    for (int i = 0; i < listing->size_count && at < size; i++)
        at += (size_t)snprintf(buffer + at, size - at, "%smb%d.json", i ? ", " : "", listing->sizes[i]);
    return buffer;
}

/* Chooses the mb{N}.json to read from this folder. */
static bool choose_size(const struct listing *listing, const char *path, int wanted, int *size,
                        struct error *err)
{
    char choices[200];
    if (listing->size_count == 0)
        return error_set(err, ERROR_INPUT, "%s: no mb{N}.json in this folder", path);
    list_sizes(listing, choices, sizeof choices);
    if (wanted == 0 && listing->size_count > 1)
        return error_set(err, ERROR_INPUT, "%s: choose one with --microbatch-size: %s", path, choices);
    *size = wanted ? wanted : listing->sizes[0];
    for (int i = 0; i < listing->size_count; i++)
        if (listing->sizes[i] == *size)
            return true;
    return error_set(err, ERROR_INPUT, "%s: no mb%d.json in this folder, only %s", path, wanted, choices);
}

static bool load_one(struct profile *profile, const char *path, const struct listing *listing,
                     const char *name, int wanted, struct error *err)
{
    struct source source = {.folder = path};
    return choose_size(listing, path, wanted, &source.microbatch_size, err) &&
           read_device(profile, &source, name, err);
}

static bool load_folders(struct profile *profile, const char *path, const struct listing *listing, int wanted,
                         struct error *err)
{
    for (int i = 0; i < listing->folder_count; i++) {
        struct listing inner;
        const char *folder = arena_format(&profile->arena, "%s/%s", path, listing->folders[i]);
        if (!folder)
            return error_memory(err);
        if (!list_folder(&inner, folder, err))
            return false;
        bool done = load_one(profile, folder, &inner, listing->folders[i], wanted, err);
        arena_release(&inner.arena);
        if (!done)
            return false;
    }
    return true;
}

static bool load_listed(struct profile *profile, const char *path, const struct listing *listing, int wanted,
                        struct error *err)
{
    if (listing->size_count == 0 && listing->folder_count == 0)
        return error_set(err, ERROR_INPUT, "%s: no profile: neither mb{N}.json nor folders that hold one",
                         path);
    if (listing->size_count > 0 && listing->folder_count > 0)
        return error_set(
            err, ERROR_INPUT,
            "%s: both mb%d.json and the folder '%s': is this one profile or one per device type?", path,
            listing->sizes[0], listing->folders[0]);
    int devices = listing->folder_count ? listing->folder_count : 1;
    profile->path = arena_string(&profile->arena, path);
    profile->devices = ARENA_ARRAY(&profile->arena, (size_t)devices, struct profile_device);
    if (!profile->path || !profile->devices)
        return error_memory(err);
    return listing->folder_count ? load_folders(profile, path, listing, wanted, err)
                                 : load_one(profile, path, listing, NULL, wanted, err);
}

/* A copy of the path without slashes at its end, so that messages do not double them. */
static char *trimmed(struct arena *arena, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return arena_copy(arena, path, length);
}

bool oobleck_load(struct profile *profile, const char *path, int microbatch_size, struct error *err)
{
    struct listing listing;
    memset(profile, 0, sizeof *profile);
    const char *folder = trimmed(&profile->arena, path);
    if (!folder)
        return error_memory(err);
    bool done = false;
    if (list_folder(&listing, folder, err)) {
        done = load_listed(profile, folder, &listing, microbatch_size, err);
        arena_release(&listing.arena);
    }
    if (!done)
        profile_release(profile);
    return done;
}

bool oobleck_parse(struct profile *profile, const char *folder,
                   const struct oobleck_text texts[OOBLECK_FILE_COUNT], int microbatch_size,
                   struct error *err)
{
    struct source source = {folder, texts, microbatch_size};
    memset(profile, 0, sizeof *profile);
    profile->path = arena_string(&profile->arena, folder);
    profile->devices = ARENA_NEW(&profile->arena, struct profile_device);
    bool done =
        profile->path && profile->devices ? read_device(profile, &source, NULL, err) : error_memory(err);
    if (!done)
        profile_release(profile);
    return done;
}
