/* The part of the delivered bytes that came from the storage: each process counts in each epoch, and rank
 * 0 adds up the processes of a host. */
#include "feed/run_internal.h"

#include <stdlib.h>
#include <string.h>

static struct origin_count *count_of(const struct run *run, int epoch, enum metrics_phase phase)
{
    return &run->origins[(size_t)epoch * METRICS_PHASES + phase];
}

bool run_origin_begin(struct run *run, struct error *err)
{
    int64_t bytes;
    run->process_counts = storage_process_read(&bytes);
    run->origins = calloc((size_t)run->epochs * METRICS_PHASES, sizeof *run->origins);
    return run->origins ? origin_evidence_for(run->options->loader.storage, &run->evidence, err)
                        : error_memory(err);
}

static int64_t delivered(const struct run *run, enum metrics_phase phase)
{
    struct loader_counts counts = {0};
    if (run->loaders[phase])
        loader_add_counts(run->loaders[phase], &counts);
    return counts.bytes;
}

void run_origin_epoch(struct run *run, int epoch, const struct run_look looks[METRICS_PHASES])
{
    for (int phase = 0; phase < METRICS_PHASES; phase++) {
        struct origin_count *count = count_of(run, epoch, (enum metrics_phase)phase);
        *count = (struct origin_count){
            .delivered = -delivered(run, (enum metrics_phase)phase),
            .read = run->process_counts ? 0 : -1,
            .size = looks[phase].bytes,
            .resident = looks[phase].known ? looks[phase].resident : -1,
        };
    }
    storage_process_read(&run->process_read);
}

void run_origin_read(struct run *run, int epoch, enum metrics_phase phase)
{
    struct origin_count *count = count_of(run, epoch, phase);
    int64_t before = run->process_read;
    if (count->read >= 0 && storage_process_read(&run->process_read))
        count->read += run->process_read - before;
}

void run_origin_epoch_end(struct run *run, int epoch)
{
    for (int phase = 0; phase < METRICS_PHASES; phase++)
        count_of(run, epoch, (enum metrics_phase)phase)->delivered +=
            delivered(run, (enum metrics_phase)phase);
}

/* ---- Put together ---- */

/* Begins a rank's message; its counts follow. */
struct message {
    enum origin_evidence evidence;
    struct run_look before, after;
};

struct hosts {
    struct run *run;
    int count;
    struct {
        const char *name;
        enum origin_evidence evidence;
        struct origin_count *counts; /* as struct run has them */
    } * each;
};

static size_t count_bytes(const struct run *run)
{
    return (size_t)run->epochs * METRICS_PHASES * sizeof(struct origin_count);
}

static void add_look(struct run_look *sum, const struct run_look *look)
{
    sum->known = sum->known && look->known;
    sum->files += look->files;
    sum->bytes += look->bytes;
    sum->resident += look->resident;
}

static void hide_unknown(struct run_look *look)
{
    if (!look->known)
        look->bytes = look->resident = -1;
}

static bool add_rank(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    struct hosts *hosts = context;
    struct run *run = hosts->run;
    struct run_resident *resident = &run->result->resident;
    struct message message;
    const char *name = comm_host(run->options->comm, rank);
    int at = 0;
    if (length != sizeof message + count_bytes(run))
        return error_set(err, ERROR_FAILED, "rank %d runs another version of rehearse", rank);
    memcpy(&message, bytes, sizeof message);
    while (at < hosts->count && strcmp(hosts->each[at].name, name) != 0)
        at++;
    if (at == hosts->count) {
        hosts->each[at].name = name;
        hosts->each[at].evidence = message.evidence;
        hosts->each[at].counts = calloc((size_t)run->epochs * METRICS_PHASES, sizeof(struct origin_count));
        if (!hosts->each[at].counts)
            return error_memory(err);
        hosts->count++;
    }
    for (int i = 0; i < run->epochs * METRICS_PHASES; i++) {
        struct origin_count count;
        memcpy(&count, bytes + sizeof message + (size_t)i * sizeof count, sizeof count);
        origin_add(&hosts->each[at].counts[i], &count);
    }
    if (at == 0 && rank == 0)
        *resident = (struct run_resident){message.before, message.after};
    else if (at == 0) {
        add_look(&resident->before, &message.before);
        add_look(&resident->after, &message.after);
    }
    return true;
}

static void sum_up(const struct hosts *hosts)
{
    struct run *run = hosts->run;
    hide_unknown(&run->result->resident.before);
    hide_unknown(&run->result->resident.after);
    for (int at = 0; at < hosts->count; at++)
        for (int epoch = 0; epoch < run->epochs; epoch++)
            origin_sum(&run->result->origin, hosts->each[at].evidence,
                       &hosts->each[at].counts[(size_t)epoch * METRICS_PHASES + METRICS_TRAIN]);
}

bool run_origin_gather(struct run *run, const struct run_look *before, const struct run_look *after,
                       struct error *err)
{
    struct comm *comm = run->options->comm;
    struct hosts hosts = {.run = run};
    struct message head;
    memset(&head, 0, sizeof head);
    head.evidence = run->evidence;
    head.before = *before;
    head.after = *after;
    char *message = malloc(sizeof head + count_bytes(run));
    hosts.each = calloc((size_t)comm_hosts(comm), sizeof *hosts.each);
    bool ok = message && hosts.each;
    if (ok) {
        memcpy(message, &head, sizeof head);
        memcpy(message + sizeof head, run->origins, count_bytes(run));
    }
    ok = comm_agree(comm, ok ? true : error_memory(err), "where the bytes came from", err) &&
         comm_gather(comm, message, sizeof head + count_bytes(run), add_rank, &hosts,
                     "where the bytes came from", err);
    if (ok && comm_rank(comm) == 0)
        sum_up(&hosts);
    for (int i = 0; hosts.each && i < hosts.count; i++)
        free(hosts.each[i].counts);
    free(hosts.each);
    free(message);
    return ok;
}
