/* The facts of all hosts, the checks of a run, and the verdict on the storage. */
#include "core/file.h"
#include "core/text.h"
#include "core/unit.h"
#include "feed/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_PROC ((size_t)16 << 20) /* bytes of /proc/cpuinfo of thousands of processors */

/* Checks that a verdict quotes. */
#define CHECK_HOST     "the host kept up"
#define CHECK_READ     "read from the storage"
#define CHECK_RESTORED "restored from the storage"
#define CHECK_AU       "AU"

/* ---- the facts of all ranks ---- */

/* The message of one rank to rank 0. */
struct rank_facts {
    struct session_host host; /* with the numbers of this rank */
    bool first_of_host;
    int64_t device_read, device_written; /* -1: unknown */
};

static struct rank_facts own_facts(const struct session *session)
{
    const struct run_result *run = &session->run;
    const struct comm *comm = session->options.run.comm;
    struct rank_facts facts = {
        .host =
            {
                .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
                .accelerators = session->options.run.accelerators,
                .processes = 1,
                .memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                .cpu_seconds = run->cpu_seconds,
                .read_busy = run->counts.busy,
                .read_delayed = run->counts.delayed,
                .decoded = run->counts.decode_cpu + run->counts.verify_cpu,
                .throttled = run->throttled,
                .read_cpu = run->counts.read_cpu + run->counts.decode_cpu + run->counts.verify_cpu,
                .readers = run->counts.threads,
                .seen = run->seen,
            },
        .first_of_host = comm_local_rank(comm) == 0,
        .device_read = run->device_counted ? run->device_read : -1,
        .device_written = run->device_counted ? run->device_written : -1,
    };
    struct utsname system;
    snprintf(facts.host.name, sizeof facts.host.name, "%s", comm_host(comm, comm_rank(comm)));
    if (uname(&system) == 0)
        snprintf(facts.host.system, sizeof facts.host.system, "%.30s %.100s %.60s", system.sysname,
                 system.release, system.machine);
    return facts;
}

static int64_t add_known(int64_t sum, int64_t value)
{
    return sum < 0 || value < 0 ? -1 : sum + value;
}

static bool add_rank(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    struct session *session = context;
    struct rank_facts facts;
    int at = 0;
    if (length != sizeof facts)
        return error_set(err, ERROR_FAILED, "rank %d runs another version of rehearse", rank);
    memcpy(&facts, bytes, sizeof facts);
    while (at < session->host_count && *session->hosts[at].name &&
           strcmp(session->hosts[at].name, facts.host.name) != 0)
        at++;
    if (at == session->host_count)
        return error_set(err, ERROR_FAILED, "rank %d is on no known host", rank);
    if (facts.first_of_host) {
        session->device_read = add_known(session->device_read, facts.device_read);
        session->device_written = add_known(session->device_written, facts.device_written);
    }
    struct session_host *host = &session->hosts[at];
    if (!*host->name) {
        *host = facts.host;
        return true;
    }
    host->accelerators += facts.host.accelerators;
    host->processes++;
    host->cpu_seconds += facts.host.cpu_seconds;
    host->read_busy += facts.host.read_busy;
    host->read_delayed += facts.host.read_delayed;
    host->decoded += facts.host.decoded;
    host->throttled = fmax(host->throttled, facts.host.throttled);
    host->read_cpu += facts.host.read_cpu;
    host->readers += facts.host.readers;
    host->seen.counters[LIMITS_OWN_READ] += facts.host.seen.counters[LIMITS_OWN_READ];
    return true;
}

/* Returns the text of a file of this host, which the caller frees; NULL: unknown. */
static char *proc_text(const char *path)
{
    struct error ignored;
    char *text;
    size_t length;
    return file_read(path, MAX_PROC, &text, &length, &ignored) ? text : NULL;
}

static bool gather(struct session *session, struct error *err)
{
    struct comm *comm = session->options.run.comm;
    const struct rank_facts own = own_facts(session);
    if (!session->hosts) {
        session->cpuinfo = proc_text("/proc/cpuinfo");
        session->meminfo = proc_text("/proc/meminfo");
    }
    free(session->hosts);
    session->device_read = session->device_written = 0;
    session->host_count = comm_hosts(comm);
    session->hosts = calloc((size_t)session->host_count, sizeof *session->hosts);
    return comm_agree(comm, session->hosts || error_memory(err), "the facts of hosts", err) &&
           comm_gather(comm, &own, sizeof own, add_rank, session, "the facts of hosts", err) &&
           comm_broadcast(comm, session->hosts, (size_t)session->host_count * sizeof *session->hosts,
                          "the facts of hosts", err);
}

/* ---- checks ---- */

/* Adds a check, whose text is set afterwards. */
static struct session_check *add_check(struct session *session, const char *name, enum session_state state,
                                       int64_t expected, int64_t found)
{
    struct session_check *check = &session->checks[session->check_count++];
    *check = (struct session_check){.name = name, .state = state, .expected = expected, .found = found};
    return check;
}

PRINTF_LIKE(2, 3)
static void say(struct session_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->text, sizeof check->text, format, args);
    va_end(args);
}

static void check_complete(struct session *session)
{
    bool complete = session->run.complete;
    struct session_check *check =
        add_check(session, SESSION_RAN, complete ? SESSION_PASSED : SESSION_FAILED, 1, complete);
    if (!complete)
        say(check, "the run was stopped before its end");
}

static int64_t samples_of(const struct session *session, enum metrics_phase phase)
{
    struct metrics_figures figures;
    struct error err;
    return metrics_figures(&session->run.whole, phase, METRICS_RUN, &figures, &err) ? figures.all.samples : 0;
}

/* Reports the samples that no accelerator reads in an epoch, and whether they are the same in every epoch. */
static void say_left_out(const struct run_result *run, struct session_check *check)
{
    const struct order *order = &run->train;
    int64_t all = order->samples + run->short_samples;
    bool shuffled = order->options.file_shuffle != ORDER_OFF || order->options.sample_shuffle != ORDER_OFF;
    bool others =
        shuffled && (order->options.seed_change_epoch || order->options.file_shuffle == ORDER_RANDOM ||
                     order->options.sample_shuffle == ORDER_RANDOM);
    if (order->dropped == 0)
        return;
    if (order->steps < run->full_steps)
        say(check,
            "%" PRId64 " of %" PRId64 " samples skipped per epoch, which ends after %" PRId64 " of %" PRId64
            " steps",
            order->dropped, all, order->steps, run->full_steps);
    else
        say(check,
            "%" PRId64 " of %" PRId64
            " samples (%.3g %%) skipped per epoch, %s: last batch incomplete (%" PRId64
            " x %d accelerator%s)",
            order->dropped, all, 100.0 * (double)order->dropped / (double)all,
            others ? "different ones each time" : "always the same ones", order->options.batch,
            order->options.accelerators, order->options.accelerators == 1 ? "" : "s");
}

static void check_samples(struct session *session)
{
    const struct run_result *run = &session->run;
    struct error why = {0};
    int64_t expected =
        run->train.steps * run->train.options.batch * run->train.options.accelerators * run->epochs;
    if (run->train.steps == 0 || !run->complete) /* nothing is known of a part of a run */
        return;
    bool passed = run_check_samples(run, &why);
    struct session_check *check =
        add_check(session, "every sample once", passed ? SESSION_PASSED : SESSION_FAILED, expected,
                  samples_of(session, METRICS_TRAIN));
    check->left_out = run->train.dropped;
    if (passed)
        say_left_out(&session->run, check);
    else
        say(check, "%s", why.text);
}

/* ---- the host ---- */

static struct session_loss session_loss_of(const struct session *session,
                                           const struct metrics_figures *figures)
{
    struct session_loss host = {.late = figures->lost};
    double wall = 1e-9 * (double)(session->run.end - session->run.start), busy = 0.0, delayed = 0.0,
           decoded = 0.0;
    for (int i = 0; i < session->host_count; i++) {
        busy += session->hosts[i].read_busy;
        delayed += session->hosts[i].read_delayed;
        decoded += session->hosts[i].decoded;
        if (wall > 0.0)
            host.throttled = fmax(host.throttled, fmin(session->hosts[i].throttled / wall, 1.0));
    }
    host.delayed = busy > 0.0 ? fmin(delayed / busy, 1.0) : 0.0;
    host.decoded = busy > 0.0 ? fmin(decoded / busy, 1.0) : 0.0;
    /* An upper bound of what the host cost. At the barrier accelerators wait for one that waits for data. */
    double waited = figures->load + figures->barrier;
    double share = fmin(fmax(host.delayed, host.throttled) + host.decoded, 1.0);
    double cost = fmin(host.late + waited * share, 1.0);
    host.au_at_best = cost < 1.0 ? fmin(figures->au / (1.0 - cost), 1.0) : 1.0;
    return host;
}

/* A late host only lowers AU: a run that met its target did so in spite of it. */
static bool check_host(struct session *session, const struct metrics_figures *figures)
{
    const struct session_loss host = session_loss_of(session, figures);
    bool kept_up = figures->met || host.au_at_best < session->run.whole.options.au_target;
    struct session_check *check = add_check(session, CHECK_HOST, kept_up ? SESSION_PASSED : SESSION_FAILED,
                                            (int64_t)llround(1e6 * session->run.whole.options.au_target),
                                            (int64_t)llround(1e6 * host.au_at_best));
    if (!kept_up && host.decoded > fmax(host.delayed, host.throttled))
        say(check,
            "decoding took %.1f %% of the readers' time, which waited for a CPU %.1f %%; without these, AU "
            "could "
            "reach %.1f %%",
            100.0 * host.decoded, 100.0 * host.delayed, 100.0 * host.au_at_best);
    else if (!kept_up)
        say(check,
            "timers fired late %.1f %% of the time, readers waited for a CPU %.1f %%, cgroups throttled the "
            "run %.1f %%; without these, AU could reach %.1f %%",
            100.0 * host.late, 100.0 * host.delayed, 100.0 * host.throttled, 100.0 * host.au_at_best);
    return kept_up;
}

/* ---- the origin of the bytes ---- */

static bool check_origin(struct session *session, const char *name, const struct origin *origin)
{
    bool cold = origin_is_cold(origin), warm = session->options.warm;
    double share = origin_share(origin);
    struct unit_texts texts = {0};
    const char *size = unit_text(&texts, (double)origin->needed, UNIT_BYTES);
    struct session_check *check = add_check(session, name, cold || warm ? SESSION_PASSED : SESSION_FAILED,
                                            origin->needed, origin->from_storage);
    if (origin->needed == 0)
        return true;
    if (isnan(share))
        say(check, "unknown share of %s (%s)%s", size, origin_words(origin->evidence),
            warm ? "; warm caches requested (--warm)" : "");
    else
        say(check, "%.3g %% of %s (%s)%s%s", 100.0 * share, size, origin_words(origin->evidence),
            cold ? "" : ", the rest from memory", warm ? "; warm caches requested (--warm)" : "");
    return cold || warm;
}

/* Checks the origin of restored bytes. *cold: they came from the storage, or there are none. */
static bool check_restored(struct session *session, bool *cold, struct error *err)
{
    struct metrics_checkpoints restored;
    enum origin_evidence evidence;
    *cold = true;
    if (!session->saves)
        return true;
    if (!metrics_checkpoints(&session->run.whole, METRICS_LOAD, &restored, err))
        return false;
    if (restored.count == 0)
        return true;
    if (!origin_evidence_for(session->saves, &evidence, err))
        return false;
    const struct origin origin = {
        .evidence = evidence,
        .delivered = restored.all_bytes,
        .needed = restored.all_bytes,
        .from_storage = restored.from_storage,
    };
    *cold = check_origin(session, CHECK_RESTORED, &origin);
    return true;
}

/* ---- AU and the verdict ---- */

static void check_utilisation(struct session *session, const struct metrics_figures *figures, bool judged)
{
    double target = session->run.whole.options.au_target;
    enum session_state state = !judged ? SESSION_OPEN : figures->met ? SESSION_PASSED : SESSION_FAILED;
    struct session_check *check = add_check(session, CHECK_AU, state, (int64_t)llround(1e6 * target),
                                            (int64_t)llround(1e6 * figures->au));
    if (!judged)
        say(check, "%.1f %%, no measure of the storage", 100.0 * figures->au);
    else if (!figures->met)
        say(check, "AU %.1f %% is below the target of %.0f %%", 100.0 * figures->au, 100.0 * target);
}

/* A storage that is too slow even with the help of memory is too slow; one that is fast enough may not be. */
static enum session_verdict judge_training(struct session *session)
{
    struct metrics_figures figures;
    struct error why = {0};
    if (session->run.train.steps == 0)
        return SESSION_OK;
    if (!metrics_figures(&session->run.whole, METRICS_TRAIN, METRICS_RUN, &figures, &why)) {
        say(add_check(session, CHECK_AU, SESSION_FAILED, 1, 0), "%s", why.text);
        return SESSION_NO_RESULT;
    }
    bool kept_up = check_host(session, &figures);
    bool cold = check_origin(session, CHECK_READ, &session->run.origin);
    check_utilisation(session, &figures, kept_up && (cold || !figures.met));
    if (!kept_up)
        return SESSION_HOST;
    if (!figures.met)
        return SESSION_TOO_SLOW;
    return cold ? SESSION_OK : SESSION_FROM_MEMORY;
}

const char *const session_verdict_words[] = {"ok", "too slow", "host", "from memory", "no result"};

static const char *text_of(const struct session *session, const char *name)
{
    for (int i = 0; i < session->check_count; i++)
        if (strcmp(session->checks[i].name, name) == 0)
            return session->checks[i].text;
    return "";
}

static const char *first_failed(const struct session *session)
{
    for (int i = 0; i < session->check_count; i++)
        if (session->checks[i].state == SESSION_FAILED)
            return session->checks[i].text;
    return NULL;
}

static void put_into_words(struct session *session, bool restored)
{
    char *text = session->verdict_text;
    size_t size = sizeof session->verdict_text;
    const char *warm = session->options.warm ? " with warm caches" : "";
    const char *of_memory = restored ? CHECK_READ : CHECK_RESTORED;
    switch (session->verdict) {
    case SESSION_OK:
        snprintf(text, size, "ok%s", warm);
        return;
    case SESSION_TOO_SLOW:
        snprintf(text, size, "%s%s", text_of(session, CHECK_AU), warm);
        return;
    case SESSION_HOST:
        snprintf(
            text, size, "no verdict: the host could not keep up; %s",
            text_starts_with(text_of(session, CHECK_HOST), "decoding")
                ? "it is decoding that takes the time: give the run more CPUs and read threads, or leave out "
                  "--decode"
                : "give the run more CPUs");
        return;
    case SESSION_FROM_MEMORY:
        snprintf(text, size,
                 "no verdict, from memory: %s: %s; use --drop-caches or --direct, or accept it with --warm",
                 of_memory, text_of(session, of_memory));
        return;
    default:
        snprintf(text, size, "%s", first_failed(session));
    }
}

static bool judge(struct session *session, struct error *err)
{
    session->check_count = 0;
    check_complete(session);
    check_samples(session);
    bool sound = first_failed(session) == NULL;
    session->verdict = judge_training(session);
    bool restored;
    if (!check_restored(session, &restored, err))
        return false;
    if (!sound)
        session->verdict = SESSION_NO_RESULT;
    else if (!restored && session->verdict == SESSION_OK)
        session->verdict = SESSION_FROM_MEMORY;
    put_into_words(session, restored);
    return true;
}

bool session_judge(struct session *session, struct error *err)
{
    if (!gather(session, err))
        return false;
    if (comm_rank(session->options.run.comm) > 0)
        return true;
    const struct run_resident *resident = &session->run.resident;
    session->data_set = session->options.run.loader.layout ? dataset_layout_bytes(&session->layout) : -1;
    if (session->options.run.loader.layout && resident->before.files >= session->layout.files_train &&
        session->run.eval.steps == 0)
        session->data_set = resident->before.bytes; /* the size of the files on disk */
    if (!judge(session, err))
        return false;
    if (session->options.rules)
        session_check_rules(session);
    return true;
}

bool session_passed(const struct session *session, struct error *err)
{
    if (session->verdict != SESSION_OK)
        return error_set(err, ERROR_FAILED, "%s", session->verdict_text);
    if (session->has_rules && session->rules.category == RULES_INVALID)
        return error_set(err, ERROR_FAILED, "MLPerf Storage: %d rule%s broken", session->rules.failed,
                         session->rules.failed == 1 ? "" : "s");
    return true;
}
