/* rh_play: `rehearse run`. */
#include "api/run/run.h"
#include "api/sim/simulate.h"
#include "core/child.h"
#include "core/clock.h"
#include "core/doc/prometheus.h"
#include "core/fields.h"
#include "core/file_output.h"
#include "figure/style.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Plans that a caller has in memory: ranks read files, so they become some for the time of the call. */

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

static bool play_given_open(struct play_given *given, const struct rh_play_request *request,
                            struct error *err)
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

static void play_given_close(struct play_given *given)
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

/* ---- the answer ---- */

static void drop(void *result)
{
    run_result_release(result);
}

/* The report of rank 0; those of others are empty. */
static bool deliver(const struct rh_play_request *given, const struct run_result *result,
                    struct api_report *report, struct error *err)
{
    struct json *json = &report->json;
    run_write_json(result, json);
    run_print(result, &report->text);
    api_judge(&report->base, true, NULL);
    return ((!report->text.failed && !report->json_text.failed) || error_memory(err)) &&
           play_metrics(given, &report->json_text, err);
}

/* ---- ranks ---- */

void play_leave_behind(const struct rh_play_request *given, int rank, const struct error *err)
{
    if (!given->own_process || rank == 0)
        return;
    clock_sleep(CLOCK_SECOND / 2);
    wire_leave(NULL, (int)err->kind);
}

static bool play_alone(const struct rh_play_request *given, struct run_result *result, struct error *err)
{
    struct wire *wire = wire_alone(err);
    bool ok = wire && play_rank(wire, 0, given, result, err);
    wire_close(wire);
    return ok;
}

/* After a failure MPI would wait for what will never come: it stays as it is. */
static bool play_by_mpi(const struct rh_play_request *given, struct run_result *result, bool *says,
                        struct error *err)
{
    if (given->ranks > 1)
        return error_set(err, ERROR_USAGE, "--ranks: the launcher has started %d ranks already",
                         comm_launched());
    struct comm *comm = comm_open(given->timeout, err);
    struct wire *wire = comm ? wire_over_mpi(comm, given->timeout, false, err) : NULL;
    if (!wire)
        return false;
    int rank = wire->rank;
    *says = rank == 0;
    if (!play_rank(wire, comm_local_rank(comm), given, result, err)) {
        play_leave_behind(given, rank, err);
        return false;
    }
    wire_close(wire);
    comm_close(comm);
    return true;
}

/* What rank 0 has said. */
static void take_result(void *context, int rank, const void *bytes, size_t length)
{
    if (rank == 0)
        text_add_bytes(context, bytes, length);
}

static bool is_given(const struct api_call *call, const char *name)
{
    for (int i = 0; api_play.options[i].name; i++)
        if (strcmp(api_play.options[i].name, name) == 0)
            return call->given[i];
    return false;
}

static bool play_launched(const struct rh_play_request *given, const struct api_call *call,
                          struct run_result *result, struct error *err)
{
    struct play_launch open;
    struct text said = {0};
    const struct launch_watch watch = {.context = &said, .result = take_result, .limit = INFINITY};
    const struct launch_ranks all = {.count = (int)given->ranks};
    bool ok = play_launch_open(&open, given, call, err) && launch_run(&open.launch, &all, &watch, err);
    play_launch_close(&open);
    if (ok && said.failed)
        ok = error_memory(err);
    ok = ok && run_result_unpack(result, said.data, said.length, err);
    text_release(&said);
    return ok;
}

/* A rank that the launcher has started, and which it tells what came of it. */
static _Noreturn void be_launched(const struct rh_play_request *given, struct error *err)
{
    struct launch_seat seat;
    struct run_result result;
    struct text bytes = {0};
    if (play_asks_drills(given)) {
        if (play_set_priority(given, err))
            play_be_launched_drill(given, err);
        wire_leave(NULL, (int)err->kind);
    }
    struct wire *wire = launch_join(&seat, given->timeout, given->timeout, err);
    bool ok = wire && play_rank(wire, seat.rank, given, &result, err);
    if (ok && seat.rank == 0) {
        run_result_pack(&result, &bytes);
        ok = bytes.failed ? error_memory(err)
                          : launch_tell_result(bytes.data, bytes.length) ||
                                error_set(err, ERROR_FAILED, "rank 0 cannot reach the launcher");
        text_release(&bytes);
    }
    if (ok)
        run_result_release(&result);
    else
        launch_tell_failure(err);
    wire_leave(wire, ok ? 0 : (int)err->kind);
}

/* In another program the variable that says so is somebody's mistake. */
bool play_is_rank(void)
{
    return child_start_is_noted() && launch_is_rank();
}

/* ---- the call ---- */

/* Options that would count for nothing, in a drill or without one. */
static bool check_drill(const struct rh_play_request *given, const struct api_call *call, struct error *err)
{
    static const char *const of_plans[] = {"ranks",     "devices-per-rank", "schedule",   "chunks",
                                           "link",      "compute",          "model",      "sequence",
                                           "type",      "software",         "pin",        "jitter",
                                           "data",      "storage",          "tasks",      "trace",
                                           "chakra",    "figure",           "prometheus", "style",
                                           "simulated", "copy-rate",        "save-rate",  "save-waits"};
    static const char *const of_fates[] = {"kill", "cut", "return", "failures", "survive"};
    bool drill = play_asks_drills(given);
    for (size_t i = 0; drill && i < sizeof of_plans / sizeof *of_plans; i++)
        if (is_given(call, of_plans[i]))
            return error_set(err, ERROR_USAGE, "--%s is for plans, not for drills", of_plans[i]);
    for (size_t i = 0; given->random > 0 && i < sizeof of_fates / sizeof *of_fates; i++)
        if (is_given(call, of_fates[i]))
            return error_set(err, ERROR_USAGE, "--%s and --random exclude each other", of_fates[i]);
    return true;
}

static bool check(const struct rh_play_request *given, const struct api_call *call, struct error *err)
{
    if (given->hosts || given->hostfile || given->agent || given->program || given->network)
        return error_set(
            err, ERROR_USAGE,
            "hosts: ranks on several hosts are started by mpirun or srun, which call rh_play in each");
    if (given->connect != 0)
        return error_set(err, ERROR_USAGE, "connect: ranks are given their connections, and wait for none");
    if (!check_drill(given, call, err))
        return false;
    if (!play_asks_drills(given) && given->plans.count > 1)
        return error_set(err, ERROR_USAGE, "run: expected one plan; several are for drills only");
    return true;
}

static bool play_plan(const struct rh_play_request *given, const struct api_call *call,
                      struct api_report *report, struct error *err)
{
    bool says = true;
    if (play_asks_drills(given))
        return play_drills(given, call, report, err);
    struct run_result *result = api_report_keep(report, sizeof *result, drop, err);
    bool alone = comm_launched() <= 1, begun = result && (!alone || play_metrics(given, NULL, err));
    bool done = begun &&
                (!alone             ? play_by_mpi(given, result, &says, err)
                 : given->ranks > 1 ? play_launched(given, call, result, err)
                                    : play_alone(given, result, err)) &&
                (!says || deliver(given, result, report, err));
    if (alone && begun && !done)
        prometheus_remove(given->prometheus);
    return done;
}

static bool play(const void *request, const struct api_call *call, struct api_report *report,
                 struct error *err)
{
    struct play_given given;
    if (play_is_rank())
        be_launched(request, err);
    bool done = play_given_open(&given, request, err) && check(&given.request, call, err) &&
                play_plan(&given.request, call, report, err);
    play_given_close(&given);
    return done;
}

static const char *const computes[] = {"deadline", "kernels", NULL};
static const char *const types[] = {"plan", "fp32", "bf16", NULL};

API_WHOLE_COMMAND(play, "run", rh_play_request, .answer = play);
