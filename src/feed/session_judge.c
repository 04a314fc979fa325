/* What a session is judged by: what must be so, what can be said of the storage, and the rules. */
#include "feed/session_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks that a verdict quotes. */
#define CHECK_HOST     "the host kept up"
#define CHECK_READ     "read from the storage"
#define CHECK_RESTORED "restored from the storage"
#define CHECK_AU       "AU"

/* ---- what must be so ---- */

/* Its text is set afterwards: what is wrong, or worth knowing; none: nothing. */
static struct result_check *add_check(struct session *session, const char *name, enum result_state state,
                                      int64_t expected, int64_t found)
{
    int at = session->check_count++;
    session->checks[at] =
        (struct result_check){.name = name, .state = state, .expected = expected, .found = found};
    return &session->checks[at];
}

PRINTF_LIKE(3, 4)
static void say(struct session *session, struct result_check *check, const char *format, ...)
{
    char *text = session->check_texts[check - session->checks];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof session->check_texts[0], format, args);
    va_end(args);
    check->text = text;
}

static void check_complete(struct session *session)
{
    bool complete = session->run.complete;
    struct result_check *check =
        add_check(session, "ran to its end", complete ? RESULT_PASSED : RESULT_FAILED, 1, complete);
    if (!complete)
        say(session, check, "the run was stopped before its end");
}

static int64_t samples_of(const struct session *session, enum metrics_phase phase)
{
    struct metrics_figures figures;
    struct error err;
    return metrics_figures(&session->run.whole, phase, METRICS_RUN, &figures, &err) ? figures.all_samples : 0;
}

/* What no accelerator reads in an epoch, and whether that is the same in every one. */
static void say_left_out(struct session *session, struct result_check *check)
{
    const struct order *order = &session->run.train;
    int64_t all = order->samples + session->run.short_samples;
    bool shuffled = order->options.file_shuffle != ORDER_OFF || order->options.sample_shuffle != ORDER_OFF;
    bool others =
        shuffled && (order->options.seed_change_epoch || order->options.file_shuffle == ORDER_RANDOM ||
                     order->options.sample_shuffle == ORDER_RANDOM);
    int64_t steps = session->run.full_steps;
    if (order->dropped == 0)
        return;
    if (order->steps < steps)
        say(session, check,
            "but %" PRId64 " of %" PRId64 " are left out of each epoch, which ends after %" PRId64
            " of %" PRId64 " steps",
            order->dropped, all, order->steps, steps);
    else
        say(session, check,
            "but %" PRId64 " of %" PRId64
            " (%.3g %%) are left out of each epoch, %s: they do not fill a batch of "
            "%" PRId64 " on %d accelerator%s",
            order->dropped, all, 100.0 * (double)order->dropped / (double)all,
            others ? "others each time" : "always the same", order->options.batch,
            order->options.accelerators, order->options.accelerators == 1 ? "" : "s");
}

static void check_samples(struct session *session)
{
    const struct run_result *run = &session->run;
    struct error why = {0};
    int64_t expected =
        run->train.steps * run->train.options.batch * run->train.options.accelerators * run->epochs;
    if (run->train.steps == 0 || !run->complete) /* of a part nobody knows what should have been read */
        return;
    bool passed = run_check_samples(run, &why);
    struct result_check *check =
        add_check(session, "every sample once", passed ? RESULT_PASSED : RESULT_FAILED, expected,
                  samples_of(session, METRICS_TRAIN));
    check->left_out = run->train.dropped;
    if (passed)
        say_left_out(session, check);
    else
        say(session, check, "%s", why.text);
}

/* ---- the host ---- */

struct session_host session_host_of(const struct session *session, const struct metrics_figures *figures)
{
    struct session_host host = {.late = figures->lost};
    double wall = 1e-9 * (double)(session->run.end - session->run.start), busy = 0.0, delayed = 0.0;
    for (int i = 0; i < session->host_count; i++) {
        busy += session->hosts[i].read_busy;
        delayed += session->hosts[i].read_delayed;
        if (wall > 0.0)
            host.throttled = fmax(host.throttled, fmin(session->hosts[i].throttled / wall, 1.0));
    }
    host.delayed = busy > 0.0 ? fmin(delayed / busy, 1.0) : 0.0;
    /* All that the host can have cost: the storage would do no better than this without. At the barrier accelerators wait
     * for one that waits for data. */
    double waited = figures->load + figures->barrier;
    double cost = fmin(host.late + waited * fmax(host.delayed, host.throttled), 1.0);
    host.au_at_best = cost < 1.0 ? fmin(figures->au / (1.0 - cost), 1.0) : 1.0;
    return host;
}

/* A host that is late lowers AU, it never raises it: what met its target did so in spite of it. */
static bool check_host(struct session *session, const struct metrics_figures *figures)
{
    const struct session_host host = session_host_of(session, figures);
    bool kept_up = figures->met || host.au_at_best < session->run.whole.options.au_target;
    struct result_check *check = add_check(session, CHECK_HOST, kept_up ? RESULT_PASSED : RESULT_FAILED,
                                           (int64_t)llround(1e6 * session->run.whole.options.au_target),
                                           (int64_t)llround(1e6 * host.au_at_best));
    if (!kept_up)
        say(session, check,
            "deadlines were noticed late by %.1f %% of the time, readers waited for a processor %.1f %% of "
            "theirs, control groups held the run back %.1f %%; without, AU is up to %.1f %%",
            100.0 * host.late, 100.0 * host.delayed, 100.0 * host.throttled, 100.0 * host.au_at_best);
    return kept_up;
}

/* ---- where the bytes came from ---- */

static bool check_origin(struct session *session, const char *name, const struct origin *origin)
{
    bool cold = origin_is_cold(origin), warm = session->options.warm;
    double share = origin_share(origin);
    struct unit_texts texts = {0};
    const char *size = unit_text(&texts, (double)origin->needed, UNIT_BYTES);
    struct result_check *check = add_check(session, name, cold || warm ? RESULT_PASSED : RESULT_FAILED,
                                           origin->needed, origin->from_storage);
    if (origin->needed == 0)
        return true;
    if (isnan(share))
        say(session, check, "of %s an unknown part (%s)%s", size, origin_words(origin->evidence),
            warm ? "; warm caches were asked for" : "");
    else
        say(session, check, "%.3g %% of %s (%s)%s%s", 100.0 * share, size, origin_words(origin->evidence),
            cold ? "" : ", the rest from memory", warm ? "; warm caches were asked for" : "");
    return cold || warm;
}

/* Of what was restored. *cold: nothing, or from the storage. */
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

/* ---- AU, and what follows ---- */

static void check_utilisation(struct session *session, const struct metrics_figures *figures, bool judged)
{
    double target = session->run.whole.options.au_target;
    enum result_state state = !judged ? RESULT_OPEN : figures->met ? RESULT_PASSED : RESULT_FAILED;
    struct result_check *check = add_check(session, CHECK_AU, state, (int64_t)llround(1e6 * target),
                                           (int64_t)llround(1e6 * figures->au));
    if (!judged)
        say(session, check, "%.1f %%, which says nothing about the storage", 100.0 * figures->au);
    else if (!figures->met)
        say(session, check, "AU is %.1f %%, below the %.0f %% that the workload asks for",
            100.0 * figures->au, 100.0 * target);
}

/* What is too slow with the help of memory is too slow without: that holds. What is fast enough says nothing then. */
static enum session_verdict judge_training(struct session *session)
{
    struct metrics_figures figures;
    struct error why = {0};
    if (session->run.train.steps == 0)
        return SESSION_OK;
    if (!metrics_figures(&session->run.whole, METRICS_TRAIN, METRICS_RUN, &figures, &why)) {
        say(session, add_check(session, CHECK_AU, RESULT_FAILED, 1, 0), "%s", why.text);
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

const char *session_verdict_name(enum session_verdict verdict)
{
    static const char *const names[] = {"ok", "too slow", "host", "from memory", "no result"};
    return names[verdict];
}

static const char *text_of(const struct session *session, const char *name)
{
    for (int i = 0; i < session->check_count; i++)
        if (strcmp(session->checks[i].name, name) == 0 && session->checks[i].text)
            return session->checks[i].text;
    return "";
}

static const char *first_failed(const struct session *session)
{
    for (int i = 0; i < session->check_count; i++)
        if (session->checks[i].state == RESULT_FAILED)
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
        snprintf(text, size, "no verdict: the host could not keep up; give the run more processors");
        return;
    case SESSION_FROM_MEMORY:
        snprintf(text, size, "no verdict, from memory: %s: %s; see --drop-caches, --direct and --warm",
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

/* ---- the rules of MLPerf Storage ---- */

/* A file is known by the model in it. */
static const char *known_as(const struct workload *workload)
{
    return strpbrk(workload->name, "./") ? workload->model.name : workload->name;
}

static bool check_rules(struct session *session, struct error *err)
{
    const struct session_options *options = &session->options;
    const struct workload *workload = options->run.workload;
    struct metrics_figures figures = {0};
    struct error ignored;
    struct rules_host *hosts = calloc((size_t)session->host_count + 1, sizeof *hosts);
    struct rules_parameter *parameters = calloc((size_t)options->override_count + 1, sizeof *parameters);
    char *names = calloc((size_t)options->override_count + 1, 256);
    bool made = hosts && parameters && names;
    for (int i = 0; made && i < session->host_count; i++)
        hosts[i] = (struct rules_host){session->hosts[i].name, session->hosts[i].accelerators,
                                       session->hosts[i].memory};
    for (int i = 0; made && i < options->override_count; i++) {
        const char *text = workload_override_plain(options->overrides[i]);
        const char *equals = strchr(text, '=');
        char *name = names + 256 * (size_t)i;
        snprintf(name, 256, "%.*s", equals && equals - text < 255 ? (int)(equals - text) : 255, text);
        parameters[i] = (struct rules_parameter){name, equals ? equals + 1 : ""};
    }
    if (made && workload->workflow.train) {
        metrics_figures(&session->run.whole, METRICS_TRAIN, METRICS_RUN, &figures, &ignored);
        const struct rules_run run = {workload->train.seed, figures.au, figures.samples_per_second};
        const struct rules_training facts = {
            .workload = known_as(workload),
            .files = session->layout.files_train,
            .samples_per_file = session->layout.samples_per_file,
            .record_length = workload->dataset.record_length_bytes,
            .batch = workload->reader.batch_size,
            .hosts = hosts,
            .host_count = session->host_count,
            .parameters = parameters,
            .parameter_count = options->override_count,
            .runs = &run,
            .run_count = 1,
            .warmed_up = RULES_NOT_KNOWN,
        };
        rules_check_training(&facts, &session->rules);
    } else if (made) {
        const struct rules_checkpointing facts = {
            .model = known_as(workload),
            .subset = workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET,
            .hosts = hosts,
            .host_count = session->host_count,
            .parameters = parameters,
            .parameter_count = options->override_count,
            .writes = (int)fmax((double)workload->checkpoint.num_checkpoints_write, 0.0),
            .reads = (int)fmax((double)workload->checkpoint.num_checkpoints_read, 0.0),
            .synced = workload->checkpoint.fsync ? RULES_YES : RULES_NO,
            .cache_cleared = options->run.drop != RUN_DROP_NOTHING ? RULES_YES : RULES_NO,
        };
        rules_check_checkpointing(&facts, &session->rules);
    }
    session->has_rules = made;
    free(hosts);
    free(parameters);
    free(names);
    return made ? true : error_memory(err);
}

bool session_judge(struct session *session, struct error *err)
{
    if (!session_gather(session, err))
        return false;
    if (comm_rank(session->options.run.comm) > 0)
        return true;
    const struct run_resident *resident = &session->run.resident;
    session->data_set = session->options.run.layout ? dataset_layout_bytes(&session->layout) : -1;
    if (session->options.run.layout && resident->before.files >= session->layout.files_train &&
        session->run.eval.steps == 0)
        session->data_set = resident->before.bytes; /* what is really there */
    return judge(session, err) && (!session->options.rules || check_rules(session, err));
}

bool session_passed(const struct session *session, struct error *err)
{
    if (session->verdict != SESSION_OK)
        return error_set(err, ERROR_FAILED, "%s", session->verdict_text);
    if (session->has_rules && session->rules.category == RULES_INVALID)
        return error_set(err, ERROR_FAILED, "MLPerf Storage: %d rule%s not kept", session->rules.failed,
                         session->rules.failed == 1 ? " is" : "s are");
    return true;
}
