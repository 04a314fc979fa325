/* Recognises the format of a profile, loads it, and looks up its parts. */
#include "core/doc.h"
#include "core/file.h"
#include "model/graph.h"
#include "model/oobleck.h"
#include "model/read.h"

#include <stdlib.h>
#include <string.h>

/* Loads a file of any format: text that looks like a graph, else a document. If the name of a graph does not tell its
 * samples, they are the requested ones. */
static bool load_file(struct profile *profile, const char *path, int microbatch_size, struct error *err)
{
    struct graph graph;
    struct doc doc;
    char *data;
    size_t length;
    bool done = false;
    if (!file_read(path, DOC_MAX_BYTES, &data, &length, err))
        return false;
    if (graph_recognise(path, data, length)) {
        if (graph_parse(&graph, path, data, length, err)) {
            if (graph.profile_batch == 0)
                graph.profile_batch = microbatch_size;
            done = graph_profile(&graph, profile, err);
            graph_release(&graph);
        }
    } else if (doc_parse(&doc, doc_syntax_of(path), path, data, length, err)) {
        done = profile_from_doc(profile, &doc, err);
        doc_release(&doc);
    }
    free(data);
    return done;
}

bool profile_load(struct profile *profile, const char *path, int microbatch_size, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    enum file_kind kind = FILE_NONE;
    if (strcmp(path, "-") != 0 && !file_look(path, &kind, err))
        return false;
    if (kind == FILE_FOLDER)
        return oobleck_load(profile, path, microbatch_size, err);
    bool done = load_file(profile, path, microbatch_size, err);
    if (done && microbatch_size > 0 && profile->microbatch_size > 0 &&
        microbatch_size != profile->microbatch_size) {
        done = error_set(err, ERROR_INPUT, "%s: microbatch_size: expected %d as asked for, found %d", path,
                         microbatch_size, profile->microbatch_size);
        profile_release(profile);
    }
    return done;
}

bool profile_parse(struct profile *profile, const char *path, const char *data, size_t length,
                   struct error *err)
{
    struct doc doc;
    memset(profile, 0, sizeof *profile);
    if (!doc_parse(&doc, DOC_JSON, path, data, length, err))
        return false;
    bool done = profile_from_doc(profile, &doc, err);
    doc_release(&doc);
    return done;
}

void profile_release(struct profile *profile)
{
    arena_release(&profile->arena);
    memset(profile, 0, sizeof *profile);
}

const struct profile_device *profile_find_device(const struct profile *profile, const char *name)
{
    for (int d = 0; d < profile->device_count; d++)
        if (profile->devices[d].name && strcmp(profile->devices[d].name, name) == 0)
            return &profile->devices[d];
    return NULL;
}

bool profile_allreduce_find(const struct profile_allreduce *allreduce, int devices, double *seconds)
{
    for (int i = 0; i < allreduce->count; i++)
        if (allreduce->devices[i] == devices) {
            *seconds = allreduce->seconds[i];
            return true;
        }
    return false;
}
