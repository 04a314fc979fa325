/* Where the files of a submission are, and what was asked. */
#include "feed/submit/submit.h"

#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/system/folder.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const submit_editions[] = {"v2", "v3", NULL};

/* "unet3d_h100" of v2.0 is the folder "unet3d-h100". */
static char *folder_of(const struct submit_place *place, struct arena *arena)
{
    char *name = arena_string(arena, place->workload);
    for (char *at = name; at && *at; at++)
        *at = *at == '_' ? '-' : *at;
    return name;
}

bool submit_path(const struct submit_place *place, enum submit_part part, const char *what,
                 struct arena *arena, const char **path, struct error *err)
{
    const char *out = place->out, *org = place->org, *own = folder_of(place, arena);
    const char *slash = *what ? "/" : "";
    if (!own)
        return error_memory(err);
    switch (part) {
    case SUBMIT_ASKED:
        *path = arena_format(arena, "%s/" SUBMIT_HIDDEN "/%s.json", out, place->workload);
        break;
    case SUBMIT_WORK:
        *path = arena_format(arena, "%s/" SUBMIT_HIDDEN "/%s.run", out, place->workload);
        break;
    case SUBMIT_EARLIER:
        *path = arena_format(arena, "%s/" SUBMIT_HIDDEN "/earlier/%s%s%s", out, place->workload, slash, what);
        break;
    case SUBMIT_SYSTEMS:
        *path = arena_format(arena, "%s/closed/%s/systems%s%s", out, org, slash, what);
        break;
    case SUBMIT_CODE:
        *path = place->edition == RULES_V2 ? arena_format(arena, "%s/closed/%s/code", out, org)
                                           : arena_format(arena, "%s/code-images", out);
        break;
    case SUBMIT_LOGS:
        *path = arena_format(arena, "%s/closed/%s/generation_logs%s%s", out, org, slash, what);
        break;
    case SUBMIT_PHASES:
        *path = arena_format(arena, "%s/closed/%s/results/%s/%s%s%s%s", out, org, place->system,
                             place->edition == RULES_V2 ? "" : "training/",
                             place->edition == RULES_V2 ? own : place->model, slash, what);
        break;
    }
    return *path || error_memory(err);
}

/* ---- what was asked ---- */

#define OF_PLACE(member, type) FIELD(struct submit_place, member, type, 1, 1000000)

static const struct field place_fields[] = {
    OF_PLACE(org, FIELD_TEXT),   OF_PLACE(system, FIELD_TEXT),       OF_PLACE(workload, FIELD_TEXT),
    OF_PLACE(model, FIELD_TEXT), OF_PLACE(availability, FIELD_TEXT), OF_PLACE(accelerators, FIELD_INT64),
};

static void write_place(const struct submit_place *place, struct text *text)
{
    struct json json = {.out = text};
    json_open_document(&json, SUBMIT_FORMAT);
    json_string(&json, "edition", submit_editions[place->edition]);
    FIELDS_WRITE(place, place_fields, &json);
    json_string(&json, "method", place->method);
    json_bool(&json, "direct", place->direct);
    json_open(&json, "set", '[');
    for (size_t i = 0; i < place->set_count; i++)
        json_string(&json, NULL, place->set[i]);
    json_close(&json);
    json_close(&json);
}

/* Runs that this did not begin are somebody's. */
static bool is_free(const struct submit_place *place, struct arena *arena, struct error *err)
{
    const char *folder, **names;
    int count;
    return submit_path(place, SUBMIT_PHASES, "run", arena, &folder, err) &&
           submit_list(folder, arena, &names, &count, err) &&
           (count == 0 ||
            error_set(err, ERROR_INPUT,
                      "%s has '%.80s', which was not made by this command: choose another folder", folder,
                      names[0]));
}

bool submit_begin(const struct submit_place *place, struct arena *arena, struct error *err)
{
    struct text text = {0};
    const char *path = NULL;
    char *old = NULL;
    size_t length = 0;
    enum file_kind kind;
    write_place(place, &text);
    bool done = (!text.failed || error_memory(err)) &&
                submit_path(place, SUBMIT_ASKED, "", arena, &path, err) && file_make_folders_of(path, err) &&
                file_look(path, &kind, err);
    if (done && kind == FILE_NONE)
        done = is_free(place, arena, err) && file_write(path, text.data, text.length, err);
    else if (done)
        done = file_read(path, DOC_MAX_BYTES, &old, &length, err) &&
               ((length == text.length && memcmp(old, text.data, length) == 0) ||
                error_set(err, ERROR_USAGE,
                          "%s: the submission there was asked with other options: give the same, or another "
                          "folder",
                          path));
    free(old);
    text_release(&text);
    return done;
}

bool submit_place_read(struct submit_place *place, const char *out, const char *file, struct arena *arena,
                       struct error *err)
{
    struct doc doc;
    const char *path = arena_format(arena, "%s/" SUBMIT_HIDDEN "/%s", out, file), *edition = NULL;
    if (!path || !doc_load(&doc, path, err))
        return path ? false : error_memory(err);
    *place = (struct submit_place){.out = out};
    const struct doc_node *node = doc_need(&doc, doc.root, "edition", err);
    bool done =
        node && doc_is_format(&doc, doc.root, SUBMIT_FORMAT, err) && doc_string(&doc, node, &edition, err) &&
        fields_need(place, place_fields, sizeof place_fields / sizeof *place_fields, &doc, doc.root, err);
    while (done && submit_editions[place->edition] && strcmp(edition, submit_editions[place->edition]) != 0)
        place->edition++;
    if (done && !submit_editions[place->edition])
        done = doc_error(&doc, node, err, "expected v2 or v3");
    if (done) {
        const char **texts[] = {&place->org, &place->system, &place->workload, &place->model,
                                &place->availability};
        for (size_t i = 0; i < sizeof texts / sizeof *texts && done; i++) {
            *texts[i] = arena_string(arena, *texts[i]);
            done = *texts[i] || error_memory(err);
        }
    }
    doc_release(&doc);
    return done;
}

/* ---- folders, times, documents ---- */

bool submit_list(const char *folder, struct arena *arena, const char ***names, int *count, struct error *err)
{
    enum file_kind kind;
    *names = NULL;
    *count = 0;
    return file_look(folder, &kind, err) &&
           (kind == FILE_NONE || folder_names(folder, INT_MAX - 1, arena, names, count, err));
}

double submit_time(const char *text)
{
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    double fraction = 0;
    return rest && (!*rest || text_real(rest, &fraction)) ? (double)timegm(&parts) + fraction : (double)NAN;
}

void submit_run_name(double start, char name[16])
{
    time_t seconds = isfinite(start) && fabs(start) < 1e11 ? (time_t)start : 0;
    struct tm parts = {0};
    gmtime_r(&seconds, &parts);
    strftime(name, 16, "%Y%m%d_%H%M%S", &parts);
}

const struct doc_node *submit_find(const struct doc *doc, const char *path)
{
    const struct doc_node *node = doc->root;
    while (node && *path) {
        char key[64];
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        node = node->type == DOC_MAP ? doc_find(node, key) : NULL;
        path += length + (path[length] == '.');
    }
    return node;
}

double submit_number(const struct doc *doc, const char *path)
{
    const struct doc_node *node = submit_find(doc, path);
    node = node && node->type == DOC_LIST ? node->first_child : node;
    return node && node->type == DOC_NUMBER ? node->number : (double)NAN;
}

const char *submit_text(const struct doc *doc, const char *path)
{
    const struct doc_node *node = submit_find(doc, path);
    return node && node->text ? node->text : "";
}
