/* The work that the loader's threads do and have done. */
#include "core/clock.h"
#include "feed/host.h"
#include "feed/loader/internal.h"

#include <sys/syscall.h>

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
