/* What a session found: facts of hosts and storage, what must be so, and the files that say it. */
#include "core/file.h"
#include "feed/result/config.h"
#include "feed/result/dlio.h"
#include "feed/result/timeline.h"
#include "feed/session_internal.h"
#include "storage/facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_PROC ((size_t)16 << 20) /* bytes of /proc/cpuinfo of thousands of processors */

/* ---- facts of all ranks ---- */

/* Of one rank, as it is sent to rank 0. */
struct rank_facts {
    char name[256], system[256];
    int64_t memory;
    double cpu_seconds;
    int cpus, accelerators, first_of_host;
    int64_t device_read, device_written; /* -1: not known */
    double read_busy, read_delayed, throttled;
};

static struct rank_facts own_facts(const struct session *session)
{
    const struct comm *comm = session->options.run.comm;
    struct rank_facts facts = {
        .memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
        .cpu_seconds = session->run.cpu_seconds,
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .accelerators = session->options.run.accelerators,
        .read_busy = session->run.counts.busy,
        .read_delayed = session->run.counts.delayed,
        .throttled = session->run.throttled,
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
    host->read_busy += facts.read_busy;
    host->read_delayed += facts.read_delayed;
    host->throttled = fmax(host->throttled, facts.throttled);
    if (facts.first_of_host) {
        session->device_read = add_known(session->device_read, facts.device_read);
        session->device_written = add_known(session->device_written, facts.device_written);
    }
    return true;
}

bool session_gather(struct session *session, struct error *err)
{
    struct comm *comm = session->options.run.comm;
    const struct rank_facts own = own_facts(session);
    bool room = true;
    if (comm_rank(comm) == 0) {
        free(session->hosts);
        free(session->host_texts);
        session->host_count = 0;
        session->hosts = calloc((size_t)comm_size(comm), sizeof *session->hosts);
        session->host_texts = calloc((size_t)comm_size(comm), sizeof *session->host_texts);
        room = session->hosts && session->host_texts ? true : error_memory(err);
        session->device_read = session->device_written = 0;
    }
    return comm_agree(comm, room, "the facts of hosts", err) &&
           comm_gather(comm, &own, sizeof own, add_rank, session, "the facts of hosts", err);
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
    const struct workload *workload = options->run.workload;
    const struct run_result *run = &session->run;
    const struct storage_options *used = storage_options(options->run.storage);
    struct storage_facts facts = {0};
    bool local = used->method != STORAGE_S3 && storage_facts(used->root ? used->root : ".", &facts, err);
    if (used->method != STORAGE_S3 && !local && error_is_memory(err))
        return false;
    const struct result_json result = {
        .version = options->version,
        .workload = workload->name,
        .seed = (uint64_t)workload->train.seed,
        .entropy = options->run.entropy,
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
                .drop_caches = drops[options->run.drop],
                .data_set = session->data_set,
                .looked_at = run->resident.before.known ? run->resident.before.bytes : -1,
                .resident_before = run->resident.before.known ? run->resident.before.resident : -1,
                .resident_after = run->resident.after.known ? run->resident.after.resident : -1,
                .warm = options->warm,
                .origin = &run->origin,
                .device_read = session->device_read,
                .device_written = session->device_written,
            },
        .checks = session->checks,
        .check_count = session->check_count,
        .verdict = session_verdict_name(session->verdict),
        .verdict_text = session->verdict_text,
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

void session_write_max(const struct session_max *max, double target, int processes, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-max-accelerators/1");
    json_integer(&json, "accelerators", (int64_t)max->accelerators * processes);
    json_number(&json, "au_target", target);
    if (max->bounded)
        json_integer(&json, "fails_at", (int64_t)max->fails_at * processes);
    json_bool(&json, "certain", max->certain);
    json_open(&json, "probes", '[');
    for (int i = 0; i < max->probe_count; i++) {
        json_open_flat(&json, NULL, '{');
        json_integer(&json, "accelerators", (int64_t)max->probes[i].accelerators * processes);
        json_number(&json, "au", max->probes[i].au);
        json_number(&json, "standard_error", max->probes[i].error);
        json_bool(&json, "met", max->probes[i].met);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static bool fill_dlio(const struct session *session, struct result_dlio *facts, int64_t **memory, int **cpus,
                      struct error *err)
{
    const struct workload *workload = session->options.run.workload;
    struct comm *comm = session->options.run.comm;
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

static bool save_configuration(const struct session *session, const char *folder, struct error *err)
{
    const struct session_options *options = &session->options;
    const struct run_result *run = &session->run;
    struct workload workload = *options->run.workload;
    if (session->found)
        workload.dataset.num_files_train = session->layout.files_train;
    const struct result_config config = {
        .workload = &workload,
        .overrides = options->overrides,
        .override_count = options->override_count,
        .version = options->version,
        .accelerators = run->whole.options.accelerators,
        .start = run->start + run->realtime,
        .end = run->end + run->realtime,
    };
    return result_config_save(folder, &config, err);
}

/* Of this host; NULL: not known. */
static char *proc_text(const char *path)
{
    struct error ignored;
    char *text;
    size_t length;
    return file_read(path, MAX_PROC, &text, &length, &ignored) ? text : NULL;
}

/* As /proc/cpuinfo names it. */
static void processor_name(const char *cpuinfo, char name[128])
{
    const char *line = cpuinfo ? strstr(cpuinfo, "model name") : NULL,
               *colon = line ? strchr(line, ':') : NULL;
    name[0] = '\0';
    if (colon)
        snprintf(name, 128, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
                 colon + 1 + strspn(colon + 1, " "));
}

static bool save_timeline(const struct session *session, const char *folder, struct error *err)
{
    const struct result_timeline facts = {session->opened, session->run.realtime};
    return result_timeline_save(folder, &session->run.metrics, &session->each, &facts, err);
}

/* Every rank writes what its own accelerators did, as DLIO's ranks do. */
bool session_save(struct session *session, const char *folder, struct error *err)
{
    struct comm *comm = session->options.run.comm;
    struct result_dlio facts;
    int64_t *memory = NULL;
    int *cpus = NULL;
    bool first = comm_rank(comm) == 0;
    char *cpuinfo = proc_text("/proc/cpuinfo"), *meminfo = proc_text("/proc/meminfo"), processor[128];
    bool filled = fill_dlio(session, &facts, &memory, &cpus, err);
    processor_name(cpuinfo, processor);
    facts.cpuinfo = cpuinfo;
    facts.meminfo = meminfo;
    facts.processor = *processor ? processor : NULL;
    bool done =
        filled &&
        result_dlio_save_ranks(folder, &session->run.metrics, session->options.run.each, &facts, err) &&
        (!first || result_dlio_save_summary(folder, &session->run.whole, &facts, err)) &&
        (!first || write_own(session, folder, NULL, err)) &&
        (!first || save_configuration(session, folder, err)) &&
        (!session->options.timeline || save_timeline(session, folder, err));
    free(memory);
    free(cpus);
    free(cpuinfo);
    free(meminfo);
    return comm_agree(comm, done, "the results", err);
}
