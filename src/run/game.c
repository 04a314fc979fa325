#include "core/clock.h"
#include "core/hash.h"
#include "core/statistics.h"
#include "core/stop.h"
#include "core/vector.h"
#include "run/need.h"
#include "run/price.h"
#include "run/report.h"
#include "run/run.h"
#include "run/wire.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What ranks tell each other before and after a run. Every call has a number, by which its messages are known; a rank
 * can be one call ahead of another. */

#define ROUNDS 16   /* of the clocks */
#define NAP    0.03 /* seconds of one wait */
#define LOOKS  0.2  /* of the wire's silence: between two looks at the wire during other work */

struct blob {
    int from;
    uint32_t number;
    void *bytes;
    size_t length;
};

struct talk {
    struct wire *wire;
    struct blob *blobs;
    size_t count, capacity;
    uint32_t number;
    bool failed;
    const char *gone[WIRE_MAX_RANKS]; /* why it is lost, though what it has said may still be heard */
    double looked;                    /* when talk_work last did so */
};

static struct talk *talk_new(struct wire *wire, struct error *err)
{
    struct talk *talk = calloc(1, sizeof *talk);
    if (talk)
        talk->wire = wire;
    else
        error_memory(err);
    return talk;
}

static void talk_free(struct talk *talk)
{
    for (size_t i = 0; talk && i < talk->count; i++)
        free(talk->blobs[i].bytes);
    if (talk)
        free(talk->blobs);
    free(talk);
}

/* For the receiver: a control message has arrived. */
static bool talk_place(struct talk *talk, const struct wire_head *head, void **bytes, struct error *err)
{
    (void)talk;
    *bytes = malloc((size_t)head->length + 1);
    return *bytes || error_memory(err);
}

static bool talk_arrived(struct talk *talk, const struct wire_head *head, void *bytes, struct error *err)
{
    if (head->kind == WIRE_FAILED) {
        const char *text = bytes;
        size_t length = (size_t)head->length;
        enum error_kind kind =
            head->number > 0 && head->number < 5 ? (enum error_kind)head->number : ERROR_FAILED;
        error_set(err, kind, "%.*s", (int)length, length > 0 ? text : "");
        free(bytes);
        talk->failed = true; /* all know of it */
        return false;
    }
    const struct blob blob = {head->from, head->number, bytes, (size_t)head->length};
    if (VECTOR_ADD(talk->blobs, talk->count, talk->capacity, blob))
        return true;
    free(bytes);
    return error_memory(err);
}

/* For the receiver: a rank is lost, which does not by itself end the run; the caller keeps `why`. */
static void talk_lost(struct talk *talk, int rank, const char *why)
{
    talk->gone[rank] = why;
}

static bool say(struct talk *talk, int to, const void *bytes, size_t length, struct error *err)
{
    struct wire_head head = {
        .kind = WIRE_CONTROL, .to = to, .number = talk->number, .length = (int64_t)length};
    return wire_send(talk->wire, &head, bytes, NULL, err);
}

/* Waits for what `from` says in this call; the caller frees blob->bytes. */
static bool hear(struct talk *talk, int from, double nap, struct blob *blob, struct error *err)
{
    for (;;) {
        for (size_t i = 0; i < talk->count; i++)
            if (talk->blobs[i].from == from && talk->blobs[i].number == talk->number) {
                *blob = talk->blobs[i];
                talk->blobs[i] = talk->blobs[--talk->count];
                talk->blobs[talk->count].bytes = NULL; /* its owner is another now */
                return true;
            }
        if (talk->gone[from])
            return error_set(err, ERROR_FAILED, "rank %d is lost: %s", from, talk->gone[from]);
        if (stop_obeyed(err) || !wire_poll(talk->wire, clock_now() + nap, err))
            return false;
    }
}

bool talk_work(struct talk *talk, struct error *err)
{
    double now = clock_now();
    if (stop_obeyed(err))
        return false;
    if (now - talk->looked < LOOKS * talk->wire->silence)
        return true;
    talk->looked = now;
    return wire_poll(talk->wire, now, err);
}

bool talk_gather(struct talk *talk, const void *bytes, size_t length, talk_visit *visit, void *context,
                 struct error *err)
{
    talk->number++;
    if (talk->wire->rank != 0)
        return say(talk, 0, bytes, length, err);
    bool ok = visit(context, 0, bytes, length, err);
    for (int rank = 1; ok && rank < talk->wire->size; rank++) {
        struct blob blob;
        if (!hear(talk, rank, NAP, &blob, err))
            return false;
        ok = visit(context, rank, blob.bytes, blob.length, err);
        free(blob.bytes);
    }
    return ok;
}

/* Broadcasts `length` bytes from rank 0. */
static bool talk_tell(struct talk *talk, void *bytes, size_t length, struct error *err)
{
    struct blob blob;
    talk->number++;
    if (talk->wire->rank == 0) {
        for (int rank = 1; rank < talk->wire->size; rank++)
            if (!say(talk, rank, bytes, length, err))
                return false;
        return true;
    }
    if (!hear(talk, 0, NAP, &blob, err))
        return false;
    bool right = blob.length == length;
    if (right)
        memcpy(bytes, blob.bytes, length);
    free(blob.bytes);
    return right ||
           error_set(err, ERROR_FAILED, "rank 0 sent another message than rank %d expects", talk->wire->rank);
}

/* Rank 0 asks each rank some times what its clock says; the answer that came soonest counts. */
static bool ask_clock(struct talk *talk, int rank, double answer[2], struct error *err)
{
    answer[1] = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        struct blob blob;
        double before = clock_now(), theirs = 0.0;
        if (!say(talk, rank, &before, sizeof before, err) || !hear(talk, rank, i > 0 ? 0.0 : NAP, &blob, err))
            return false;
        double after = clock_now();
        if (blob.length == sizeof theirs)
            memcpy(&theirs, blob.bytes, sizeof theirs);
        free(blob.bytes);
        if (0.5 * (after - before) < answer[1]) {
            answer[1] = 0.5 * (after - before);
            answer[0] = 0.5 * (before + after) - theirs;
        }
    }
    return say(talk, rank, answer, 2 * sizeof *answer, err);
}

static bool answer_clock(struct talk *talk, double answer[2], struct error *err)
{
    for (int i = 0; i <= ROUNDS; i++) {
        struct blob blob;
        if (!hear(talk, 0, i > 0 ? 0.0 : NAP, &blob, err))
            return false;
        double now = clock_now();
        if (i == ROUNDS && blob.length == 2 * sizeof *answer)
            memcpy(answer, blob.bytes, blob.length);
        free(blob.bytes);
        if (i < ROUNDS && !say(talk, 0, &now, sizeof now, err))
            return false;
    }
    return true;
}

/* Measures the seconds to add to this rank's clock to get rank 0's, and their error: half the shortest round trip. */
static bool talk_clock(struct talk *talk, double *offset, double *error_of_it, struct error *err)
{
    double answer[2] = {0.0, 0.0}, worst = 0.0;
    talk->number++;
    if (talk->wire->rank > 0) {
        if (!answer_clock(talk, answer, err))
            return false;
        worst = answer[1];
    }
    for (int rank = 1; talk->wire->rank == 0 && rank < talk->wire->size; rank++) {
        if (!ask_clock(talk, rank, answer, err))
            return false;
        worst = fmax(worst, answer[1]);
    }
    *offset = talk->wire->rank == 0 ? 0.0 : answer[0];
    *error_of_it = worst;
    return true;
}

/* Sends all other ranks that this one has failed. */
static void talk_give_up(struct talk *talk, const struct error *why)
{
    struct error ignored;
    if (talk->failed)
        return;
    for (int rank = 0; rank < talk->wire->size; rank++) {
        struct wire_head head = {.kind = WIRE_FAILED,
                                 .to = rank,
                                 .number = (uint32_t)why->kind,
                                 .length = (int64_t)strlen(why->text)};
        if (rank != talk->wire->rank)
            (void)wire_send(talk->wire, &head, why->text, NULL, &ignored);
    }
    double end = clock_now() + 0.2; /* for those whose sockets are full */
    while (clock_now() < end && wire_poll(talk->wire, clock_now() + 0.02, &ignored))
        ;
}

#define LEAD        0.03 /* seconds from the last word of rank 0 to the beginning */
#define MAX_DEVICES 65536
#define MAX_NAMED   128 /* bytes of the ranks that a message names */

struct game {
    struct wire *wire;
    struct talk *talk;
    struct sim_tasks *tasks;
    struct engine_system priced, played;
    struct sim_tasks shown; /* the tasks with the system that is played */
    struct player player;
    double offset, uncertain; /* of this rank's clock before the run, and how wrong that can be */
    const struct run_options *options;
    int64_t *peaks;  /* of activations, simulated */
    double *seconds; /* room for those of each iteration */
    bool playing;
};

/* ---- what comes ---- */

static void *place(void *context, const struct wire_head *head, struct error *err)
{
    struct game *game = context;
    void *bytes = NULL;
    if (head->kind == WIRE_CONTROL || head->kind == WIRE_FAILED)
        return talk_place(game->talk, head, &bytes, err) ? bytes : NULL;
    if (game->playing)
        return pool_take(&game->player.pool, head->length, err);
    return error_null(err, ERROR_FAILED, "rank %d sends before it was asked to", head->from);
}

static bool arrived(void *context, const struct wire_head *head, void *bytes, struct error *err)
{
    struct game *game = context;
    if (head->kind == WIRE_CONTROL || head->kind == WIRE_FAILED)
        return talk_arrived(game->talk, head, bytes, err);
    if (!game->playing)
        return error_set(err, ERROR_FAILED, "rank %d sends before it was asked to", head->from);
    return head->kind == WIRE_MESSAGE ? message_arrived(&game->player, head, bytes, err)
                                      : collective_arrived(&game->player, head, bytes, err);
}

/* Names, beside the rank that is lost, those that are as silent: behind a cable or a switch there is often more than
 * one. */
static bool lost(void *context, int rank, const char *why, struct error *err)
{
    struct game *game = context;
    const struct wire *wire = game->wire;
    char others[MAX_NAMED] = "";
    size_t length = 0;
    double now = clock_now();
    talk_lost(game->talk, rank, why);
    if (game->player.ending)
        return true;
    for (int other = 0; other < wire->size && length + 24 < sizeof others; other++)
        if (other != rank && other != wire->rank && now - wire->peers[other].heard > 0.5 * wire->silence)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s%d",
                                       length > 0 ? ", " : "; as silent: rank ", other);
    return error_set(err, ERROR_FAILED, "rank %d is lost: %s%s", rank, why, others);
}

/* ---- what is simulated ---- */

struct watcher {
    struct game *game;
    const struct engine_system *system;
    double *ends;
    int *done; /* of each device: iterations */
    int iterations;
    double share;
    const struct timeline_sink *sink; /* that is told, too; NULL: none */
};

static bool watch(void *context, const struct timeline_task *task, struct error *err)
{
    struct watcher *watcher = context;
    struct timeline_task told = *task;
    if (task->kind != TASK_LOAD) /* as many bytes as are moved when it is played */
        told.bytes = (double)player_share_of(task->bytes, watcher->share);
    if (watcher->sink && !watcher->sink->task(watcher->sink->context, &told, err))
        return false;
    if (!talk_work(watcher->game->talk, err))
        return false;
    if (task->kind == TASK_OPTIMIZER && watcher->done[task->device] < watcher->iterations) {
        double *end = &watcher->ends[watcher->done[task->device]++];
        *end = fmax(*end, task->end);
    }
    return true;
}

static bool simulate(struct game *game, struct run_result *result, struct error *err)
{
    size_t devices = (size_t)game->priced.device_count;
    struct engine_result simulated = {.makespan = 0.0};
    struct watcher watcher = {
        .game = game, .system = &game->priced, .ends = result->ends[0], .iterations = result->iterations};
    watcher.sink = game->options->simulated;
    watcher.share = game->options->byte_share;
    watcher.done = calloc(devices + 1, sizeof *watcher.done);
    game->peaks = ARENA_ARRAY(&result->arena, devices + 1, int64_t);
    const struct timeline_sink sink = {.context = &watcher, .task = watch};
    bool ok =
        watcher.done && game->peaks ? engine_run(&game->priced, &sink, &simulated, err) : error_memory(err);
    for (size_t d = 0; ok && d < devices; d++)
        game->peaks[d] = simulated.devices[d].peak_of[MEMORY_ACTIVATIONS];
    engine_result_release(&simulated);
    free(watcher.done);
    return ok;
}

/* Returns the median of the iterations' seconds, for which there is room; `other` is not part of the tasks of a single
 * one. */
static double median_of(const double *ends, int count, double other, double *seconds)
{
    for (int i = 0; i < count; i++)
        seconds[i] = i == 0 ? ends[0] + other : ends[i] - ends[i - 1];
    sort_doubles(seconds, count);
    return count > 0 ? quantile_of(seconds, count, 0.5) : NAN;
}

/* ---- before and after ---- */

/* What ranks tell rank 0 before a run. */
struct greeting {
    uint64_t hash; /* of the tasks */
    struct need need;
};

struct greeted {
    uint64_t hash;
    struct need_sum sum;
};

static bool compare_tasks(void *context, int rank, const void *bytes, size_t length, struct error *err)
{
    struct greeted *greeted = context;
    struct greeting greeting;
    if (length == sizeof greeting)
        memcpy(&greeting, bytes, length);
    if (length != sizeof greeting || greeting.hash != greeted->hash)
        return error_set(err, ERROR_INPUT, "rank %d runs another plan or other options than rank 0", rank);
    return need_add(&greeted->sum, &greeting.need, err);
}

static uint64_t hash_of(const struct game *game)
{
    const struct engine_system *system = &game->played;
    uint64_t hash = hash_bytes(0, &system->device_count, sizeof system->device_count);
    hash = hash_bytes(hash, &game->options->byte_share, sizeof game->options->byte_share);
    for (int i = 0; i < system->template_count; i++)
        for (int k = 0; k < system->templates[i].count; k++) {
            const struct engine_task *task = &system->templates[i].tasks[k];
            const double numbers[] = {task->seconds, task->bytes, task->delay, task->share};
            const int kinds[] = {task->receive, task->send, task->group, task->mark, task->stream};
            hash = hash_bytes(hash_bytes(hash, numbers, sizeof numbers), kinds, sizeof kinds);
        }
    for (int i = 0; i < system->order_count; i++)
        hash = hash_bytes(hash, system->orders[i].passes,
                          system->orders[i].count * sizeof *system->orders[i].passes);
    return hash;
}

/* All ranks have the same tasks, know their clocks, and a time to begin at. */
static bool agree(struct game *game, double *start, struct run_result *result, struct error *err)
{
    struct greeting greeting = {.hash = hash_of(game)};
    struct greeted greeted = {.hash = greeting.hash};
    bool enough = true;   /* memory, says rank 0 */
    game->playing = true; /* one that is late hears the others begin while it still listens for the clock */
    bool ok = need_look(&greeting.need, &game->player, err) &&
              talk_gather(game->talk, &greeting, sizeof greeting, compare_tasks, &greeted, err);
    ok = ok && need_check(&greeted.sum, err);
    need_release(&greeted.sum);
    if (!ok || !talk_tell(game->talk, &enough, sizeof enough, err) || !message_prepare(&game->player, err) ||
        !talk_clock(game->talk, &game->offset, &game->uncertain, err))
        return false;
    result->clock_error = game->uncertain;
    double begin = clock_now() + LEAD;
    if (!talk_tell(game->talk, &begin, sizeof begin, err))
        return false;
    *start = begin - game->offset;
    return true;
}

static bool set_ranks(const struct game *game, struct run_result *result, struct error *err)
{
    int devices = game->tasks->system->device_count, size = game->wire->size;
    if (devices > MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "a plan of %d devices: a run plays at most %d", devices,
                         MAX_DEVICES);
    if (size > devices)
        return error_set(err, ERROR_USAGE, "%d ranks for %d devices: each rank needs at least one", size,
                         devices);
    int per_rank = game->options->per_rank > 0 ? game->options->per_rank : (devices + size - 1) / size;
    if ((int64_t)per_rank * size < devices)
        return error_set(err, ERROR_USAGE,
                         "--devices-per-rank %d: %d ranks play %lld of the plan's %d devices", per_rank, size,
                         (long long)per_rank * size, devices);
    result->ranks = size;
    result->devices = devices;
    result->per_rank = per_rank;
    return true;
}

static bool prepare(struct game *game, struct plan *plan, struct run_result *result, struct error *err)
{
    const struct run_options *options = game->options;
    result->iterations = options->iterations;
    if (plan->model && !(result->model = arena_string(&result->arena, plan->model)))
        return error_memory(err);
    game->tasks = sim_tasks_make(plan, options->sim, options->iterations, err);
    if (!game->tasks || !set_ranks(game, result, err))
        return false;
    for (int i = 0; i < 2; i++)
        if (!(result->ends[i] = ARENA_ARRAY(&result->arena, (size_t)options->iterations + 1, double)))
            return error_memory(err);
    if (!(game->seconds = ARENA_ARRAY(&result->arena, (size_t)options->iterations + 1, double)))
        return error_memory(err);
    if (!run_price_link(game->tasks->system, &options->link, &result->arena, &game->priced, err) ||
        !run_free_link(&game->priced, &options->link, &result->arena, &game->played, err))
        return false;
    game->shown = *game->tasks;
    game->shown.system = &game->played;
    result->schedule = arena_string(&result->arena, game->tasks->schedule);
    return simulate(game, result, err);
}

static bool open_work(struct game *game, struct plan *plan, struct run_result *result, struct error *err)
{
    struct player *player = &game->player;
    const struct run_options *options = game->options;
    if (!options->kernels && !options->disk)
        return true;
    game->wire->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (game->wire->wake < 0)
        return error_set(err, ERROR_FAILED, "cannot make an eventfd: %s", strerror(errno));
    if (options->disk && !(player->disk = disk_open(options->disk, game->tasks, options->sim->load_bytes,
                                                    player->first, player->count, game->wire->wake, err)))
        return false;
    if (!options->kernels)
        return true;
    player->compute = compute_open(options->kernels, game->tasks, plan, player->first, player->count,
                                   game->wire->wake, err);
    if (!player->compute)
        return false;
    result->computed = arena_string(&result->arena, compute_library(player->compute));
    return result->computed || error_memory(err);
}

static double own_processor(const struct game *game)
{
    return clock_processor() - (game->player.compute ? compute_seconds(game->player.compute).processor : 0.0);
}

double run_drift(double change, double uncertain, double seconds)
{
    return fabs(change) > uncertain && seconds > 0.0 ? change / seconds : 0.0;
}

/* Compares the clocks again: times of a clock that is faster or slower than rank 0's are corrected, as if it had always
 * been. */
static bool see_drift(struct game *game, double start, struct error *err)
{
    double offset, uncertain;
    int64_t sent = game->wire->sent_bytes;
    if (!talk_clock(game->talk, &offset, &uncertain, err))
        return false;
    game->wire->sent_bytes = sent; /* of the plan */
    game->player.drift = run_drift(offset - game->offset, uncertain + game->uncertain, clock_now() - start);
    return true;
}

static bool play(struct game *game, struct plan *plan, struct run_result *result, struct error *err)
{
    const struct run_options *options = game->options;
    const struct player_options how = {
        .per_rank = result->per_rank, .byte_share = options->byte_share, .keep = options->sink != NULL};
    double start, processor;
    if (!player_init(&game->player, &game->shown, &how, game->wire, game->talk, err) ||
        !open_work(game, plan, result, err) || !agree(game, &start, result, err))
        return false;
    game->wire->sent_bytes = 0;
    processor = own_processor(game);
    if (!player_play(&game->player, start, options->timeout, err))
        return false;
    processor = own_processor(game) - processor;
    return see_drift(game, start, err) && player_check(&game->player, game->peaks, err) &&
           (!game->player.disk || disk_check(game->player.disk, err)) &&
           report_gather(&game->player, processor, options->sink, result, err);
}

static bool all_over(struct game *game, struct error *err)
{
    bool over = true;
    game->player.ending = true;
    return talk_tell(game->talk, &over, sizeof over, err);
}

bool run_play(struct wire *wire, struct plan *plan, const struct run_options *options,
              struct run_result *result, struct error *err)
{
    struct game *game = calloc(1, sizeof *game);
    *result = (struct run_result){.planned = plan->iteration_time > 0.0 ? plan->iteration_time : NAN,
                                  .expected = plan->expected};
    if (!game)
        return error_memory(err);
    game->wire = wire;
    game->options = options;
    game->talk = talk_new(wire, err);
    wire->receiver = (struct wire_receiver){game, place, arrived, lost};
    bool ok = game->talk && prepare(game, plan, result, err) && play(game, plan, result, err) &&
              all_over(game, err);
    if (ok) {
        double other = game->tasks->other;
        result->simulated = median_of(result->ends[0], result->iterations, other, game->seconds);
        result->played = median_of(result->ends[1], result->iterations, other, game->seconds);
    } else if (game->talk) {
        talk_give_up(game->talk, err);
        wire_forget(wire);
    }
    wire->receiver = (struct wire_receiver){.context = NULL};
    compute_close(game->player.compute);
    disk_close(game->player.disk);
    if (wire->wake >= 0)
        close(wire->wake);
    wire->wake = -1;
    if (game->player.devices)
        player_release(&game->player);
    talk_free(game->talk);
    sim_tasks_free(game->tasks);
    free(game);
    if (!ok)
        run_result_release(result);
    return ok;
}

void run_result_release(struct run_result *result)
{
    arena_release(&result->arena);
    *result = (struct run_result){.ranks = 0};
}
