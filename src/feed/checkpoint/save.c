#include "core/clock.h"
#include "feed/checkpoint/internal.h"

#include <stdlib.h>

static bool write_content(const struct checkpoint_crew *crew, const struct checkpoint_job *job,
                          struct storage_writer *writer, char *buffer, struct checkpoint_part *spent,
                          struct error *err)
{
    struct dataset_bytes content = checkpoint_content(crew->manifest, job->file);
    int64_t chunk = crew->checkpoint->chunk;
    for (int64_t at = 0; at < job->length; at += chunk) {
        size_t n = (size_t)(job->length - at < chunk ? job->length - at : chunk);
        int64_t started = clock_nanoseconds();
        if (!checkpoint_crew_go_on(crew, err))
            return false;
        dataset_bytes_fill(&content, at, buffer, n);
        spent->content += 1e-9 * (double)(clock_nanoseconds() - started);
        if (!storage_write(writer, buffer, n, err))
            return false;
    }
    return true;
}

static bool save_file(struct checkpoint_crew *crew, const struct checkpoint_job *job,
                      struct checkpoint_worker *worker, struct checkpoint_part *spent, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    struct storage_write_options how = {
        .sync = options->sync, .sync_folder = options->sync, .stop = options->stop};
    char *name = checkpoint_name(crew->folder, crew->manifest->files[job->file].shard.name, err);
    struct storage_writer *writer = name ? storage_create(options->storage, name, &how, err) : NULL;
    free(name);
    if (!writer)
        return false;
    if (!write_content(crew, job, writer, worker->buffer, spent, err)) {
        storage_discard(writer);
        return false;
    }
    if (!storage_commit(writer, &spent->moved, err)) {
        (void)checkpoint_not_stopped(crew->checkpoint, crew->folder, err); /* notes a stop as the reason */
        return false;
    }
    return true;
}

static bool add_jobs(struct checkpoint_crew *crew, struct error *err)
{
    for (size_t i = 0; i < crew->manifest->count; i++)
        if (!checkpoint_crew_add_file(crew, i,
                                      crew->manifest->files[i].rank - crew->checkpoint->options.first, err))
            return false;
    return true;
}

/* Removes an earlier checkpoint of the same name or its remains, and lists the files that this save may
 * leave. */
static bool begin(const struct checkpoint_crew *crew, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    return !checkpoint_leads(crew->checkpoint) ||
           (checkpoint_remove(crew->checkpoint, crew->folder, err) &&
            checkpoint_manifest_write(crew->manifest, options->storage, crew->folder, CHECKPOINT_UNFINISHED,
                                      options->sync, err));
}

/* Writes the manifest, now that all files have their names. */
static bool finish(const struct checkpoint_crew *crew, struct error *err)
{
    struct checkpoint *checkpoint = crew->checkpoint;
    const struct checkpoint_options *options = &checkpoint->options;
    if (!checkpoint_leads(checkpoint))
        return true;
    int64_t started = clock_nanoseconds();
    char *unfinished = checkpoint_name(crew->folder, CHECKPOINT_UNFINISHED, err);
    bool ok = unfinished &&
              checkpoint_manifest_write(crew->manifest, options->storage, crew->folder, CHECKPOINT_MANIFEST,
                                        options->sync, err) &&
              storage_remove(options->storage, unfinished, err);
    checkpoint->parts[0].end += clock_nanoseconds() - started;
    free(unfinished);
    return ok;
}

/* Removes the files of a failed save, once no process writes any more. */
static bool give_up(const struct checkpoint_crew *crew)
{
    struct error ignored;
    checkpoint_together(crew->checkpoint, true, "the end of a checkpoint that failed", &ignored);
    if (checkpoint_leads(crew->checkpoint) && crew->folder)
        checkpoint_remove(crew->checkpoint, crew->folder, &ignored);
    return false;
}

static bool save(struct checkpoint_crew *crew, bool ready, struct error *err)
{
    const struct checkpoint *checkpoint = crew->checkpoint;
    return (checkpoint_together(checkpoint, ready, "the start of a checkpoint", err) &&
            checkpoint_together(checkpoint, checkpoint_crew_run(crew, err), "the files of a checkpoint",
                                err) &&
            checkpoint_together(checkpoint, finish(crew, err), "the end of a checkpoint", err)) ||
           give_up(crew);
}

bool checkpoint_save(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err)
{
    struct checkpoint_manifest manifest = {0};
    char *folder = checkpoint_folder_of(checkpoint, moment, err);
    struct checkpoint_crew crew = {
        .checkpoint = checkpoint, .manifest = &manifest, .folder = folder, .body = save_file};
    bool ready = folder && checkpoint_manifest_make(&manifest, &checkpoint->options, moment, err) &&
                 add_jobs(&crew, err) && begin(&crew, err);
    bool ok = save(&crew, ready, err) &&
              checkpoint_record(checkpoint, METRICS_SAVE, &checkpoint->saved, moment, metrics, err);
    checkpoint_manifest_release(&manifest);
    free(crew.jobs);
    free(folder);
    return ok;
}
