#include "core/clock.h"
#include "dataset/sum.h"
#include "feed/checkpoint/image.h"
#include "feed/checkpoint/internal.h"

#include <stdlib.h>
#include <string.h>

/* Makes the file's image. */
static bool make_image(const struct checkpoint_crew *crew, size_t file, struct checkpoint_image *image,
                       struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    const struct checkpoint_manifest *manifest = crew->manifest;
    const struct checkpoint_file *of = &manifest->files[file];
    struct checkpoint_tensors tensors = {0};
    uint64_t number =
        dataset_draw_bits((uint64_t)manifest->seed, (uint64_t)manifest->epoch, (uint64_t)manifest->step);
    bool ok = checkpoint_shards_tensors(&options->shards, of->rank, of->index, &tensors, err) &&
              checkpoint_image_make(image, manifest->format, of->shard.name, &tensors, number + file, err);
    checkpoint_tensors_release(&tensors);
    return ok;
}

/* A file on its way to the storage, a full buffer at a time. */
struct outflow {
    const struct checkpoint_crew *crew;
    struct storage_writer *writer;
    char *buffer;
    int64_t used, content; /* bytes in the buffer; of the content, so far */
};

static bool flush(struct outflow *out, struct error *err)
{
    size_t n = (size_t)out->used;
    out->used = 0;
    return n == 0 ||
           (checkpoint_crew_go_on(out->crew, err) && storage_write(out->writer, out->buffer, n, err));
}

static bool write_piece(struct outflow *out, struct checkpoint_image *image,
                        const struct checkpoint_piece *piece, const struct dataset_bytes *content,
                        struct error *err)
{
    int64_t chunk = out->crew->checkpoint->chunk;
    uint32_t sum = 0;
    for (int64_t at = 0, n; at < piece->length; at += n) {
        n = piece->length - at < chunk - out->used ? piece->length - at : chunk - out->used;
        char *to = out->buffer + out->used;
        if (piece->content) {
            dataset_bytes_fill(content, out->content, to, (size_t)n);
            sum = piece->sums[0] ? dataset_crc32(sum, to, (size_t)n) : 0;
            out->content += n;
        } else {
            memcpy(to, image->text.data + piece->at + at, (size_t)n);
        }
        out->used += n;
        if (out->used == chunk && !flush(out, err))
            return false;
    }
    checkpoint_image_sum(image, piece, sum);
    return true;
}

static bool write_image(const struct checkpoint_crew *crew, const struct checkpoint_job *job,
                        struct checkpoint_image *image, struct storage_writer *writer, char *buffer,
                        struct error *err)
{
    struct outflow out = {.crew = crew, .writer = writer, .buffer = buffer};
    struct dataset_bytes content = checkpoint_content(crew->manifest, job->file);
    for (size_t i = 0; i < image->count; i++)
        if (!write_piece(&out, image, &image->pieces[i], &content, err))
            return false;
    return flush(&out, err);
}

static bool save_file(struct checkpoint_crew *crew, const struct checkpoint_job *job,
                      struct checkpoint_worker *worker, struct checkpoint_part *spent, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    struct storage_write_options how = {
        .sync = options->sync, .sync_folder = options->sync, .stop = options->stop};
    char *name = checkpoint_name(crew->folder, crew->manifest->files[job->file].shard.name, err);
    struct checkpoint_image image = {0};
    struct storage_writer *writer = name && make_image(crew, job->file, &image, err)
                                        ? storage_create(options->storage, name, &how, err)
                                        : NULL;
    free(name);
    int64_t started = clock_nanoseconds();
    bool written = writer && write_image(crew, job, &image, writer, worker->buffer, err);
    spent->content = 1e-9 * (double)(clock_nanoseconds() - started); /* and of writing, as yet */
    checkpoint_image_release(&image);
    if (!written) {
        storage_discard(writer);
        return false;
    }
    if (!storage_commit(writer, &spent->moved, err)) {
        (void)checkpoint_not_stopped(crew->checkpoint, crew->folder, err); /* notes a stop as the reason */
        return false;
    }
    spent->content -= spent->moved.write;
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

struct taken {
    const struct checkpoint_manifest *manifest;
    const char *name; /* of the manifest; NULL: no file has one */
};

static bool look_for_taken(void *context, const char *name, int64_t size)
{
    struct taken *taken = context;
    (void)size;
    for (size_t i = 0; !taken->name && i < taken->manifest->count; i++)
        if (strcmp(taken->manifest->files[i].shard.name, name) == 0)
            taken->name = taken->manifest->files[i].shard.name;
    return !taken->name;
}

/* What still has a file's name, now that our own are removed, is somebody else's. */
static bool is_free(const struct checkpoint_crew *crew, struct error *err)
{
    struct storage *storage = crew->checkpoint->options.storage;
    struct taken taken = {.manifest = crew->manifest};
    struct error ignored;
    char *path = storage_path(storage, crew->folder, err);
    bool ok = path != NULL;
    if (ok && storage_list(storage, crew->folder, look_for_taken, &taken, &ignored) && taken.name)
        ok = error_set(
            err, ERROR_INPUT,
            "%s/%s: not overwritten, as no checkpoint.json tells that it is one of rehearse's: remove it, "
            "or set another checkpoint.checkpoint_folder",
            path, taken.name);
    free(path);
    return ok;
}

/* Removes an earlier checkpoint of the same name or its remains, and lists the files that this save may
 * leave. */
static bool begin(const struct checkpoint_crew *crew, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    return !checkpoint_leads(crew->checkpoint) ||
           (checkpoint_remove(crew->checkpoint, crew->folder, err) && is_free(crew, err) &&
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
