#include "feed/checkpoint/manifest.h"

#include "core/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT    "rehearse-checkpoint/1"
#define MAX_FILES ((size_t)1 << 22)

#define WHOLE(member, min) FIELD(struct checkpoint_manifest, member, FIELD_INT64, min, WORKLOAD_MAX_INTEGER)
#define RANKS(member, min)                                                                                   \
    FIELD_AT(struct checkpoint_manifest, #member, split.member, FIELD_INT64, min, WORKLOAD_MAX_INTEGER)

static const struct field moment_fields[] = {
    WHOLE(epoch, 0),
    WHOLE(step, 0),
    WHOLE(seed, 0),
    FIELD(struct checkpoint_manifest, compressibility, FIELD_DOUBLE, 0, 1),
};

static const struct field rank_fields[] = {
    WHOLE(ranks, 1), RANKS(tensor, 1),     RANKS(pipeline, 1),
    RANKS(data, 1),  RANKS(zero_stage, 0), WHOLE(bytes, 0),
};

static const char *const kind_names[] = {"model", "optimizer"};

static const struct field name_fields[] = {
    FIELD_OUT(struct checkpoint_file, "name", shard.name, FIELD_CHARS),
    FIELD_WORDS(struct checkpoint_file, "kind", shard.kind, kind_names),
};

static const struct field size_fields[] = {
    FIELD(struct checkpoint_file, rank, FIELD_INT64, 0, WORKLOAD_MAX_INTEGER),
    FIELD_AT(struct checkpoint_file, "bytes", shard.bytes, FIELD_INT64, 0, WORKLOAD_MAX_INTEGER),
};

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

void checkpoint_manifest_release(struct checkpoint_manifest *manifest)
{
    free(manifest->files);
    *manifest = (struct checkpoint_manifest){0};
}

bool checkpoint_manifest_make(struct checkpoint_manifest *manifest, const struct checkpoint_options *options,
                              const struct checkpoint_moment *moment, struct error *err)
{
    const struct checkpoint_shards *shards = &options->shards;
    *manifest = (struct checkpoint_manifest){
        .epoch = moment->epoch,
        .step = moment->step,
        .seed = options->seed,
        .compressibility = options->compressibility,
        .format = options->format,
        .ranks = shards->ranks,
        .split = shards->split,
    };
    size_t count = 0;
    for (int64_t rank = 0; rank < shards->ranks; rank++)
        count += (size_t)checkpoint_shards_count(shards, rank);
    if (count > MAX_FILES)
        return error_set(err, ERROR_INPUT, "checkpoint: %zu files; at most %zu", count, MAX_FILES);
    manifest->files = calloc(count + 1, sizeof *manifest->files);
    if (!manifest->files)
        return error_memory(err);
    for (int64_t rank = 0; rank < shards->ranks; rank++) {
        for (int index = 0, of = checkpoint_shards_count(shards, rank); index < of; index++) {
            struct checkpoint_file *file = &manifest->files[manifest->count++];
            checkpoint_shards_get(shards, rank, index, &file->shard);
            manifest->bytes += file->shard.bytes;
            file->rank = rank;
            file->index = index;
        }
    }
    return true;
}

char *checkpoint_name(const char *folder, const char *name, struct error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_memory_null(err);
    return path;
}

/* --- out ------------------------------------------------------------------------------------------------------ */

static void write_text(const struct checkpoint_manifest *manifest, struct text *text)
{
    struct json json = {.out = text};
    json_open_document(&json, FORMAT);
    FIELDS_WRITE(manifest, moment_fields, &json);
    json_string(&json, "layout", workload_checkpoint_formats[manifest->format]);
    FIELDS_WRITE(manifest, rank_fields, &json);
    json_open(&json, "shards", '[');
    for (size_t i = 0; i < manifest->count; i++) {
        json_open_flat(&json, NULL, '{');
        FIELDS_WRITE(&manifest->files[i], name_fields, &json);
        FIELDS_WRITE(&manifest->files[i], size_fields, &json);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

bool checkpoint_manifest_write(const struct checkpoint_manifest *manifest, struct storage *storage,
                               const char *folder, const char *name, bool sync, struct error *err)
{
    struct text text = {0};
    write_text(manifest, &text);
    const struct storage_write_options options = {.sync = sync, .sync_folder = sync};
    char *path = text.failed ? (error_memory(err), NULL) : checkpoint_name(folder, name, err);
    bool ok = path && storage_put(storage, path, text.data, text.length, &options, err);
    text_release(&text);
    free(path);
    return ok;
}

/* --- in ------------------------------------------------------------------------------------------------------- */

static bool read_kind(const struct doc *doc, const struct doc_node *map, enum checkpoint_kind *kind,
                      struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, "kind", err);
    const char *text;
    if (!node || !doc_string(doc, node, &text, err))
        return false;
    *kind = strcmp(text, kind_names[CHECKPOINT_MODEL]) == 0 ? CHECKPOINT_MODEL : CHECKPOINT_OPTIMIZER;
    return strcmp(text, kind_names[*kind]) == 0 ||
           doc_error(doc, node, err, "expected '%s' or '%s', found '%s'", kind_names[0], kind_names[1], text);
}

static bool read_name(const struct doc *doc, const struct doc_node *map, char *name, size_t size,
                      struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, "name", err);
    const char *text;
    if (!node || !doc_string(doc, node, &text, err))
        return false;
    if (strchr(text, '/') || *text == '.' || text_starts_with(text, "checkpoint."))
        return doc_error(doc, node, err, "'%s' is not a shard name", text);
    size_t length = strlen(text);
    if (length >= size)
        return doc_error(doc, node, err, "a name of %zu bytes; at most %zu", length, size - 1);
    memcpy(name, text, length + 1);
    return true;
}

static bool read_file(const struct doc *doc, const struct doc_node *node,
                      const struct checkpoint_manifest *manifest, struct checkpoint_file *file,
                      struct error *err)
{
    if (!read_name(doc, node, file->shard.name, sizeof file->shard.name, err) ||
        !read_kind(doc, node, &file->shard.kind, err) ||
        !fields_need(file, size_fields, COUNT(size_fields), doc, node, err))
        return false;
    if (file->rank >= manifest->ranks)
        return doc_error(doc, node, err, "rank %lld, but there are %lld ranks", (long long)file->rank,
                         (long long)manifest->ranks);
    return true;
}

static bool read_files(const struct doc *doc, struct checkpoint_manifest *manifest, struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "shards", err);
    int64_t sum = 0;
    if (!list || !doc_is_list(doc, list, err))
        return false;
    manifest->files = calloc((size_t)list->count + 1, sizeof *manifest->files);
    if (!manifest->files)
        return error_memory(err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        struct checkpoint_file *file = &manifest->files[manifest->count];
        if (!read_file(doc, node, manifest, file, err))
            return false;
        if (manifest->count > 0 && file[-1].rank > file->rank)
            return doc_error(doc, node, err, "shards are not in the order of their ranks");
        if (manifest->count > 0 && file[-1].rank == file->rank)
            file->index = file[-1].index + 1;
        if (file->shard.bytes > manifest->bytes - sum)
            return doc_error(doc, node, err, "the shards have more than the %lld bytes of the checkpoint",
                             (long long)manifest->bytes);
        sum += file->shard.bytes;
        manifest->count++;
    }
    return sum == manifest->bytes ||
           doc_error(doc, list, err, "the shards have %lld bytes in all, expected %lld", (long long)sum,
                     (long long)manifest->bytes);
}

static bool read_doc(const struct doc *doc, struct checkpoint_manifest *manifest, struct error *err)
{
    const struct doc_node *root = doc->root;
    const char *layout;
    if (!doc_is_map(doc, root, err) || !doc_need(doc, root, "format", err) ||
        !doc_is_format(doc, root, FORMAT, err))
        return false;
    if (!fields_need(manifest, moment_fields, COUNT(moment_fields), doc, root, err))
        return false;
    const struct doc_node *node = doc_need(doc, root, "layout", err);
    if (!node || !doc_string(doc, node, &layout, err))
        return false;
    int format = 0;
    while (workload_checkpoint_formats[format] && strcmp(layout, workload_checkpoint_formats[format]) != 0)
        format++;
    if (!workload_checkpoint_formats[format])
        return doc_error(doc, node, err, "expected 'raw', 'torch' or 'safetensors', found '%s'", layout);
    manifest->format = (enum workload_checkpoint_format)format;
    return fields_need(manifest, rank_fields, COUNT(rank_fields), doc, root, err) &&
           read_files(doc, manifest, err);
}

bool checkpoint_manifest_parse(struct checkpoint_manifest *manifest, const char *path, const char *text,
                               size_t length, struct error *err)
{
    struct doc doc;
    *manifest = (struct checkpoint_manifest){0};
    if (!doc_parse(&doc, DOC_JSON, path, text, length, err))
        return false;
    bool ok = read_doc(&doc, manifest, err);
    doc_release(&doc);
    if (!ok)
        checkpoint_manifest_release(manifest);
    return ok;
}

bool checkpoint_manifest_read(struct checkpoint_manifest *manifest, struct storage *storage,
                              const char *folder, const char *name, struct error *err)
{
    *manifest = (struct checkpoint_manifest){0};
    char *data, *file = checkpoint_name(folder, name, err);
    char *path = file ? storage_path(storage, file, err) : NULL;
    size_t length = 0;
    bool ok = path && storage_get(storage, file, (int64_t)DOC_MAX_BYTES, &data, &length, err);
    if (ok) {
        ok = checkpoint_manifest_parse(manifest, path, data, length, err);
        free(data);
    }
    free(path);
    free(file);
    return ok;
}

/* --- content -------------------------------------------------------------------------------------------------- */

struct dataset_bytes checkpoint_content(const struct checkpoint_manifest *manifest, size_t file)
{
    struct dataset_bytes bytes;
    uint64_t seed =
        dataset_draw_bits((uint64_t)manifest->seed, (uint64_t)manifest->epoch, (uint64_t)manifest->step);
    dataset_bytes_init(&bytes, seed, file, manifest->compressibility);
    return bytes;
}
