/* The work that the loader's threads do and have done. */
#include "core/clock.h"
#include "feed/host.h"
#include "feed/loader/internal.h"

#include <sys/syscall.h>
#include <unistd.h>

void loader_busy_begin(struct loader_thread *thread, int64_t step)
{
    if (thread->tid == 0)
        thread->tid = (int)syscall(SYS_gettid);
    thread->begun_excluded = step < thread->loader->pass.excluded;
    thread->began = clock_nanoseconds();
}

void loader_busy_end(struct loader_thread *thread)
{
    int64_t length = clock_nanoseconds() - thread->began;
    thread->began = 0;
    if (thread->begun_excluded)
        thread->busy_excluded += length;
    else
        thread->busy_counted += length;
}

/* A piece that ends during this call may be missed. */
struct loader_busy loader_busy_now(struct loader *loader)
{
    struct loader_busy busy = {.at = clock_nanoseconds()};
    for (int i = 0; i < loader->thread_count; i++) {
        struct loader_thread *thread = &loader->threads[i];
        int64_t began = thread->began;
        bool excluded = thread->begun_excluded;
        busy.excluded += thread->busy_excluded;
        busy.counted += thread->busy_counted;
        if (began > 0 && began < busy.at)
            *(excluded ? &busy.excluded : &busy.counted) += busy.at - began;
    }
    return busy;
}

int64_t loader_busy_ahead(const struct loader_busy *before, const struct loader_busy *now)
{
    double own = (double)(now->excluded - before->excluded),
           others = (double)(now->counted - before->counted);
    if (others <= 0)
        return 0;
    return (int64_t)((double)(now->at - before->at) * others / (others + (own > 0 ? own : 0)));
}

static double cpu_of(pthread_t thread)
{
    clockid_t clock;
    return pthread_getcpuclockid(thread, &clock) == 0 ? 1e-9 * (double)clock_read(clock) : 0;
}

void loader_add_counts(struct loader *loader, struct loader_counts *counts)
{
    counts->threads += loader->thread_count;
    for (int i = 0; i < loader->thread_count; i++) {
        struct loader_thread *thread = &loader->threads[i];
        double decode = 1e-9 * (double)thread->decode_cpu, verify = 1e-9 * (double)thread->verify_cpu;
        counts->samples += thread->samples;
        counts->bytes += thread->bytes;
        counts->opened += thread->opened;
        counts->busy += 1e-9 * (double)(thread->busy_excluded + thread->busy_counted);
        counts->delayed += 1e-9 * (double)(thread->tid > 0 ? host_thread_delay(thread->tid) : 0);
        counts->decode_cpu += decode;
        counts->verify_cpu += verify;
        counts->read_cpu += cpu_of(thread->thread) - decode - verify;
    }
}

struct loader_depth loader_depth(struct loader *loader)
{
    struct loader_depth depth = {.ready = atomic_load(&loader->ready_count)};
    pthread_mutex_lock(&loader->queue.lock);
    depth.queue = loader->queue.count + loader->queue.busy;
    pthread_mutex_unlock(&loader->queue.lock);
    return depth;
}
