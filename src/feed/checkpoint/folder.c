/* What lies in the folder of checkpoints: leftovers, and those that are too many. */
#include "core/file_output.h"
#include "core/vector.h"
#include "feed/checkpoint/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool visit_file(void *context, const char *name, int64_t size)
{
    struct checkpoint_found *found = context;
    if (size >= 0 && strcmp(name, CHECKPOINT_MANIFEST) == 0)
        found->manifest = true;
    if (size >= 0 && strcmp(name, CHECKPOINT_UNFINISHED) == 0)
        found->unfinished = true;
    return true;
}

bool checkpoint_look(const struct checkpoint *checkpoint, const char *folder, struct checkpoint_found *found,
                     struct error *err)
{
    *found = (struct checkpoint_found){0};
    if (storage_list(checkpoint->options.storage, folder, visit_file, found, err))
        return true;
    *found = (struct checkpoint_found){0};
    return err->kind == ERROR_INPUT; /* no such folder */
}

static bool remove_one(const struct checkpoint *checkpoint, const char *folder, const char *name,
                       struct error *err)
{
    char *file = checkpoint_name(folder, name, err);
    bool ok = file && storage_remove(checkpoint->options.storage, file, err);
    free(file);
    return ok;
}

/* The files, and what a killed writer may have left of them. */
static bool remove_files(const struct checkpoint *checkpoint, const char *folder,
                         const struct checkpoint_manifest *manifest, struct error *err)
{
    char part[sizeof manifest->files->shard.name + 8];
    for (size_t i = 0; i < manifest->count; i++) {
        const char *name = manifest->files[i].shard.name;
        snprintf(part, sizeof part, "%s" FILE_PART, name);
        if (!remove_one(checkpoint, folder, name, err) || !remove_one(checkpoint, folder, part, err))
            return false;
    }
    return remove_one(checkpoint, folder, CHECKPOINT_MANIFEST FILE_PART, err);
}

/* By the list in `name`, which goes last. */
static bool remove_listed(const struct checkpoint *checkpoint, const char *folder, const char *name,
                          struct error *err)
{
    struct checkpoint_manifest manifest;
    char *list = checkpoint_name(folder, name, err);
    bool ok = list && checkpoint_manifest_read(&manifest, checkpoint->options.storage, list, err);
    free(list);
    if (!ok)
        return false;
    ok = remove_files(checkpoint, folder, &manifest, err) && remove_one(checkpoint, folder, name, err);
    checkpoint_manifest_release(&manifest);
    return ok;
}

/* The list of what is to be removed, taken from the manifest. */
static bool note(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    struct checkpoint_manifest manifest;
    char *from = checkpoint_name(folder, CHECKPOINT_MANIFEST, err);
    char *to = from ? checkpoint_name(folder, CHECKPOINT_UNFINISHED, err) : NULL;
    struct storage *storage = checkpoint->options.storage;
    bool ok = to && checkpoint_manifest_read(&manifest, storage, from, err);
    if (ok) {
        ok = checkpoint_manifest_write(&manifest, storage, to, checkpoint->options.sync, err);
        checkpoint_manifest_release(&manifest);
    }
    free(from);
    free(to);
    return ok;
}

/* A complete checkpoint becomes an unfinished one first: wherever this is killed, no half of one looks whole. */
bool checkpoint_remove(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    struct checkpoint_found found;
    struct error ignored;
    if (!checkpoint_look(checkpoint, folder, &found, err))
        return false;
    if (!found.manifest && !found.unfinished)
        return true;
    if (!found.unfinished && !note(checkpoint, folder, err))
        return false;
    if (!remove_one(checkpoint, folder, CHECKPOINT_MANIFEST, err) ||
        !remove_listed(checkpoint, folder, CHECKPOINT_UNFINISHED, err))
        return false;
    storage_remove(checkpoint->options.storage, folder, &ignored); /* stays if it has other files */
    return true;
}

/* --- all checkpoints ------------------------------------------------------------------------------------------ */

struct listed {
    struct checkpoint_moment *moments;
    size_t count, capacity;
    bool failed;
};

static bool visit_folder(void *context, const char *name, int64_t size)
{
    struct listed *listed = context;
    long long epoch, step;
    char again[CHECKPOINT_FOLDER_SIZE];
    if (size >= 0 || sscanf(name, "global_epoch%lld_step%lld", &epoch, &step) != 2 ||
        strcmp(checkpoint_shards_folder(again, epoch, step), name) != 0)
        return true;
    listed->failed = !VECTOR_ADD(listed->moments, listed->count, listed->capacity,
                                 (struct checkpoint_moment){.epoch = epoch, .step = step});
    return !listed->failed;
}

static int newest_first(const void *a, const void *b)
{
    const struct checkpoint_moment *x = a, *y = b;
    return x->epoch != y->epoch ? (x->epoch < y->epoch) - (x->epoch > y->epoch)
                                : (x->step < y->step) - (x->step > y->step);
}

static bool list_all(const struct checkpoint *checkpoint, struct listed *listed, struct error *err)
{
    *listed = (struct listed){0};
    if (!storage_list(checkpoint->options.storage, checkpoint->options.folder, visit_folder, listed, err) ||
        (listed->failed && !error_memory(err))) {
        free(listed->moments);
        return false;
    }
    if (listed->count > 0)
        qsort(listed->moments, listed->count, sizeof *listed->moments, newest_first);
    return true;
}

/* Calls `body` for each checkpoint's folder, from the newest on. */
static bool each(const struct checkpoint *checkpoint,
                 bool (*body)(const struct checkpoint *checkpoint, const char *folder, int64_t *complete,
                              struct error *err),
                 struct error *err)
{
    struct listed listed;
    if (!list_all(checkpoint, &listed, err))
        return false;
    int64_t complete = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < listed.count; i++) {
        char *folder = checkpoint_folder_of(checkpoint, &listed.moments[i], err);
        ok = folder && body(checkpoint, folder, &complete, err);
        free(folder);
    }
    free(listed.moments);
    return ok;
}

static bool keep_newest(const struct checkpoint *checkpoint, const char *folder, int64_t *complete,
                        struct error *err)
{
    struct checkpoint_found found;
    if (!checkpoint_look(checkpoint, folder, &found, err))
        return false;
    if (!found.manifest || ++*complete <= checkpoint->options.keep)
        return true;
    return checkpoint_remove(checkpoint, folder, err);
}

bool checkpoint_rotate(const struct checkpoint *checkpoint, struct error *err)
{
    return each(checkpoint, keep_newest, err);
}

/* What was killed before the list had its name has left nothing else. */
static bool remove_begun(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    struct error ignored;
    bool ok = remove_one(checkpoint, folder, CHECKPOINT_UNFINISHED FILE_PART, err);
    storage_remove(checkpoint->options.storage, folder, &ignored); /* stays if it has other files */
    return ok;
}

/* With a manifest it is whole: the run was killed when only the list was still to go. */
static bool clean_one(const struct checkpoint *checkpoint, const char *folder, int64_t *complete,
                      struct error *err)
{
    struct checkpoint_found found;
    (void)complete;
    if (!checkpoint_look(checkpoint, folder, &found, err))
        return false;
    if (!found.unfinished)
        return found.manifest || remove_begun(checkpoint, folder, err);
    return found.manifest ? remove_one(checkpoint, folder, CHECKPOINT_UNFINISHED, err)
                          : checkpoint_remove(checkpoint, folder, err);
}

/* Is there nothing yet where checkpoints go? */
static bool look(const struct checkpoint *checkpoint, bool *nothing, struct error *err)
{
    char *path = storage_path(checkpoint->options.storage, checkpoint->options.folder, err);
    if (!path)
        return false;
    *nothing = storage_options(checkpoint->options.storage)->method != STORAGE_S3 &&
               access(path, F_OK) != 0 && errno == ENOENT;
    free(path);
    return true;
}

static bool add_size(void *context, const char *name, int64_t size)
{
    int64_t *bytes = context;
    (void)name;
    *bytes += size > 0 ? size : 0;
    return true;
}

bool checkpoint_replaced(const struct checkpoint *checkpoint, checkpoint_replaces *replaces,
                         const void *context, int64_t most, int64_t *bytes, struct error *err)
{
    struct listed listed;
    bool nothing;
    *bytes = 0;
    if (!look(checkpoint, &nothing, err))
        return false;
    if (nothing)
        return true;
    if (!list_all(checkpoint, &listed, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < listed.count; i++) {
        int64_t there = 0;
        if (!replaces(context, &listed.moments[i]))
            continue;
        char *folder = checkpoint_folder_of(checkpoint, &listed.moments[i], err);
        ok = folder && storage_list(checkpoint->options.storage, folder, add_size, &there, err);
        free(folder);
        *bytes += there < most ? there : most;
    }
    free(listed.moments);
    return ok;
}

bool checkpoint_clean(struct checkpoint *checkpoint, struct error *err)
{
    bool nothing;
    return look(checkpoint, &nothing, err) && (nothing || each(checkpoint, clean_one, err));
}
