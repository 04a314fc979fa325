/* Plans that a caller has in memory: ranks read files, so they become some for the time of the call. */
#include "api/run/run.h"
#include "core/file_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_handle(struct play_given *given, const rh_handle *handle, char **path, struct error *err)
{
    struct rh_text written;
    struct rh_error error;
    if (handle->kind != &api_plan_kind && strcmp(rh_kind(handle), "report") != 0)
        return api_is(handle, &api_plan_kind, "from", err);
    if (asprintf(path, "%s/%zu.json", given->folder, given->files) < 0) {
        *path = NULL;
        return error_memory(err);
    }
    if (!rh_write(handle, "json", &written, &error))
        return error_set(err, (enum error_kind)error.code, "%s", error.text);
    bool done = file_write(*path, written.data, written.length, err);
    rh_text_free(&written);
    given->files += done;
    return done;
}

bool play_given_open(struct play_given *given, const struct rh_play_request *request, struct error *err)
{
    const char *temporary = getenv("TMPDIR");
    size_t named = request->plans.count, count = named + request->from.count;
    *given = (struct play_given){.request = *request, .named = named};
    given->paths = calloc(count + 1, sizeof *given->paths);
    if (!given->paths)
        return error_memory(err);
    for (size_t i = 0; i < named; i++)
        given->paths[i] =
            (char *)request->plans.items[i]; // NOLINT(cppcoreguidelines-pro-type-cast-away-const)
    given->request.plans = (struct rh_list){(const char *const *)given->paths, count};
    if (count == 0)
        return error_set(err, ERROR_USAGE, "'plans' is missing");
    if (count == named)
        return true;
    snprintf(given->folder, sizeof given->folder, "%.3000s/rehearse-plans-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(given->folder)) {
        error_set(err, ERROR_FAILED, "cannot make the folder %s: %s", given->folder, strerror(errno));
        given->folder[0] = 0;
        return false;
    }
    for (size_t i = 0; i < request->from.count; i++)
        if (!write_handle(given, request->from.items[i], &given->paths[named + i], err))
            return false;
    return true;
}

void play_given_close(struct play_given *given)
{
    size_t count = given->paths ? given->request.plans.count : 0;
    for (size_t i = given->named; i < count && given->paths[i]; i++) {
        unlink(given->paths[i]);
        free(given->paths[i]);
    }
    if (given->folder[0])
        rmdir(given->folder);
    free(given->paths);
}
