/* What a session found: facts of hosts and storage, what must be so, and the files that say it. */
#include "feed/result_dlio.h"
#include "feed/result_timeline.h"
#include "feed/session.h"
#include "storage/facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- facts of all ranks ---- */

/* Of one rank, as it is sent to rank 0. */
struct rank_facts {
    char name[256], system[256];
    int64_t memory;
    double cpu_seconds;
    int cpus, accelerators, first_of_host;
    int64_t device_read, device_written; /* -1: not known */
};

static struct rank_facts own_facts(const struct session *session)
{
    const struct comm *comm = session->options.comm;
    struct rank_facts facts = {
        .memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
        .cpu_seconds = session->run.cpu_seconds,
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .accelerators = session->options.accelerators,
        .first_of_host = comm_local_rank(comm) == 0,
        .device_read = session->run.device_counted ? session->run.device_read : -1,
        .device_written = session->run.device_counted ? session->run.device_written : -1,
    };
    struct utsname system;
    snprintf(facts.name, sizeof facts.name, "%s", comm_host(comm, comm_rank(comm)));
    if (uname(&system) == 0)
        snprintf(facts.system, sizeof facts.system, "%.60s %.100s %.60s", system.sysname, system.release,
                 system.machine);
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
        return error_set(err, ERROR_FAILED, "rank %d is another version of this program", rank);
    memcpy(&facts, bytes, sizeof facts);
    while (at < session->host_count && strcmp(session->hosts[at].name, facts.name) != 0)
        at++;
    struct result_host *host = &session->hosts[at];
    if (at == session->host_count) {
        char *texts = session->host_texts[session->host_count++];
        memcpy(texts, facts.name, 256);
        memcpy(texts + 256, facts.system, 256);
        *host = (struct result_host){
            .name = texts,
            .system = *facts.system ? texts + 256 : NULL,
            .cpus = facts.cpus,
            .memory = facts.memory,
        };
    }
    host->accelerators += facts.accelerators;
    host->processes++;
    host->cpu_seconds += facts.cpu_seconds;
    if (facts.first_of_host) {
        session->device_read = add_known(session->device_read, facts.device_read);
        session->device_written = add_known(session->device_written, facts.device_written);
    }
    return true;
}

static bool gather(struct session *session, struct error *err)
{
    struct comm *comm = session->options.comm;
    const struct rank_facts own = own_facts(session);
    bool room = true;
    if (comm_rank(comm) == 0) {
        session->hosts = calloc((size_t)comm_size(comm), sizeof *session->hosts);
        session->host_texts = calloc((size_t)comm_size(comm), sizeof *session->host_texts);
        room = session->hosts && session->host_texts ? true : error_memory(err);
        session->device_read = session->device_written = 0;
    }
    return comm_agree(comm, room, "the facts of hosts", err) &&
           comm_gather(comm, &own, sizeof own, add_rank, session, "the facts of hosts", err);
}

/* ---- what must be so ---- */

static void add_check(struct session *session, const char *name, bool passed, int64_t expected, int64_t found,
                      const struct error *why)
{
    int at = session->check_count++;
    char *text = session->check_texts[at];
    if (!passed)
        snprintf(text, sizeof session->check_texts[at], "%.250s", why->text);
    session->checks[at] = (struct result_check){
        .name = name,
        .passed = passed,
        .expected = expected,
        .found = found,
        .text = passed ? NULL : text,
    };
}

static int64_t samples_of(const struct session *session, enum metrics_phase phase)
{
    struct metrics_figures figures;
    struct error err;
    return metrics_figures(&session->run.whole, phase, METRICS_RUN, &figures, &err) ? figures.all_samples : 0;
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
    add_check(session, "every sample once", passed, expected, samples_of(session, METRICS_TRAIN), &why);
}

static void check_complete(struct session *session)
{
    struct error why = {0};
    error_set(&why, ERROR_FAILED, "the run was stopped before its end");
    add_check(session, "ran to its end", session->run.complete, 1, session->run.complete, &why);
}

static void check_utilisation(struct session *session)
{
    const struct metrics *whole = &session->run.whole;
    struct metrics_figures figures;
    struct error why = {0};
    if (session->run.train.steps == 0)
        return;
    bool counted = metrics_figures(whole, METRICS_TRAIN, METRICS_RUN, &figures, &why);
    if (counted && !figures.met)
        error_set(&why, ERROR_FAILED, "AU is %.1f %%, below the %.0f %% that the workload asks for",
                  100.0 * figures.au, 100.0 * whole->options.au_target);
    add_check(session, "AU", counted && figures.met, (int64_t)llround(1e6 * whole->options.au_target),
              counted ? (int64_t)llround(1e6 * figures.au) : 0, &why);
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
    const struct workload *workload = options->workload;
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
        const char *text = options->overrides[i];
        const char *equals = strchr(text, '=');
        char *name = names + 256 * (size_t)i;
        text += strspn(text, "+");
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
            .cache_cleared = options->drop != RUN_DROP_NOTHING ? RULES_YES : RULES_NO,
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
    if (!gather(session, err))
        return false;
    if (comm_rank(session->options.comm) > 0)
        return true;
    session->data_set = session->has_layout ? dataset_layout_bytes(&session->layout) : -1;
    check_complete(session);
    check_samples(session);
    check_utilisation(session);
    return !session->options.rules || check_rules(session, err);
}

bool session_passed(const struct session *session, struct error *err)
{
    for (int i = 0; i < session->check_count; i++)
        if (!session->checks[i].passed)
            return error_set(err, ERROR_FAILED, "%s", session->checks[i].text);
    if (session->has_rules && session->rules.category == RULES_INVALID)
        return error_set(err, ERROR_FAILED, "MLPerf Storage: %d rule%s not kept", session->rules.failed,
                         session->rules.failed == 1 ? " is" : "s are");
    return true;
}

/* ---- files ---- */

static void write_configuration(const void *configuration, struct json *json, const char *key)
{
    workload_write_json(configuration, json, key);
}

/* `folder` NULL: into `out`. */
static bool write_own(struct session *session, const char *folder, struct text *out, struct error *err)
{
    static const char *const drops[] = {
        [RUN_DROP_NOTHING] = NULL, [RUN_DROP_FILES] = "file", [RUN_DROP_SYSTEM] = "system"};
    const struct session_options *options = &session->options;
    const struct workload *workload = options->workload;
    const struct run_result *run = &session->run;
    const struct storage *storage = session->storage ? session->storage : session->saves;
    const struct storage_options *used = storage_options(storage);
    struct storage_facts facts = {0};
    struct error ignored;
    bool local = used->method != STORAGE_S3 && storage_facts(used->root ? used->root : ".", &facts, &ignored);
    const struct result_json result = {
        .version = options->version,
        .workload = workload->name,
        .seed = (uint64_t)workload->train.seed,
        .entropy = options->entropy,
        .start = run->start + run->realtime,
        .end = run->end + run->realtime,
        .hosts = session->hosts,
        .host_count = session->host_count,
        .storage =
            {
                .path = used->root,
                .file_system = local ? facts.file_system : NULL,
                .device = local ? facts.device : NULL,
                .method = storage_kind_name(used->method),
                .direct = used->direct,
                .drop_caches = drops[options->drop],
                .data_set = session->data_set,
                .resident_before = run->resident.known ? run->resident.before : -1,
                .resident_after = run->resident.known ? run->resident.after : -1,
                .device_read = session->device_read,
                .device_written = session->device_written,
            },
        .checks = session->checks,
        .check_count = session->check_count,
        .overrides = options->overrides,
        .override_count = options->override_count,
        .rules = session->has_rules ? &session->rules : NULL,
        .write_configuration = write_configuration,
        .configuration = workload,
        .eval = run->eval.steps > 0,
    };
    bool passed;
    return folder ? result_json_save(folder, &run->whole, &result, &passed, err)
                  : result_json(out, &run->whole, &result, &passed, err);
}

bool session_write_json(struct session *session, struct text *out, struct error *err)
{
    return write_own(session, NULL, out, err);
}

void session_write_most(const struct run_most *most, double target, int processes, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_integer(&json, "accelerators", (int64_t)most->accelerators * processes);
    json_number(&json, "au_target", target);
    if (most->bounded)
        json_integer(&json, "fails_at", (int64_t)most->fails_at * processes);
    json_bool(&json, "certain", most->certain);
    json_open(&json, "probes", '[');
    for (int i = 0; i < most->probe_count; i++) {
        json_open_flat(&json, NULL, '{');
        json_integer(&json, "accelerators", (int64_t)most->probes[i].accelerators * processes);
        json_number(&json, "au", most->probes[i].au);
        json_number(&json, "standard_error", most->probes[i].error);
        json_bool(&json, "met", most->probes[i].met);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static bool fill_dlio(const struct session *session, struct result_dlio *facts, int64_t **memory, int **cpus,
                      struct error *err)
{
    const struct workload *workload = session->options.workload;
    struct comm *comm = session->options.comm;
    int hosts = comm_hosts(comm);
    *memory = calloc((size_t)hosts, sizeof **memory);
    *cpus = calloc((size_t)hosts, sizeof **cpus);
    bool made = *memory && *cpus;
    for (int i = 0; made && i < session->host_count; i++) { /* on rank 0, which tells the others */
        (*memory)[i] = session->hosts[i].memory;
        (*cpus)[i] = session->hosts[i].cpus;
    }
    if (!comm_agree(comm, made ? true : error_memory(err), "the results", err) ||
        !comm_broadcast(comm, *memory, (size_t)hosts * sizeof **memory, "the results", err) ||
        !comm_broadcast(comm, *cpus, (size_t)hosts * sizeof **cpus, "the results", err))
        return false;
    *facts = (struct result_dlio){
        .train = session->run.train.steps > 0,
        .eval = session->run.eval.steps > 0,
        .save = workload->workflow.checkpoint,
        .load = workload->workflow.checkpoint && workload->checkpoint.num_checkpoints_read > 0,
        .hosts = hosts,
        .hostname = comm_host(comm, comm_rank(comm)),
        .host_memory = *memory,
        .host_cpus = *cpus,
        .files_train = session->layout.files_train,
        .files_eval = session->layout.files_eval,
        .samples_per_file = session->layout.samples_per_file,
        .record_length = workload->dataset.record_length_bytes,
        .checkpoint_bytes = (int64_t)session->checkpoint_bytes,
        .start = session->run.start,
        .end = session->run.end,
        .realtime = session->run.realtime,
    };
    return true;
}

static bool save_timeline(const struct session *session, const char *folder, struct error *err)
{
    const struct result_timeline facts = {session->opened, session->run.realtime};
    return result_timeline_save(folder, &session->run.metrics, &session->each, &facts, err);
}

/* Every rank writes what its own accelerators did, as DLIO's ranks do. */
bool session_save(struct session *session, const char *folder, struct error *err)
{
    struct comm *comm = session->options.comm;
    struct result_dlio facts;
    int64_t *memory = NULL;
    int *cpus = NULL;
    bool first = comm_rank(comm) == 0;
    bool done = fill_dlio(session, &facts, &memory, &cpus, err) &&
                result_dlio_save_ranks(folder, &session->run.metrics,
                                       session->keeps_steps ? &session->each : NULL, &facts, err) &&
                (!first || result_dlio_save_summary(folder, &session->run.whole, &facts, err)) &&
                (!first || write_own(session, folder, NULL, err)) &&
                (!session->options.timeline || save_timeline(session, folder, err));
    free(memory);
    free(cpus);
    return comm_agree(comm, done, "the results", err);
}
