/* The workers of an emulated framework: each takes its own batches in turn, where other threads take what is
 * needed first. */
#include "core/clock.h"
#include "feed/loader/internal.h"

#define SPIN ((int64_t)60000)                      /* nanoseconds: a sleep may end as much too late */
#define NAP  ((int64_t)20 * (CLOCK_SECOND / 1000)) /* looks as often at whether another thread failed */

void loader_sleep(struct loader_thread *thread, int64_t until)
{
    for (int64_t now = clock_nanoseconds(), next; now < until && !atomic_load(&thread->loader->failed);
         now = next) {
        if (until - now > SPIN)
            clock_sleep(until - now - SPIN < NAP ? until - now - SPIN : NAP);
        next = clock_nanoseconds();
        if (thread->began > 0)
            thread->began += next - now; /* no work */
    }
}

bool loader_check_workers(const struct loader_options *options, int threads, struct error *err)
{
    const struct storage_options *storage = storage_options(options->storage);
    if (storage->method != STORAGE_POSIX || storage->direct || options->decode || options->verify)
        return error_set(err, ERROR_USAGE,
                         "reader.emulate reads by the framework's own calls: without --method, --direct, "
                         "--decode and --verify");
    if (options->read_threads > LOADER_MAX_THREADS / options->count ||
        threads < options->count * options->read_threads)
        return error_set(err, ERROR_USAGE,
                         "reader.emulate: %d workers of %d accelerators are more than the %d threads of "
                         "--read-threads-most",
                         options->read_threads, options->count, threads);
    return true;
}

bool loader_take_own(struct loader_thread *thread, struct loader_piece *piece)
{
    struct loader *loader = thread->loader;
    struct loader_queue *queue = &loader->queue;
    struct loader_window *window = &loader->windows[thread->accelerator];
    pthread_mutex_lock(&queue->lock);
    while (thread->next >= window->given && !queue->ending)
        pthread_cond_wait(&queue->work, &queue->lock);
    bool found = !queue->ending;
    int64_t starts = thread->starts;
    if (found) {
        *piece = (struct loader_piece){&window->slots[thread->next % loader->window], 0, loader->batch};
        thread->next += loader->options.read_threads;
        queue->busy++;
    }
    pthread_mutex_unlock(&queue->lock);
    loader_sleep(thread, starts);
    return found;
}

void loader_start_workers(struct loader *loader, int64_t now)
{
    double each = loader->started && loader->options.persistent ? 0 : loader->options.start;
    pthread_mutex_lock(&loader->queue.lock);
    for (int i = 0; i < loader->thread_count; i++) {
        struct loader_thread *thread = &loader->threads[i];
        thread->next = thread->worker;
        thread->starts = now + distribution_nanoseconds(each * (thread->worker + 1));
    }
    loader->started = true;
    pthread_mutex_unlock(&loader->queue.lock);
}
