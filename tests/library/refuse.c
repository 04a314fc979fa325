#include "refuse.h"

#include "support/sanitizer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if ADDRESS_SANITIZER || THREAD_SANITIZER /* they have an allocator of their own */
#define HAS_FAULTS 0
#else
#define HAS_FAULTS 1
#endif

static atomic_long left = -1; /* allocations until one fails; -1: none does */
static atomic_bool refused;
static size_t smallest; /* bytes of an allocation that counts */

#if HAS_FAULTS
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static bool refuses(size_t size)
{
    if (size < smallest || atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0)
        return false;
    atomic_store(&refused, true);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return refuses(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return refuses(size) ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuses(size) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *found = refuses(size) ? NULL : __libc_memalign(alignment, size);
    if (found)
        *memory = found;
    return found ? 0 : ENOMEM;
}
#endif

#define MAX_POINTS 100000

void refuse_each(attempt *run_it, const void *context, long step)
{
    struct rh_error error = {0};
    assert_true(run_it(context, &error)); /* tables that are read once are there from now on */
    if (!HAS_FAULTS) {
        print_message("tried once, without refusals: a sanitizer has memory of its own\n");
        return;
    }
    for (long at = 0; at < MAX_POINTS; at += step) {
        memset(&error, 0, sizeof error);
        atomic_store(&refused, false);
        atomic_store(&left, at);
        bool done = run_it(context, &error);
        atomic_store(&left, -1);
        if (!atomic_load(&refused)) {
            assert_true(done);
            assert_true(at > 0); /* something was refused before */
            print_message("# %ld allocations\n", at);
            return;
        }
        if (!done && (error.code != RH_FAILED || !strstr(error.text, "memory")))
            fail_msg("allocation %ld: code %d, '%s'", at, error.code, error.text);
    }
    fail_msg("there is no end of allocations");
}

struct asked {
    const char *command;
    const void *request;
};

static bool run_it(const void *context, struct rh_error *error)
{
    const struct asked *asked = context;
    const struct rh_call call = {.size = sizeof call, .threads = 1};
    rh_handle *made = rh_run(asked->command, asked->request, &call, error);
    bool done = made != NULL;
    rh_free(made);
    return done;
}

void refuse_command(const char *command, const void *request, long step)
{
    refuse_each(run_it, &(struct asked){command, request}, step);
}

/* Returns its end: 0 done, as nothing was refused; 1 done or failed in order; else anything else. */
static int first_call(const char *command, const void *request, long at)
{
    struct rh_error error = {0};
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        smallest = 2000;
        atomic_store(&left, at);
        rh_handle *made = rh_run(command, request, NULL, &error);
        atomic_store(&left, -1);
        bool in_order = made || (error.code == RH_FAILED && strstr(error.text, "memory"));
        _exit(!in_order ? 2 : made && !atomic_load(&refused) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                                 : status;
}

void refuse_first(const char *command, const void *request)
{
    long at = 0;
    int end = 1;
    if (!HAS_FAULTS)
        return;
    while (at < MAX_POINTS && (end = first_call(command, request, at)) == 1)
        at++;
    if (at == 0 || end != 0)
        fail_msg("%s, allocation %ld: ended by %d", command, at, end);
    print_message("# %s: %ld large allocations\n", command, at);
}
