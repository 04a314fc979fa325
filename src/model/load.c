/* Which format a profile has, and the reader for it. */
#include "core/doc.h"
#include "core/file.h"
#include "model/graph.h"
#include "model/oobleck.h"
#include "model/read.h"

#include <stdlib.h>
#include <string.h>

/* A file of any format: text that looks like a graph, else a document. The samples of a graph may be in its
 * name; where they are not, they are those asked for. */
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
