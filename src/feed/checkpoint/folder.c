/* The folder of checkpoints: its contents, and the removal of leftovers. */
#include "core/file_output.h"
#include "core/vector.h"
#include "feed/checkpoint/internal.h"
#include "feed/space.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool checkpoint_replaced(const struct checkpoint *checkpoint, checkpoint_replaces *replaces,
                                const void *context, int64_t max, int64_t *bytes, struct error *err);

/* The room for the checkpoints of a run. */

/* Counts the part of a checkpoint that this process writes. */
static void count(const struct checkpoint *checkpoint, double *bytes, double *files)
{
    const struct checkpoint_options *options = &checkpoint->options;
    *bytes = *files = 0;
    for (int rank = options->first; rank < options->first + options->count; rank++) {
        *bytes += checkpoint_shards_rank_bytes(&options->shards, rank);
        *files += checkpoint_shards_count(&options->shards, rank);
    }
}

bool checkpoint_fits(const struct checkpoint *checkpoint, struct comm *comm, int64_t saves,
                     checkpoint_replaces *replaces, const void *context, struct error *err)
{
    const struct checkpoint_options *options = &checkpoint->options;
    if (storage_options(options->storage)->method == STORAGE_S3 || saves <= 0)
        return true;
    double one = checkpoint_shards_bytes(&options->shards), bytes, files;
    int64_t max = (int64_t)fmin(one, 0x1p62), replaced = 0;
    count(checkpoint, &bytes, &files);
    char *path = storage_path(options->storage, options->folder, err);
    bool ok = path && (!checkpoint_leads(checkpoint) ||
                       checkpoint_replaced(checkpoint, replaces, context, max, &replaced, err));
    const struct space_need need = {
        .path = path,
        .bytes = (int64_t)fmin(bytes * (double)saves, 0x1p62) - replaced,
        .files = (int64_t)fmin(files * (double)saves, 0x1p62),
    };
    ok = checkpoint_together(checkpoint, ok, "a look at the checkpoints", err) &&
         space_fits(comm, &need, options->stop, err);
    free(path);
    return ok;
}

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

/* Removes the files, and the parts that a killed writer may have left. */
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

/* Removes the files that the list `name` has, then the list. */
static bool remove_listed(const struct checkpoint *checkpoint, const char *folder, const char *name,
                          struct error *err)
{
    struct checkpoint_manifest manifest;
    if (!checkpoint_manifest_read(&manifest, checkpoint->options.storage, folder, name, err))
        return false;
    bool ok = remove_files(checkpoint, folder, &manifest, err) && remove_one(checkpoint, folder, name, err);
    checkpoint_manifest_release(&manifest);
    return ok;
}

/* Makes the list of files to be removed from the manifest. */
static bool note(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    struct checkpoint_manifest manifest;
    const struct checkpoint_options *options = &checkpoint->options;
    if (!checkpoint_manifest_read(&manifest, options->storage, folder, CHECKPOINT_MANIFEST, err))
        return false;
    bool ok = checkpoint_manifest_write(&manifest, options->storage, folder, CHECKPOINT_UNFINISHED,
                                        options->sync, err);
    checkpoint_manifest_release(&manifest);
    return ok;
}

/* A complete checkpoint becomes an unfinished one first, so that a kill never leaves a part that looks
 * whole. */
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

/* Looks whether the parent folder of the checkpoints is missing. */
static bool is_missing(const struct checkpoint *checkpoint, bool *missing, struct error *err)
{
    char *path = storage_path(checkpoint->options.storage, checkpoint->options.folder, err);
    *missing = path && storage_options(checkpoint->options.storage)->method != STORAGE_S3 &&
               access(path, F_OK) != 0 && errno == ENOENT;
    free(path);
    return path != NULL;
}

typedef bool checkpoint_visit(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                              const char *folder, void *context, struct error *err);

/* Calls `visit` for each checkpoint's folder, after all are listed. */
static bool each(const struct checkpoint *checkpoint, checkpoint_visit *visit, void *context,
                 struct error *err)
{
    const struct checkpoint_options *options = &checkpoint->options;
    struct listed listed = {0};
    bool missing, ok = is_missing(checkpoint, &missing, err);
    if (ok && !missing)
        ok = storage_list(options->storage, options->folder, visit_folder, &listed, err) &&
             (!listed.failed || error_memory(err));
    for (size_t i = 0; ok && i < listed.count; i++) {
        char *folder = checkpoint_folder_of(checkpoint, &listed.moments[i], err);
        ok = folder && visit(checkpoint, &listed.moments[i], folder, context, err);
        free(folder);
    }
    free(listed.moments);
    return ok;
}

/* Removes a folder without a list: nothing else was written before the list had its name. */
static bool remove_begun(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    struct error ignored;
    bool ok = remove_one(checkpoint, folder, CHECKPOINT_UNFINISHED FILE_PART, err);
    storage_remove(checkpoint->options.storage, folder, &ignored); /* stays if it has other files */
    return ok;
}

/* A folder with both a manifest and a list is whole: only the list was still to be removed. */
static bool clean_one(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                      const char *folder, void *context, struct error *err)
{
    struct checkpoint_found found;
    (void)moment, (void)context;
    if (!checkpoint_look(checkpoint, folder, &found, err))
        return false;
    if (!found.unfinished)
        return found.manifest || remove_begun(checkpoint, folder, err);
    return found.manifest ? remove_one(checkpoint, folder, CHECKPOINT_UNFINISHED, err)
                          : checkpoint_remove(checkpoint, folder, err);
}

bool checkpoint_clean(struct checkpoint *checkpoint, struct error *err)
{
    return each(checkpoint, clean_one, NULL, err);
}

struct replaced {
    checkpoint_replaces *replaces;
    const void *context;
    int64_t max, bytes;
};

static bool add_size(void *context, const char *name, int64_t size)
{
    int64_t *bytes = context;
    (void)name;
    *bytes += size > 0 ? size : 0;
    return true;
}

static bool add_replaced(const struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                         const char *folder, void *context, struct error *err)
{
    struct replaced *replaced = context;
    int64_t bytes = 0;
    if (!replaced->replaces(replaced->context, moment))
        return true;
    if (!storage_list(checkpoint->options.storage, folder, add_size, &bytes, err))
        return false;
    replaced->bytes += bytes < replaced->max ? bytes : replaced->max;
    return true;
}

/* Sums up the existing checkpoints for which `replaces` is true, each counted with at most `max` bytes. */
static bool checkpoint_replaced(const struct checkpoint *checkpoint, checkpoint_replaces *replaces,
                                const void *context, int64_t max, int64_t *bytes, struct error *err)
{
    struct replaced replaced = {replaces, context, max, 0};
    bool ok = each(checkpoint, add_replaced, &replaced, err);
    *bytes = replaced.bytes;
    return ok;
}
