#include "dataset/generate.h"

#include "dataset/crew.h"
#include "dataset/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MANIFEST ((int64_t)1 << 20)

struct generation {
    const struct dataset_layout *layout;
    const struct dataset_place *place;
    struct dataset_generated *generated;
};

static bool write_part(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                       int64_t *bytes, struct error *err)
{
    const struct generation *generation = crew->context;
    const struct dataset_place *place = generation->place;
    struct dataset_watched watched = {.crew = crew};
    int64_t expected = *bytes;
    if (!place->create(place->context, path, expected, &watched.to, err))
        return false;
    const struct dataset_sink sink = dataset_crew_watch(&watched);
    bool written = dataset_write(file, part, NULL, &sink, err);
    if (written && expected >= 0 && watched.bytes != expected)
        written = error_set(err, ERROR_FAILED, "%s: wrote %lld bytes, expected %lld", path,
                            (long long)watched.bytes, (long long)expected);
    if (!written) {
        place->discard(place->context, &watched.to);
        return false;
    }
    *bytes = watched.bytes;
    return place->commit(place->context, &watched.to, err);
}

static bool make_part(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                      struct error *err)
{
    const struct generation *generation = crew->context;
    struct dataset_generated *generated = generation->generated;
    int64_t there, bytes = dataset_file_bytes(file, part);
    if (!generation->place->size(generation->place->context, path, &there, err))
        return false;
    bool kept = bytes >= 0 ? there == bytes : there > 0;
    if (kept)
        bytes = there;
    else if (!write_part(crew, file, part, path, &bytes, err))
        return false;
    dataset_crew_done(crew, 1, bytes);
    pthread_mutex_lock(&crew->lock);
    *(kept ? &generated->files_kept : &generated->files_written) += 1;
    *(kept ? &generated->bytes_kept : &generated->bytes_written) += bytes;
    pthread_mutex_unlock(&crew->lock);
    return true;
}

static bool make_file(struct dataset_crew *crew, int64_t number, struct error *err)
{
    const struct generation *generation = crew->context;
    return dataset_crew_parts(crew, generation->layout, number, make_part, err);
}

static bool write_text(const struct dataset_place *place, const char *path, const struct text *text,
                       struct error *err)
{
    struct dataset_sink sink;
    if (!place->create(place->context, path, (int64_t)text->length, &sink, err))
        return false;
    if (!sink.write(sink.context, text->data, text->length, err)) {
        place->discard(place->context, &sink);
        return false;
    }
    return place->commit(place->context, &sink, err);
}

/* Makes the folders of DLIO's layout. The files of the VLDB study's formats lie side by side. */
static bool make_folders(const struct dataset_layout *layout, const struct dataset_place *place,
                         struct error *err)
{
    struct dataset_file file;
    struct text path = {0};
    dataset_file_init(&file, layout, 0);
    bool made = dataset_file_path(&file, 0, &path) ? true : error_memory(err);
    bool usual = made && (strncmp(path.data, "train/", 6) == 0 || strncmp(path.data, "valid/", 6) == 0);
    if (usual && place->make_folder)
        made = place->make_folder(place->context, "train", err) &&
               place->make_folder(place->context, "valid", err);
    text_release(&path);
    return made;
}

/* Where no data set is known, a file that would be written is somebody's: one of every 64th part is looked for. */
static bool none_is_lost(const struct dataset_layout *layout, const struct dataset_place *place,
                         struct error *err)
{
    int64_t files = dataset_files(layout), there;
    struct text path = {0};
    bool good = true;
    for (int64_t i = 0; i < files && good; i += (files + 63) / 64) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        path.length = 0;
        good = (dataset_file_path(&file, 0, &path) || error_memory(err)) &&
               place->size(place->context, path.data, &there, err);
        int64_t bytes = good && there > 0 ? dataset_file_bytes(&file, 0) : -1;
        if (good && bytes >= 0 && there != bytes)
            good = error_set(err, ERROR_INPUT,
                             "%s%s%s is there, and no " DATASET_MANIFEST
                             " that tells it: choose an empty folder",
                             place->name ? place->name : "", place->name ? "/" : "", path.data);
    }
    text_release(&path);
    return good;
}

bool dataset_manifest_write(const struct dataset_layout *layout, const struct dataset_place *place,
                            struct error *err)
{
    struct text ours = {0}, theirs = {0};
    struct dataset_layout other;
    int64_t there;
    if (!place->size(place->context, DATASET_MANIFEST, &there, err))
        return false;
    bool written = dataset_layout_write(layout, &ours, err);
    if (written && there < 0) {
        written = none_is_lost(layout, place, err) && write_text(place, DATASET_MANIFEST, &ours, err);
    } else if (written) {
        written = dataset_manifest_read(&other, place, err);
        if (written) {
            written = dataset_layout_write(&other, &theirs, err);
            dataset_layout_release(&other);
        }
        if (written && strcmp(ours.data, theirs.data) != 0)
            written = error_set(
                err, ERROR_INPUT,
                "%s: the folder has another data set (see its %s): remove it, or choose another folder",
                place->name ? place->name : "folder", DATASET_MANIFEST);
    }
    text_release(&ours);
    text_release(&theirs);
    return written && make_folders(layout, place, err);
}

struct dataset_need dataset_need(const struct dataset_layout *layout, const struct dataset_work *work)
{
    struct dataset_file file;
    int64_t bytes = dataset_layout_bytes(layout), files = dataset_files(layout);
    dataset_file_init(&file, layout, 0);
    if (files > 0)
        files = (files - work->rank + work->ranks - 1) / work->ranks * dataset_file_parts(&file);
    return (struct dataset_need){.bytes = bytes > 0 ? bytes / work->ranks : 0, .files = files};
}

bool dataset_generate(const struct dataset_layout *layout, const struct dataset_place *place,
                      const struct dataset_work *work, struct dataset_generated *generated, struct error *err)
{
    struct generation generation = {.layout = layout, .place = place, .generated = generated};
    struct dataset_crew crew = {.work = work, .body = make_file, .context = &generation};
    *generated = (struct dataset_generated){0};
    if (work->rank == 0 && !dataset_manifest_write(layout, place, err))
        return false;
    return dataset_crew_run(&crew, dataset_files(layout), err);
}

bool dataset_manifest_read(struct dataset_layout *layout, const struct dataset_place *place,
                           struct error *err)
{
    struct dataset_source source;
    if (!place->open(place->context, DATASET_MANIFEST, &source, err))
        return false;
    size_t length = (size_t)source.size;
    struct text path = {0};
    text_format(&path, "%s%s%s", place->name ? place->name : "", place->name ? "/" : "", DATASET_MANIFEST);
    const char *name = path.failed ? DATASET_MANIFEST : path.data;
    char *json = source.size <= MAX_MANIFEST ? malloc(length + 1) : NULL;
    bool read =
        source.size <= MAX_MANIFEST
            ? json ? source.read(source.context, 0, json, length, err) : error_memory(err)
            : error_set(err, ERROR_INPUT, "%s: over the limit of %" PRId64 " bytes", name, MAX_MANIFEST);
    place->close(place->context, &source);
    read = read && dataset_layout_read(layout, name, json, length, err);
    free(json);
    text_release(&path);
    return read;
}
