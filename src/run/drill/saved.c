#include "run/drill/saved.h"

#include "core/doc.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/random.h"
#include "storage/storage.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT        "rehearse-drill-checkpoint/1"
#define FOLDER        "iteration-"
#define MANIFEST      "checkpoint.json"
#define MORE          ((size_t)1 << 20) /* bytes of a file that are read beyond what it should have */
#define MAX_ITERATION INT64_C(1000000000000)
#define MAX_WORDS     INT64_C(1000000000)

void saved_release(struct saved *saved)
{
    free(saved->parts);
    *saved = (struct saved){0};
}

uint64_t saved_checksum(int part, const uint64_t *words, int64_t count)
{
    uint64_t sum = random_mix((uint64_t)part + RANDOM_GOLDEN);
    for (int64_t w = 0; w < count; w++)
        sum = random_mix(sum ^ words[w]) + RANDOM_GOLDEN;
    return sum;
}

static bool make_path(char path[PATH_MAX], const char *folder, int64_t iteration, const char *name,
                      struct error *err)
{
    int length = snprintf(path, PATH_MAX, "%s/" FOLDER "%" PRId64 "/%s", folder, iteration, name);
    return (length > 0 && length < PATH_MAX) ||
           error_set(err, ERROR_INPUT, "--checkpoints: a name of more than %d bytes", PATH_MAX);
}

static void name_part(char name[40], int part)
{
    snprintf(name, 40, "part-%d.bin", part);
}

/* ---- what is there ---- */

/* Returns the iteration that a folder's name says; -1: none. */
static int64_t iteration_of(const char *name)
{
    char *end;
    if (!text_starts_with(name, FOLDER) || name[strlen(FOLDER)] < '0' || name[strlen(FOLDER)] > '9')
        return -1;
    long long iteration = strtoll(name + strlen(FOLDER), &end, 10);
    return *end == 0 && iteration >= 0 && iteration <= MAX_ITERATION ? iteration : -1;
}

static bool is_whole(const char *folder, int64_t iteration)
{
    char path[PATH_MAX];
    struct error ignored;
    return make_path(path, folder, iteration, MANIFEST, &ignored) && access(path, F_OK) == 0;
}

int64_t saved_last(const char *folder, int64_t most)
{
    DIR *stream = opendir(folder);
    int64_t last = -1;
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        int64_t iteration = iteration_of(entry->d_name);
        if (iteration > last && iteration <= most && is_whole(folder, iteration))
            last = iteration;
    }
    if (stream)
        closedir(stream);
    return last;
}

/* Removes the files of a checkpoint, its manifest first: from then on it is none. */
static void remove_one(const char *folder, int64_t iteration)
{
    char path[PATH_MAX];
    struct error ignored;
    if (!make_path(path, folder, iteration, MANIFEST, &ignored))
        return;
    (void)unlink(path);
    *strrchr(path, '/') = 0;
    DIR *stream = opendir(path);
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        if (text_starts_with(entry->d_name, "part-") || text_starts_with(entry->d_name, MANIFEST))
            (void)unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    (void)rmdir(path);
}

/* Removes those before an iteration, but for one. */
static void remove_before(const char *folder, int64_t iteration, int64_t kept)
{
    DIR *stream = opendir(folder);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        int64_t other = iteration_of(entry->d_name);
        if (other >= 0 && other < iteration && other != kept)
            remove_one(folder, other);
    }
    if (stream)
        closedir(stream);
}

void saved_remove(const char *folder)
{
    remove_before(folder, MAX_ITERATION + 1, -1);
    (void)rmdir(folder);
}

/* ---- a file ---- */

/* The file has its name when it is on the disk. */
static bool write_file(const char *path, const void *bytes, size_t length, bool is_last, struct error *err)
{
    const struct storage_options place = {.method = STORAGE_POSIX};
    const struct storage_write_options options = {.sync = true, .sync_folder = is_last};
    struct storage *storage = storage_new(&place, err);
    bool ok = storage && storage_put(storage, path, bytes, length, &options, err);
    storage_free(storage);
    return ok;
}

/* ---- the manifest ---- */

static const struct field saved_fields[] = {
    FIELD(struct saved, iteration, FIELD_INT64, 0, MAX_ITERATION),
    FIELD(struct saved, batch, FIELD_INT64, 1, INT32_MAX),
};

static const struct field words_field = FIELD(struct saved_part, words, FIELD_INT64, 1, MAX_WORDS);

bool saved_write(const struct saved *saved, const char *folder, struct error *err)
{
    char path[PATH_MAX], sum[20];
    struct text text = {0};
    struct json json = {.out = &text};
    if (!make_path(path, folder, saved->iteration, MANIFEST, err))
        return false;
    json_open_document(&json, FORMAT);
    FIELDS_WRITE(saved, saved_fields, &json);
    json_integer(&json, "next_sample", saved->iteration * saved->batch);
    json_open(&json, "parts", '[');
    for (int part = 0; part < saved->part_count; part++) {
        snprintf(sum, sizeof sum, "%016" PRIx64, saved->parts[part].checksum);
        json_open_flat(&json, NULL, '{');
        fields_write(&saved->parts[part], &words_field, 1, &json);
        json_string(&json, "checksum", sum);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
    bool ok = (!text.failed || error_memory(err)) && write_file(path, text.data, text.length, true, err);
    text_release(&text);
    if (ok)
        remove_before(folder, saved->iteration, saved_last(folder, saved->iteration - 1));
    return ok;
}

static bool read_checksum(const struct doc *doc, const struct doc_node *node, uint64_t *sum,
                          struct error *err)
{
    const char *text;
    char *end;
    if (!node || !doc_string(doc, node, &text, err))
        return false;
    *sum = strtoull(text, &end, 16);
    return (strspn(text, "0123456789abcdef") == 16 && text[16] == 0) ||
           doc_error(doc, node, err, "expected 16 hexadecimal digits, found '%s'", text);
}

static bool read_parts(struct saved *saved, const struct doc *doc, struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "parts", err), *sum;
    if (!list || !doc_is_list(doc, list, err))
        return false;
    if (list->count > SAVED_MAX_PARTS)
        return doc_error(doc, list, err, "more than %d parts", SAVED_MAX_PARTS);
    saved->parts = calloc((size_t)list->count + 1, sizeof *saved->parts);
    if (!saved->parts)
        return error_memory(err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        struct saved_part *part = &saved->parts[saved->part_count++];
        if (!fields_need(part, &words_field, 1, doc, node, err) ||
            !(sum = doc_need(doc, node, "checksum", err)) || !read_checksum(doc, sum, &part->checksum, err))
            return false;
    }
    return true;
}

static bool read_doc(struct saved *saved, const struct doc *doc, struct error *err)
{
    const struct doc_node *node;
    int64_t next;
    if (!doc_is_map(doc, doc->root, err) || !doc_need(doc, doc->root, "format", err) ||
        !doc_is_format(doc, doc->root, FORMAT, err) ||
        !fields_need(saved, saved_fields, 2, doc, doc->root, err) ||
        !(node = doc_need(doc, doc->root, "next_sample", err)) ||
        !doc_integer(doc, node, 0, INT64_MAX / 4096, &next, err))
        return false;
    if (next % saved->batch != 0 || next / saved->batch != saved->iteration)
        return doc_error(doc, node, err,
                         "sample %" PRId64 " is not the next one after %" PRId64 " iterations of %" PRId64,
                         next, saved->iteration, saved->batch);
    return read_parts(saved, doc, err);
}

bool saved_parse(struct saved *saved, const char *path, const char *text, size_t length, struct error *err)
{
    struct doc doc;
    *saved = (struct saved){0};
    if (!doc_parse(&doc, DOC_JSON, path, text, length, err))
        return false;
    bool ok = read_doc(saved, &doc, err);
    doc_release(&doc);
    if (!ok)
        saved_release(saved);
    return ok;
}

bool saved_read(struct saved *saved, const char *folder, int64_t iteration, struct error *err)
{
    char path[PATH_MAX], *text;
    size_t length;
    *saved = (struct saved){0};
    if (!make_path(path, folder, iteration, MANIFEST, err) ||
        !file_read(path, DOC_MAX_BYTES, &text, &length, err))
        return false;
    bool ok = saved_parse(saved, path, text, length, err);
    free(text);
    if (!ok || saved->iteration == iteration)
        return ok;
    error_set(err, ERROR_INPUT, "%s: belongs to iteration %" PRId64, path, saved->iteration);
    saved_release(saved);
    return false;
}

/* ---- parts ---- */

bool saved_write_part(const char *folder, int64_t iteration, int part, const uint64_t *words, int64_t count,
                      struct error *err)
{
    char path[PATH_MAX], name[40];
    name_part(name, part);
    return make_path(path, folder, iteration, name, err) &&
           write_file(path, words, (size_t)count * sizeof *words, false, err);
}

bool saved_read_part(const struct saved *saved, const char *folder, int part, uint64_t *words,
                     struct error *err)
{
    char path[PATH_MAX], name[40], *bytes;
    const struct saved_part *wanted = &saved->parts[part];
    size_t size = (size_t)wanted->words * sizeof *words, length;
    name_part(name, part);
    if (!make_path(path, folder, saved->iteration, name, err) ||
        !file_read(path, size + MORE, &bytes, &length, err))
        return false;
    bool ok =
        length == size || error_set(err, ERROR_INPUT, "%s: has %zu bytes, expected %zu", path, length, size);
    if (ok)
        memcpy(words, bytes, size);
    free(bytes);
    return ok && (saved_checksum(part, words, wanted->words) == wanted->checksum ||
                  error_set(err, ERROR_INPUT, "%s: is corrupted: wrong checksum", path));
}
