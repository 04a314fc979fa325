#include "core/clock.h"
#include "feed/checkpoint/header.h"
#include "feed/checkpoint/internal.h"
#include "storage/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- one file, or a part of one ------------------------------------------------------------------------------- */

static bool wrong_byte(const char *path, int64_t offset, const char *expected, const char *found, size_t n,
                       struct error *err)
{
    size_t i = 0;
    while (i < n && expected[i] == found[i])
        i++;
    return error_set(err, ERROR_INPUT, "%s: byte %lld is not what was saved: expected 0x%02x, found 0x%02x",
                     path, (long long)offset + (long long)i, (unsigned char)expected[i],
                     (unsigned char)found[i]);
}

/* A file that is read, by one thread. */
struct inflow {
    const struct checkpoint_crew *crew;
    const char *path;
    struct storage_file *file;
    const struct checkpoint_worker *worker;
    struct checkpoint_part *spent;
};

/* Reads bytes of the content, from `content` on, that stand in the file from `from` on. */
static bool read_bytes(const struct inflow *in, const struct dataset_bytes *expected, int64_t content,
                       int64_t from, int64_t length, struct error *err)
{
    const struct checkpoint *checkpoint = in->crew->checkpoint;
    int64_t chunk = checkpoint->chunk;
    char *to = storage_reader_buffer(in->worker->reader, 0, chunk + STORAGE_SLACK, err);
    if (!to)
        return false;
    for (int64_t at = 0; at < length; at += chunk) {
        int64_t n = length - at < chunk ? length - at : chunk;
        struct storage_extent extent = {
            .offset = from + at, .length = n, .to = to, .room = chunk + STORAGE_SLACK};
        int64_t started = clock_nanoseconds();
        if (!checkpoint_crew_go_on(in->crew, err) ||
            !storage_read(in->worker->reader, in->file, &extent, 1, err))
            return false;
        int64_t read = clock_nanoseconds();
        in->spent->moved.write += 1e-9 * (double)(read - started);
        if (!checkpoint->options.verify)
            continue;
        dataset_bytes_fill(expected, content + at, in->worker->buffer, (size_t)n);
        if (memcmp(in->worker->buffer, extent.at, (size_t)n) != 0)
            return wrong_byte(in->path, from + at, in->worker->buffer, extent.at, (size_t)n, err);
        in->spent->content += 1e-9 * (double)(clock_nanoseconds() - read);
    }
    return true;
}

/* Reads the job's part of the content, tensor by tensor, as frameworks do. */
static bool read_tensors(const struct inflow *in, const struct checkpoint_job *job,
                         const struct checkpoint_tensors *tensors, struct error *err)
{
    struct dataset_bytes expected = checkpoint_content(in->crew->manifest, job->file);
    int64_t begin = 0, end = job->offset + job->length;
    for (size_t i = 0; i < tensors->count && begin < end; begin += tensors->items[i++].bytes) {
        int64_t first = job->offset > begin ? job->offset : begin;
        int64_t last = begin + tensors->items[i].bytes < end ? begin + tensors->items[i].bytes : end;
        if (first < last &&
            !read_bytes(in, &expected, first, tensors->items[i].offset + first - begin, last - first, err))
            return false;
    }
    in->spent->moved.bytes = job->length;
    return true;
}

static bool check_size(const char *path, int64_t size, int64_t expected, struct error *err)
{
    if (size == expected)
        return true;
    return error_set(err, ERROR_INPUT, "%s: %s: %lld bytes, but " CHECKPOINT_MANIFEST " says %lld", path,
                     size < expected ? "truncated" : "too long", (long long)size, (long long)expected);
}

static bool read_header_bytes(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct inflow *in = context;
    struct storage_extent extent = {.offset = offset, .length = (int64_t)n, .to = to};
    if (!storage_read(in->worker->reader, in->file, &extent, 1, err))
        return false;
    if (extent.at != to)
        memmove(to, extent.at, n);
    return true;
}

/* Finds the tensors of a file, which for the ranks that saved it are those of the workload's model; all of a raw file
 * is one tensor. */
static bool find_tensors(struct inflow *in, const struct checkpoint_job *job,
                         struct checkpoint_tensors *tensors, struct error *err)
{
    const struct checkpoint_manifest *manifest = in->crew->manifest;
    const struct checkpoint_shards *shards = &in->crew->checkpoint->options.shards;
    const struct checkpoint_file *file = &manifest->files[job->file];
    struct checkpoint_tensor all = {.name = "", .type = WORKLOAD_DATATYPE_UINT8, .dims = 1};
    struct checkpoint_tensors expected = {0};
    int64_t bytes = 0;
    if (!storage_file_size(in->worker->reader, in->file, &all.shape[0], err))
        return false;
    if (manifest->format == WORKLOAD_CHECKPOINT_RAW)
        return check_size(in->path, all.shape[0], file->shard.bytes, err) &&
               checkpoint_tensors_add(tensors, in->path, all, err);
    const struct dataset_source source = {in, all.shape[0], read_header_bytes};
    bool ok = checkpoint_header_read(tensors, manifest->format, in->path, &source, err);
    if (ok && checkpoint_same_ranks(manifest, shards)) {
        ok = checkpoint_shards_tensors(shards, file->rank, file->index, &expected, err);
        if (manifest->format == WORKLOAD_CHECKPOINT_SAFETENSORS)
            checkpoint_tensors_sort(&expected);
        ok = ok && checkpoint_tensors_check(tensors, &expected, in->path, err);
        checkpoint_tensors_release(&expected);
    }
    for (size_t i = 0; i < tensors->count; i++)
        bytes += tensors->items[i].bytes;
    return ok && check_size(in->path, bytes, file->shard.bytes, err);
}

static bool load_file(struct checkpoint_crew *crew, const struct checkpoint_job *job,
                      struct checkpoint_worker *worker, struct checkpoint_part *spent, struct error *err)
{
    struct storage *storage = crew->checkpoint->options.storage;
    if (!worker->reader && !(worker->reader = storage_reader_new(storage, err)))
        return false;
    struct checkpoint_tensors tensors = {0};
    char *name = checkpoint_name(crew->folder, crew->manifest->files[job->file].shard.name, err);
    char *path = name ? storage_path(storage, name, err) : NULL;
    struct storage_file *file = path ? storage_open(worker->reader, name, err) : NULL;
    struct inflow in = {crew, path, file, worker, spent};
    bool ok = file && find_tensors(&in, job, &tensors, err) && read_tensors(&in, job, &tensors, err);
    checkpoint_tensors_release(&tensors);
    storage_close(file);
    free(path);
    free(name);
    return ok;
}

/* --- who reads what ------------------------------------------------------------------------------------------- */

/* Adds the jobs of ranks that each read the files of one rank. */
static bool add_same(struct checkpoint_crew *crew, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    const struct checkpoint_manifest *manifest = crew->manifest;
    int64_t shift = options->shift % manifest->ranks, origin = options->first + shift + manifest->ranks;
    for (size_t i = 0; i < manifest->count; i++) {
        int64_t rank = manifest->files[i].rank - origin % manifest->ranks + manifest->ranks;
        if (!checkpoint_crew_add_file(crew, i, rank % manifest->ranks, err))
            return false;
    }
    return true;
}

/* Returns the begin of a rank's part in a sequence of bytes; a multiple of 8, so that no number is cut. */
static int64_t part_start(int64_t bytes, int64_t rank, int64_t ranks)
{
    int64_t start = bytes / ranks * rank + bytes % ranks * rank / ranks;
    return rank == ranks ? bytes : start - start % 8;
}

/* Adds the jobs of one rank for the bytes from … to - 1 of the sequence that the files of a kind form. */
static bool add_range(struct checkpoint_crew *crew, enum checkpoint_kind kind, int rank, int64_t from,
                      int64_t to, struct error *err)
{
    const struct checkpoint_manifest *manifest = crew->manifest;
    int64_t begin = 0;
    int turn = 0;
    for (size_t i = 0; i < manifest->count && begin < to; i++) {
        const struct checkpoint_shard *shard = &manifest->files[i].shard;
        if (shard->kind != kind)
            continue;
        int64_t end = begin + shard->bytes;
        int64_t first = from > begin ? from : begin, last = to < end ? to : end;
        struct checkpoint_job job = {
            .file = i, .rank = rank, .turn = turn, .offset = first - begin, .length = last - first};
        if (first < last && !checkpoint_crew_add(crew, job, err))
            return false;
        turn += first < last;
        begin = end;
    }
    return true;
}

static bool add_parts(struct checkpoint_crew *crew, enum checkpoint_kind kind, struct error *err)
{
    const struct checkpoint_options *options = &crew->checkpoint->options;
    int64_t bytes = 0, ranks = options->shards.ranks;
    for (size_t i = 0; i < crew->manifest->count; i++)
        if (crew->manifest->files[i].shard.kind == kind)
            bytes += crew->manifest->files[i].shard.bytes;
    for (int i = 0; i < options->count; i++) {
        int64_t rank = (options->first + options->shift + i) % ranks;
        if (!add_range(crew, kind, i, part_start(bytes, rank, ranks), part_start(bytes, rank + 1, ranks),
                       err))
            return false;
    }
    return true;
}

bool checkpoint_same_ranks(const struct checkpoint_manifest *manifest, const struct checkpoint_shards *shards)
{
    return manifest->ranks == shards->ranks &&
           memcmp(&manifest->split, &shards->split, sizeof shards->split) == 0;
}

static bool add_jobs(struct checkpoint_crew *crew, struct error *err)
{
    if (checkpoint_same_ranks(crew->manifest, &crew->checkpoint->options.shards))
        return add_same(crew, err);
    return add_parts(crew, CHECKPOINT_MODEL, err) && add_parts(crew, CHECKPOINT_OPTIMIZER, err);
}

/* --- before and after ----------------------------------------------------------------------------------------- */

static bool not_complete(const struct checkpoint *checkpoint, const char *folder, struct error *err)
{
    char *path = storage_path(checkpoint->options.storage, folder, err);
    if (path)
        error_set(err, ERROR_INPUT, "%s: incomplete checkpoint: no " CHECKPOINT_MANIFEST, path);
    free(path);
    return false;
}

/* Are these ranks only some of a job's? */
static bool is_part(const struct workload_split *split, int64_t ranks)
{
    return ranks < split->tensor * split->pipeline * split->data;
}

/* Other ranks have as many bytes in all, but for rounding and for norms, which are on every tensor rank: far less than
 * a hundredth. */
static bool is_same_model(const struct checkpoint *checkpoint, const struct checkpoint_manifest *manifest,
                          const char *folder, struct error *err)
{
    const struct checkpoint_shards *shards = &checkpoint->options.shards;
    double bytes = checkpoint_shards_bytes(shards);
    bool same = checkpoint_same_ranks(manifest, shards), asks = is_part(&shards->split, shards->ranks);
    bool part = is_part(&manifest->split, manifest->ranks);
    if (part && !asks)
        return error_set(
            err, ERROR_INPUT,
            "%s/" CHECKPOINT_MANIFEST ": of %lld ranks of a job of %lld, which is no whole checkpoint: "
            "restore it by fewer ranks than that, with checkpoint.mode=subset",
            folder, (long long)manifest->ranks,
            (long long)(manifest->split.tensor * manifest->split.pipeline * manifest->split.data));
    if ((!same && (part || asks)) || fabs((double)manifest->bytes - bytes) <= (same ? 0 : 0.01 * bytes))
        return true;
    return error_set(err, ERROR_INPUT,
                     "%s/" CHECKPOINT_MANIFEST ": %lld bytes, but one of the workload's model has %.0f: a "
                     "checkpoint of another model: restore it with the workload that saved it",
                     folder, (long long)manifest->bytes, bytes);
}

static bool read_manifest(const struct checkpoint *checkpoint, const char *folder,
                          const struct checkpoint_moment *moment, struct checkpoint_manifest *manifest,
                          struct error *err)
{
    struct checkpoint_found found;
    if (!checkpoint_look(checkpoint, folder, &found, err))
        return false;
    if (!found.manifest)
        return not_complete(checkpoint, folder, err);
    if (!checkpoint_manifest_read(manifest, checkpoint->options.storage, folder, CHECKPOINT_MANIFEST, err))
        return false;
    if (manifest->epoch != moment->epoch || manifest->step != moment->step)
        error_set(err, ERROR_INPUT,
                  "%s/" CHECKPOINT_MANIFEST
                  ": written for epoch %lld, step %lld, which differs from the folder's name",
                  folder, (long long)manifest->epoch, (long long)manifest->step);
    else if (manifest->format != checkpoint->options.format)
        error_set(err, ERROR_INPUT,
                  "%s/" CHECKPOINT_MANIFEST ": files in the format '%s', but the workload's are '%s': "
                  "set checkpoint.format=%s to restore it",
                  folder, workload_checkpoint_formats[manifest->format],
                  workload_checkpoint_formats[checkpoint->options.format],
                  workload_checkpoint_formats[manifest->format]);
    else if (is_same_model(checkpoint, manifest, folder, err))
        return true;
    checkpoint_manifest_release(manifest);
    return false;
}

/* Drops the pages of a file from the cache, if requested, and counts them. */
static bool look_at_file(struct checkpoint *checkpoint, const char *folder, const char *name,
                         struct error *err)
{
    const struct checkpoint_options *options = &checkpoint->options;
    struct origin_count *origin = &checkpoint->origin;
    char *file = checkpoint_name(folder, name, err);
    char *path = file ? storage_path(options->storage, file, err) : NULL;
    struct storage_cached cached = {.resident = -1};
    bool ok = path && (options->cold ? storage_drop_file(path, options->stop, &cached, err)
                                     : storage_resident(path, &cached, err));
    origin->size += cached.size;
    origin->resident = origin->resident < 0 || cached.resident < 0 ? -1 : origin->resident + cached.resident;
    free(path);
    free(file);
    return ok;
}

static int by_file(const void *a, const void *b)
{
    const struct checkpoint_job *x = a, *y = b;
    return (x->file > y->file) - (x->file < y->file);
}

/* Looks at the page cache of all files that this process will read. */
static bool look_at_cache(struct checkpoint_crew *crew, struct error *err)
{
    struct checkpoint *checkpoint = crew->checkpoint;
    const struct checkpoint_file *files = crew->manifest->files;
    checkpoint->origin = (struct origin_count){.resident = -1};
    if (storage_options(checkpoint->options.storage)->method == STORAGE_S3)
        return true;
    checkpoint->origin.resident = 0;
    if (crew->count > 0)
        qsort(crew->jobs, crew->count, sizeof *crew->jobs, by_file);
    for (size_t i = 0; i < crew->count; i++) {
        size_t file = crew->jobs[i].file;
        if ((i == 0 || file != crew->jobs[i - 1].file) &&
            !look_at_file(checkpoint, crew->folder, files[file].shard.name, err)) {
            (void)checkpoint_not_stopped(checkpoint, crew->folder, err); /* notes a stop as the reason */
            return false;
        }
    }
    return true;
}

/* Reads, and finds out how much came from the storage. */
static bool read_back(struct checkpoint_crew *crew, struct error *err)
{
    struct checkpoint *checkpoint = crew->checkpoint;
    struct origin_count *origin = &checkpoint->origin;
    enum origin_evidence evidence;
    int64_t before, after;
    if (!origin_evidence_for(checkpoint->options.storage, &evidence, err))
        return false;
    bool counted = storage_process_read(&before), ok = checkpoint_crew_run(crew, err);
    counted = counted && storage_process_read(&after);
    origin->read = counted ? after - before : -1;
    for (int i = 0; i < checkpoint->options.count; i++)
        origin->delivered += checkpoint->parts[i].moved.bytes;
    checkpoint->from_storage = origin_from_storage(evidence, origin);
    return ok;
}

bool checkpoint_load(struct checkpoint *checkpoint, const struct checkpoint_moment *moment,
                     struct metrics *metrics, struct error *err)
{
    struct checkpoint_manifest manifest = {0};
    char *folder = checkpoint_folder_of(checkpoint, moment, err);
    struct checkpoint_crew crew = {
        .checkpoint = checkpoint, .manifest = &manifest, .folder = folder, .body = load_file};
    bool ready = folder && read_manifest(checkpoint, folder, moment, &manifest, err) &&
                 add_jobs(&crew, err) && look_at_cache(&crew, err);
    bool ok = checkpoint_together(checkpoint, ready, "the start of a restore", err) &&
              checkpoint_together(checkpoint, read_back(&crew, err), "the end of a restore", err) &&
              checkpoint_record(checkpoint, METRICS_LOAD, &checkpoint->loaded, moment, metrics, err);
    checkpoint_manifest_release(&manifest);
    free(crew.jobs);
    free(folder);
    return ok;
}
