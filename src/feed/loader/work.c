#include "core/clock.h"
#include "core/heap.h"
#include "core/text.h"
#include "feed/loader/emulate.h"
#include "feed/loader/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((int64_t)1 << 20) /* of one piece of work, approximately */
#define MAX_PIECE   ((int64_t)64)      /* samples */
#define STACK       ((size_t)1 << 20)
#define MAX_ONCE    ((int64_t)1 << 33) /* samples: 1 GiB of bits */

/* ---- The queue ---- */

/* Returns true if the left slot is needed first. */
static bool before(const void *left, const void *right, const void *context)
{
    const struct loader_slot *a = *(struct loader_slot *const *)left,
                             *b = *(struct loader_slot *const *)right;
    (void)context;
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline;
    return a->step != b->step ? a->step < b->step : a->accelerator < b->accelerator;
}

static void queue_add(struct loader_queue *queue, struct loader_slot *slot)
{
    queue->slots[queue->count++] = slot;
    heap_push(queue->slots, (size_t)queue->count, sizeof *queue->slots, before, NULL);
}

static void queue_remove_first(struct loader_queue *queue)
{
    heap_pop(queue->slots, (size_t)queue->count, sizeof *queue->slots, before, NULL);
    queue->count--;
}

/* Takes the next piece of the batch that is needed first; false at the end. Each thread wakes the next
 * while there is work, so that adding work needs to wake only one. */
static bool take_piece(struct loader *loader, struct loader_piece *piece)
{
    struct loader_queue *queue = &loader->queue;
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->ending) {
        queue->idle++;
        pthread_cond_wait(&queue->work, &queue->lock);
        queue->idle--;
    }
    bool found = !queue->ending;
    if (found) {
        struct loader_slot *slot = queue->slots[0];
        int64_t left = loader->batch - slot->next;
        *piece = (struct loader_piece){slot, slot->next, left < loader->piece ? left : loader->piece};
        slot->next += piece->count;
        if (slot->next == loader->batch)
            queue_remove_first(queue);
        queue->busy++;
        if (queue->count > 0 && queue->idle > 0)
            pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

static void piece_done(struct loader *loader)
{
    struct loader_queue *queue = &loader->queue;
    pthread_mutex_lock(&queue->lock);
    if (--queue->busy == 0)
        pthread_cond_signal(&queue->rest);
    pthread_mutex_unlock(&queue->lock);
}

/* Drops the work that no thread has begun, and waits for the rest. */
static void queue_clear(struct loader *loader)
{
    struct loader_queue *queue = &loader->queue;
    pthread_mutex_lock(&queue->lock);
    queue->count = 0;
    for (int i = 0; i < loader->options.count; i++)
        loader->windows[i].given = 0;
    while (queue->busy > 0)
        pthread_cond_wait(&queue->rest, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- Batches ---- */

/* Draws the nanoseconds of preparing a sample. */
static int64_t preprocess_time(const struct loader *loader, const struct loader_slot *slot, int64_t sample)
{
    const struct loader_options *options = &loader->options;
    struct distribution_draw draw = {
        .seed = options->seed,
        .stream = (uint32_t)(options->first + slot->accelerator),
        .step = ((uint64_t)loader->pass.epoch * (uint64_t)loader->pass.steps + (uint64_t)slot->step) *
                    (uint64_t)loader->batch +
                (uint64_t)sample,
    };
    return distribution_nanoseconds(distribution_sample(&options->preprocess, draw));
}

/* Returns the time when the last sample leaves the emulated workers; each takes the next sample that was
 * read. */
static int64_t preprocessed(struct loader *loader, const struct loader_slot *slot)
{
    const struct loader_options *options = &loader->options;
    struct loader_window *window = &loader->windows[slot->accelerator];
    int64_t last = 0;
    for (int64_t i = 0; i < loader->batch; i++) {
        int64_t *worker = window->workers;
        for (int w = 1; w < options->workers; w++)
            if (window->workers[w] < *worker)
                worker = &window->workers[w];
        int64_t start = *worker > slot->read_at[i] ? *worker : slot->read_at[i];
        int64_t length = preprocess_time(loader, slot, i);
        *worker = start < DISTRIBUTION_NEVER ? start + length : start;
        last = *worker > last ? *worker : last;
    }
    return last;
}

/* Marks the batch ready. Returns true if loader_wait must be woken. */
static bool batch_ready(struct loader *loader, struct loader_slot *slot, int64_t ready)
{
    struct loader_window *window = &loader->windows[slot->accelerator];
    slot->ready = ready;
    slot->done = true;
    loader->ready_count++;
    window->done_count++;
    if (window->wanted != slot->step)
        return false;
    if (slot->step < loader->pass.excluded) {
        const struct loader_busy now = loader_busy_now(loader);
        slot->ahead = loader_busy_ahead(&window->waited, &now);
    }
    window->wanted = -1;
    loader->told[loader->told_count++] = slot->accelerator;
    return true;
}

/* Passes batches through the emulated workers in their order, whichever was read first. */
static bool preprocess(struct loader *loader, struct loader_window *window)
{
    bool told = false;
    struct loader_slot *slot = &window->slots[window->preprocessed % loader->window];
    while (slot->read && slot->step == window->preprocessed) {
        slot->read = false;
        told |= batch_ready(loader, slot, preprocessed(loader, slot));
        slot = &window->slots[++window->preprocessed % loader->window];
    }
    return told;
}

/* Ends the reading of a batch. */
static void batch_done(struct loader *loader, struct loader_slot *slot)
{
    bool told;
    int64_t now = clock_nanoseconds();
    pthread_mutex_lock(&loader->lock);
    slot->read = true;
    if (slot->read_at)
        told = preprocess(loader, &loader->windows[slot->accelerator]);
    else
        told = batch_ready(loader, slot, now);
    bool wake = told && loader->waiting;
    if (wake)
        loader->waiting = false;
    pthread_mutex_unlock(&loader->lock);
    if (wake)
        pthread_cond_signal(&loader->done);
}

static void fail(struct loader *loader, const struct error *err)
{
    pthread_mutex_lock(&loader->lock);
    if (!atomic_load(&loader->failed)) {
        loader->error = *err;
        atomic_store(&loader->failed, true);
    }
    loader->waiting = false;
    pthread_mutex_unlock(&loader->lock);
    pthread_cond_signal(&loader->done);
}

static bool read_piece(struct loader_thread *thread, const struct loader_piece *piece, struct error *err)
{
    struct loader *loader = thread->loader;
    struct loader_slot *slot = piece->slot;
    int64_t bytes = 0, sample_bytes;
    uint64_t mark = 0;
    struct order_place place;
    for (int64_t i = piece->first; i < piece->first + piece->count; i++) {
        if (atomic_load(&loader->failed)) /* another thread failed */
            return error_set(err, ERROR_FAILED, "reading was stopped");
        if (!order_at(loader->pass.order, loader->pass.epoch, loader->options.first + slot->accelerator,
                      slot->step, i, &place))
            return error_set(err, ERROR_FAILED, "step %" PRId64 " has no sample %" PRId64, slot->step, i);
        if (!(loader->options.emulate
                  ? emulate_read(thread, &place, preprocess_time(loader, slot, i), &sample_bytes, err)
                  : loader_read_sample(thread, &place, &sample_bytes, err)))
            return false;
        bytes += sample_bytes;
        mark += order_mark(loader->pass.order, &place);
        if (slot->read_at)
            slot->read_at[i] = clock_nanoseconds();
    }
    slot->bytes += bytes;
    slot->mark += mark;
    return true;
}

static void *work(void *argument)
{
    struct loader_thread *thread = argument;
    struct loader *loader = thread->loader;
    struct loader_piece piece = {0};
    struct error err;
    text_use_plain_locale();
    while (loader->options.emulate ? loader_take_own(thread, &piece) : take_piece(loader, &piece)) {
        if (!atomic_load(&loader->failed)) {
            loader_busy_begin(thread, piece.slot->step);
            bool read = read_piece(thread, &piece, &err) && emulate_batch(thread, &err);
            loader_busy_end(thread);
            if (!read)
                fail(loader, &err);
            else if (atomic_fetch_sub(&piece.slot->left, piece.count) == piece.count)
                batch_done(loader, piece.slot);
        }
        piece_done(loader);
    }
    return NULL;
}

/* Requests the next batch of an accelerator's window. `now`: the time of the batch before those in the
 * window. */
static void ask(struct loader *loader, int accelerator, int64_t now)
{
    struct loader_window *window = &loader->windows[accelerator];
    struct loader_queue *queue = &loader->queue;
    struct loader_slot *slot = &window->slots[window->asked % loader->window];
    slot->step = window->asked++;
    slot->deadline = now + loader->window * loader->pass.interval;
    slot->next = 0;
    slot->left = loader->batch;
    slot->bytes = 0;
    slot->mark = 0;
    slot->ahead = 0;
    bool emulates = loader->options.emulate;
    pthread_mutex_lock(&queue->lock);
    if (emulates)
        window->given = window->asked;
    else
        queue_add(queue, slot);
    bool wake = queue->idle > 0;
    pthread_mutex_unlock(&queue->lock);
    if (emulates)
        pthread_cond_broadcast(&queue->work);
    else if (wake)
        pthread_cond_signal(&queue->work);
}

/* ---- Beginning and ending ---- */

static bool check(const struct loader_options *options, struct error *err)
{
    if (options->count < 1 || options->read_threads < 0 || options->workers < 0 || options->prefetch < 0)
        return error_set(err, ERROR_INPUT,
                         "accelerators must be positive, read threads and prefetch not negative");
    if (options->prefetch > LOADER_MAX_WINDOW)
        return error_set(err, ERROR_INPUT, "reader.prefetch_size: at most %d batches, found %d",
                         LOADER_MAX_WINDOW, options->prefetch);
    if (options->max_threads < 0 || options->max_threads > LOADER_MAX_THREADS)
        return error_set(err, ERROR_INPUT, "read threads of a process: at most %d", LOADER_MAX_THREADS);
    return true;
}

static int thread_count(const struct loader_options *options)
{
    int max = options->max_threads > 0 ? options->max_threads : LOADER_THREADS;
    return options->count < max / options->read_threads ? options->count * options->read_threads : max;
}

int64_t loader_numbers_per_file(const struct dataset_layout *layout)
{
    int64_t train = dataset_samples_per_file(layout, false), eval = dataset_samples_per_file(layout, true);
    return train > eval ? train : eval;
}

static bool make_once(struct loader *loader, struct error *err)
{
    const struct dataset_layout *layout = loader->options.layout;
    int64_t samples;
    if (!loader->options.once)
        return true;
    if (__builtin_mul_overflow(dataset_files(layout), loader_numbers_per_file(layout), &samples) ||
        samples > MAX_ONCE)
        return error_set(err, ERROR_INPUT,
                         "reader.read_type: memory: at most %" PRId64 " samples are supported", MAX_ONCE);
    loader->once = calloc((size_t)(samples / 64 + 1), sizeof *loader->once);
    return loader->once || error_memory(err);
}

static bool preprocesses(const struct loader *loader)
{
    const struct distribution *time = &loader->options.preprocess;
    return !loader->options.emulate && (time->type != DISTRIBUTION_CONSTANT || time->first > 0);
}

static bool make_windows(struct loader *loader, struct error *err)
{
    size_t count = (size_t)loader->options.count, window = (size_t)loader->window;
    if (window > SIZE_MAX / count / sizeof(struct loader_slot *))
        return error_memory(err);
    loader->windows = calloc(count, sizeof *loader->windows);
    loader->told = calloc(count, sizeof *loader->told);
    loader->queue.slots = calloc(count * window, sizeof(struct loader_slot *));
    if (!loader->windows || !loader->told || !loader->queue.slots)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        struct loader_window *w = &loader->windows[i];
        w->wanted = -1;
        w->slots = calloc(window, sizeof *w->slots);
        w->workers =
            preprocesses(loader) ? calloc((size_t)loader->options.workers, sizeof *w->workers) : NULL;
        if (!w->slots || (preprocesses(loader) && !w->workers))
            return error_memory(err);
        for (size_t s = 0; s < window; s++)
            w->slots[s].accelerator = (int)i;
    }
    return true;
}

static bool start_threads(struct loader *loader, struct error *err)
{
    int count = thread_count(&loader->options);
    pthread_attr_t attributes;
    loader->threads = calloc((size_t)count, sizeof *loader->threads);
    if (!loader->threads)
        return error_memory(err);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        struct loader_thread *thread = &loader->threads[i];
        thread->loader = loader;
        thread->accelerator = i / loader->options.read_threads;
        thread->worker = i % loader->options.read_threads;
        thread->reader = storage_reader_new(loader->options.storage, err);
        int result = thread->reader ? pthread_create(&thread->thread, &attributes, work, thread) : 0;
        ok = thread->reader && (result == 0 || error_set(err, ERROR_FAILED, "cannot start read thread %d: %s",
                                                         i + 1, strerror(result)));
        if (ok)
            loader->thread_count++;
        else
            storage_reader_free(thread->reader);
    }
    pthread_attr_destroy(&attributes);
    return ok;
}

static void make_locks(struct loader *loader)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->done, &monotonic);
    pthread_mutex_init(&loader->queue.lock, NULL);
    pthread_cond_init(&loader->queue.work, NULL);
    pthread_cond_init(&loader->queue.rest, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static bool make_emulation(struct loader *loader, struct error *err)
{
    const char *format = loader->options.layout->format->name;
    const char *words = emulate_words(loader->options.emulate, format);
    loader->emulate = calloc(1, sizeof *loader->emulate);
    if (!loader->emulate)
        return error_memory(err);
    return words ? emulate_parse(loader->emulate, words, err)
                 : error_set(err, ERROR_INPUT, "reader.emulate: not of %s files", format);
}

struct loader *loader_new(const struct loader_options *options, struct error *err)
{
    if (!check(options, err))
        return NULL;
    struct loader *loader = calloc(1, sizeof *loader);
    if (!loader)
        return error_memory_null(err);
    loader->options = *options;
    if (loader->options.read_threads == 0)
        loader->options.read_threads = 1;
    if (loader->options.workers == 0)
        loader->options.workers = loader->options.read_threads;
    loader->window = options->prefetch > 0 ? options->prefetch : 1;
    make_locks(loader);
    if ((!options->emulate || (loader_check_workers(&loader->options, thread_count(&loader->options), err) &&
                               make_emulation(loader, err))) &&
        make_once(loader, err) && make_windows(loader, err) && start_threads(loader, err))
        return loader;
    loader_free(loader);
    return NULL;
}

bool loader_give_up(struct loader *loader, int64_t patience)
{
    struct loader_queue *queue = &loader->queue;
    struct error err;
    int64_t until = clock_nanoseconds() + patience;
    struct timespec end = clock_timespec(until);
    error_set(&err, ERROR_FAILED, "reading was stopped");
    fail(loader, &err);
    pthread_mutex_lock(&queue->lock);
    queue->count = 0;
    for (int i = 0; i < loader->options.count; i++)
        loader->windows[i].given = 0;
    while (queue->busy > 0 && pthread_cond_timedwait(&queue->rest, &queue->lock, &end) != ETIMEDOUT)
        ;
    bool rests = queue->busy == 0;
    pthread_mutex_unlock(&queue->lock);
    return rests;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->queue.lock);
    loader->queue.ending = true;
    pthread_cond_broadcast(&loader->queue.work);
    pthread_mutex_unlock(&loader->queue.lock);
    for (int i = 0; i < loader->thread_count; i++) {
        pthread_join(loader->threads[i].thread, NULL);
        loader_thread_release(&loader->threads[i]);
    }
    for (int i = 0; loader->windows && i < loader->options.count; i++) {
        struct loader_window *window = &loader->windows[i];
        for (int s = 0; window->slots && s < loader->window; s++)
            free(window->slots[s].read_at);
        free(window->slots);
        free(window->workers);
    }
    pthread_mutex_destroy(&loader->lock);
    pthread_cond_destroy(&loader->done);
    pthread_mutex_destroy(&loader->queue.lock);
    pthread_cond_destroy(&loader->queue.work);
    pthread_cond_destroy(&loader->queue.rest);
    free(loader->threads);
    free(loader->windows);
    free(loader->told);
    free(loader->queue.slots);
    free(loader->once);
    free(loader->emulate);
    free(loader);
}

/* Makes room for the times of samples in batches of this size. */
static bool set_batch(struct loader *loader, int64_t batch, struct error *err)
{
    bool grows = preprocesses(loader) && batch > loader->batch;
    loader->batch = batch;
    for (int i = 0; grows && i < loader->options.count; i++) {
        for (int s = 0; s < loader->window; s++) {
            struct loader_slot *slot = &loader->windows[i].slots[s];
            free(slot->read_at);
            slot->read_at = calloc((size_t)batch, sizeof *slot->read_at);
            if (!slot->read_at)
                return error_memory(err);
        }
    }
    return true;
}

/* Returns the samples of one piece: several small ones, but few enough for all threads to get some. */
static int64_t piece_of(const struct loader *loader)
{
    const struct dataset_layout *layout = loader->options.layout;
    struct dataset_file file;
    dataset_file_init(&file, layout, loader->pass.eval ? layout->files_train : 0);
    int64_t piece = file.record_bytes > 0 ? PIECE_BYTES / file.record_bytes : MAX_PIECE;
    int64_t share = (loader->batch + loader->thread_count - 1) / loader->thread_count;
    piece = piece < share ? piece : share;
    return piece < 1 ? 1 : piece < MAX_PIECE ? piece : MAX_PIECE;
}

bool loader_start(struct loader *loader, const struct loader_pass *pass, struct error *err)
{
    queue_clear(loader);
    if (atomic_load(&loader->failed)) {
        *err = loader->error;
        return false;
    }
    loader->pass = *pass;
    if (!set_batch(loader, pass->order->options.batch, err))
        return false;
    loader->piece = piece_of(loader);
    loader->told_count = 0;
    loader->ready_count = 0;
    for (int i = 0; i < loader->options.count; i++) {
        struct loader_window *window = &loader->windows[i];
        window->asked = window->preprocessed = window->done_count = 0;
        window->wanted = -1;
        for (int s = 0; s < loader->window; s++)
            window->slots[s].done = window->slots[s].read = false;
        for (int w = 0; window->workers && w < loader->options.workers; w++)
            window->workers[w] = 0;
    }
    int64_t now = clock_nanoseconds();
    loader_start_workers(loader, now);
    for (int s = 0; s < loader->options.prefetch && s < pass->steps; s++)
        for (int i = 0; i < loader->options.count; i++)
            ask(loader, i, now + (s - loader->window) * pass->interval);
    return true;
}

/* ---- Taking ---- */

bool loader_take(struct loader *loader, int accelerator, int64_t step, struct metrics_batch *batch)
{
    struct loader_window *window = &loader->windows[accelerator];
    struct loader_slot *slot = &window->slots[step % loader->window];
    if (window->asked == step) /* prefetch 0 */
        ask(loader, accelerator, clock_nanoseconds() - loader->window * loader->pass.interval);
    pthread_mutex_lock(&loader->lock);
    bool done = slot->done && slot->step == step;
    int64_t ahead = window->asked - (step + 1); /* batches */
    if (done) {
        slot->done = false;
        loader->ready_count--;
        window->done_count--;
        *batch = (struct metrics_batch){
            .ready = slot->ready,
            .samples = loader->batch,
            .bytes = slot->bytes,
            .mark = slot->mark,
            .ahead = slot->ahead,
            .caught_up = loader->window == 1 || (ahead > 0 && window->done_count == ahead),
        };
    } else {
        window->wanted = step;
        if (step < loader->pass.excluded)
            window->waited = loader_busy_now(loader);
    }
    pthread_mutex_unlock(&loader->lock);
    if (done && loader->options.prefetch > 0 && window->asked < loader->pass.steps)
        ask(loader, accelerator, batch->ready > clock_nanoseconds() ? batch->ready : clock_nanoseconds());
    return done;
}

int loader_wait(struct loader *loader, int64_t until, int *accelerators, int count, struct error *err)
{
    struct timespec end = clock_timespec(until);
    pthread_mutex_lock(&loader->lock);
    loader->waiting = loader->told_count == 0 && !atomic_load(&loader->failed);
    while (loader->waiting) {
        if (until == LOADER_NEVER)
            pthread_cond_wait(&loader->done, &loader->lock);
        else if (pthread_cond_timedwait(&loader->done, &loader->lock, &end) == ETIMEDOUT)
            loader->waiting = false;
    }
    int told = atomic_load(&loader->failed) ? -1 : 0;
    if (told < 0)
        *err = loader->error;
    while (told >= 0 && told < count && loader->told_count > 0)
        accelerators[told++] = loader->told[--loader->told_count];
    pthread_mutex_unlock(&loader->lock);
    return told;
}
