/* Streams of requests: the cache against a slow one, arrivals and waits against formulas, bytes against calls. */
#include "core/random.h"
#include "feed/requests/requests.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void open_workload(struct requests_workload *workload, const char *name, const char *const *settings,
                          size_t count)
{
    struct error err = {.text = ""};
    if (!requests_open(workload, name, settings, count, &err))
        fail_msg("%s", err.text);
}

static void make_plan(struct requests_plan *plan, const struct requests_workload *workload, int64_t capacity)
{
    struct error err = {.text = ""};
    if (!requests_plan(plan, workload, capacity, &err))
        fail_msg("%s", err.text);
}

/* ---- the cache, by scans of all entries ---- */

#define MOST 4096

struct slow {
    const struct requests_workload *workload;
    const struct requests_plan *plan;
    int64_t used[MOST], now, capacity;
    enum request_tier tier[MOST];
    struct request_op ops[16 * MOST];
    size_t count;
};

static int64_t bytes_in(const struct slow *slow, enum request_tier tier)
{
    int64_t bytes = 0;
    for (size_t i = 1; i < slow->plan->entry_count; i++)
        bytes += slow->tier[i] == tier ? slow->plan->entries[i].bytes : 0;
    return bytes;
}

static uint32_t oldest_in(const struct slow *slow, enum request_tier tier)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < slow->plan->entry_count; i++)
        if (slow->tier[i] == tier && (!oldest || slow->used[i] < slow->used[oldest]))
            oldest = i;
    return oldest;
}

static void slow_op(struct slow *slow, enum request_action action, uint32_t entry, uint32_t times)
{
    slow->ops[slow->count++] = (struct request_op){entry, times, action};
}

static void slow_store(struct slow *slow, uint32_t entry)
{
    int64_t bytes = slow->plan->entries[entry].bytes;
    while (bytes_in(slow, REQUEST_STORED) + bytes > slow->capacity && oldest_in(slow, REQUEST_STORED)) {
        uint32_t oldest = oldest_in(slow, REQUEST_STORED);
        slow->tier[oldest] = REQUEST_GONE;
        slow_op(slow, REQUEST_REMOVE, oldest, 1);
    }
    slow->tier[entry] = REQUEST_STORED;
    slow_op(slow, REQUEST_WRITE, entry, 1);
}

static void slow_read(struct slow *slow, uint32_t entry, uint32_t times)
{
    if (slow->tier[entry] == REQUEST_GONE)
        return;
    slow->used[entry] = ++slow->now;
    if (slow->tier[entry] == REQUEST_STORED)
        slow_op(slow, REQUEST_READ, entry, times);
}

static void slow_turns(struct slow *slow, uint32_t entry)
{
    if (slow->plan->entries[entry].previous)
        slow_turns(slow, slow->plan->entries[entry].previous);
    slow_read(slow, entry, 1);
}

static void slow_request(struct slow *slow, uint32_t entry)
{
    const struct request *request = &slow->plan->requests[entry - 1];
    int64_t bytes = slow->plan->entries[entry].bytes;
    double most = slow->workload->memory_use * (double)slow->workload->memory;
    if (slow->plan->entries[entry].previous)
        slow_turns(slow, slow->plan->entries[entry].previous);
    slow->used[entry] = ++slow->now;
    if ((double)bytes > most ||
        (double)bytes > slow->workload->memory_largest * (double)slow->workload->memory) {
        slow_store(slow, entry);
    } else {
        while ((double)(bytes_in(slow, REQUEST_MEMORY) + bytes) > most) {
            uint32_t oldest = oldest_in(slow, REQUEST_MEMORY);
            slow->tier[oldest] = REQUEST_GONE;
            slow_store(slow, oldest);
        }
        slow->tier[entry] = REQUEST_MEMORY;
    }
    if (request->context < slow->workload->prefill_only)
        slow_read(slow, entry, (uint32_t)(1 + (request->answer + 31) / 32));
}

static void the_cache_is_by_least_recent_use(void **state)
{
    static struct slow slow;
    uint64_t seed = 35;
    size_t removed = 0, reads = 0;
    (void)state;
    for (int i = 0; i < 60; i++) {
        char texts[5][64];
        const char *settings[5];
        int64_t capacity = 1000 + (int64_t)(random_uniform(&seed) * 40000);
        snprintf(texts[0], sizeof texts[0], "seed=%d", i);
        snprintf(texts[1], sizeof texts[1], "users=%d", 1 + (int)(random_uniform(&seed) * 9));
        snprintf(texts[2], sizeof texts[2], "requests=%d", 5 + (int)(random_uniform(&seed) * 200));
        snprintf(texts[3], sizeof texts[3], "memory=%d", i % 3 ? (int)(random_uniform(&seed) * 30000) : 0);
        snprintf(texts[4], sizeof texts[4], "token_bytes=1");
        for (int k = 0; k < 5; k++)
            settings[k] = texts[k];
        struct requests_workload workload;
        struct requests_plan plan;
        open_workload(&workload, "kv_8b", settings, 5);
        make_plan(&plan, &workload, capacity);
        assert_true(plan.entry_count < MOST && plan.entry_count == plan.count + 1);
        slow = (struct slow){.workload = &workload, .plan = &plan, .capacity = capacity};
        for (uint32_t k = 0; k < plan.count; k++) {
            assert_int_equal(slow.count, plan.requests[k].op);
            slow_request(&slow, k + 1);
            assert_int_equal(slow.count, plan.requests[k].op + plan.requests[k].ops);
        }
        assert_int_equal(slow.count, plan.op_count);
        for (size_t k = 0; k < plan.op_count; k++) {
            assert_int_equal(slow.ops[k].action, plan.ops[k].action);
            assert_int_equal(slow.ops[k].entry, plan.ops[k].entry);
            assert_int_equal(slow.ops[k].times, plan.ops[k].times);
            removed += plan.ops[k].action == REQUEST_REMOVE;
            reads += plan.ops[k].action == REQUEST_READ;
        }
        requests_plan_release(&plan);
        requests_release(&workload);
    }
    assert_true(removed > 100 && reads > 100);
}

/* ---- arrivals ---- */

static void the_seed_gives_the_requests(void **state)
{
    static const char *const others[] = {"seed=7", "seed=7", "seed=8", "token_bytes=9", "decode_tokens=9"};
    uint64_t digests[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct requests_workload workload;
        struct requests_plan plan;
        open_workload(&workload, "kv_70b", &others[i], 1);
        make_plan(&plan, &workload,
                  i == 1 ? 1 << 30 : INT64_MAX); /* the requests do not depend on the disk */
        digests[i] = plan.digest;
        for (size_t k = 1; k < plan.count; k++)
            assert_true(plan.requests[k].arrival_ns >= plan.requests[k - 1].arrival_ns);
        requests_plan_release(&plan);
        requests_release(&workload);
    }
    assert_true(digests[0] == digests[1]);
    for (int i = 2; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_true(digests[i] != digests[k]);
}

/* Users who think T seconds on average ask once in T seconds, of each kind as many; tokens are of half to all of
 * the range. */
static void users_ask_as_often_as_they_think(void **state)
{
    static const char *const settings[] = {"users=3000", "duration=20", "token_bytes=1"};
    struct requests_workload workload;
    struct requests_plan plan;
    double rate = 0.0, context = 0.0, tokens = 0.0;
    (void)state;
    open_workload(&workload, "kv_8b", settings, 3);
    make_plan(&plan, &workload, INT64_MAX);
    for (int i = 0; i < workload.mix_count; i++) {
        const struct requests_user *user = &workload.mix[i]; /* the mean of 1/T for an even T */
        double each = log(user->think_to / user->think_from) / (user->think_to - user->think_from);
        rate += workload.users / 3.0 * each;
        context +=
            workload.users / 3.0 * each * 0.625 * (double)(user->context_from + user->context_to) / 2.0;
    }
    for (size_t i = 0; i < plan.count; i++)
        tokens += plan.requests[i].context;
    assert_true(fabs((double)plan.count / 20.0 / rate - 1.0) < 0.03);
    assert_true(fabs(tokens / 20.0 / context - 1.0) < 0.03);
    requests_plan_release(&plan);
    requests_release(&workload);
}

/* M/D/1: Poisson arrivals, one server, each request S seconds: the mean wait is S u / (2 (1 - u)) at a utilisation
 * u (Pollaczek and Khinchin). Lindley: a request waits as long as the one before waited and was served, less the
 * time between both. */
static void waits_are_those_of_one_server(void **state)
{
    static const char *const settings[] = {"arrival=poisson", "rate=100", "duration=3000", "token_bytes=1"};
    struct requests_workload workload;
    struct requests_plan plan;
    (void)state;
    open_workload(&workload, "kv_8b", settings, 4);
    make_plan(&plan, &workload, INT64_MAX);
    assert_true(fabs((double)plan.count / 3e5 - 1.0) < 0.01);
    for (double use = 0.2; use < 0.9; use += 0.3) {
        double service = use / 100.0, wait = 0.0, sum = 0.0;
        for (size_t i = 1; i < plan.count; i++) {
            wait += service - (double)(plan.requests[i].arrival_ns - plan.requests[i - 1].arrival_ns) / 1e9;
            wait = wait > 0.0 ? wait : 0.0;
            sum += wait;
        }
        double expected = service * use / (2.0 * (1.0 - use));
        assert_true(fabs(sum / (double)plan.count / expected - 1.0) < 0.03);
    }
    requests_plan_release(&plan);
    requests_release(&workload);
}

/* ---- runs ---- */

struct counted {
    atomic_int_least64_t read, written;
    int64_t full; /* bytes after which the disk is full; 0: never */
};

static ssize_t count_pread(void *context, int fd, void *to, size_t length, off_t offset)
{
    struct counted *counted = context;
    ssize_t got = pread(fd, to, length, offset);
    atomic_fetch_add(&counted->read, got);
    return got;
}

static ssize_t count_pwrite(void *context, int fd, const void *from, size_t length, off_t offset)
{
    struct counted *counted = context;
    if (counted->full > 0 && atomic_load(&counted->written) > counted->full) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t put = pwrite(fd, from, length, offset);
    atomic_fetch_add(&counted->written, put);
    return put;
}

static int no_fsync(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

struct run {
    char folder[64];
    struct counted counted;
    struct requests_workload workload;
    struct requests_plan plan;
    struct requests_result *result;
    struct error err;
    atomic_bool stop;
    bool done;
};

static void play(struct run *run, const char *const *settings, size_t count, int64_t capacity)
{
    const struct storage_calls calls = {
        .context = &run->counted, .pread = count_pread, .pwrite = count_pwrite, .fsync = no_fsync};
    snprintf(run->folder, sizeof run->folder, "requests-XXXXXX");
    assert_non_null(mkdtemp(run->folder));
    const struct storage_options where = {.root = run->folder, .calls = &calls};
    struct storage *storage = storage_new(&where, &run->err);
    assert_non_null(storage);
    run->result = calloc(1, sizeof *run->result);
    assert_non_null(run->result);
    open_workload(&run->workload, "kv_8b", settings, count);
    make_plan(&run->plan, &run->workload, capacity);
    run->done = requests_play(&run->workload, &run->plan, storage, true, &run->stop, run->result, &run->err);
    storage_free(storage);
}

/* Nothing but the mark may be left. */
static void end(struct run *run)
{
    char name[128];
    snprintf(name, sizeof name, "%s/" REQUESTS_MARK, run->folder);
    assert_int_equal(unlink(name), 0);
    snprintf(name, sizeof name, "%s/kv", run->folder);
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(rmdir(run->folder), 0);
    free(run->result->done);
    free(run->result);
    requests_plan_release(&run->plan);
    requests_release(&run->workload);
}

static int by_time(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return left[0] != right[0] ? (left[0] < right[0] ? -1 : 1) : (left[1] > right[1]) - (left[1] < right[1]);
}

/* Little: the mean number of requests in the system is their rate times their mean latency. The first by the
 * changes in time, the second by the histogram. */
static void check_little(const struct run *run)
{
    const struct requests_result *result = run->result;
    int64_t(*changes)[2] = calloc(2 * result->done_count, sizeof *changes);
    double area = 0.0;
    int64_t inside = 0;
    assert_non_null(changes);
    for (size_t i = 0; i < result->done_count; i++) {
        changes[2 * i][0] = result->done[i].arrival_ns;
        changes[2 * i][1] = 1;
        changes[2 * i + 1][0] = result->done[i].end_ns;
        changes[2 * i + 1][1] = -1;
    }
    qsort(changes, 2 * result->done_count, sizeof *changes, by_time);
    for (size_t i = 0; i + 1 < 2 * result->done_count; i++) {
        inside += changes[i][1];
        area += (double)inside * (double)(changes[i + 1][0] - changes[i][0]) / 1e9;
    }
    free(changes);
    double mean = result->latency.total / (double)result->latency.count / 1e9;
    double rate = (double)result->done_count / result->seconds;
    assert_true(fabs(area / result->seconds / (rate * mean) - 1.0) < 1e-9);
}

static void check_bytes(const struct run *run)
{
    const struct requests_plan *plan = &run->plan;
    int64_t bytes[3] = {0};
    for (size_t i = 0; i < plan->op_count; i++)
        bytes[plan->ops[i].action] += plan->ops[i].times * plan->entries[plan->ops[i].entry].bytes;
    assert_int_equal(run->result->written, bytes[REQUEST_WRITE]);
    assert_int_equal(run->result->read, bytes[REQUEST_READ]);
    assert_int_equal(atomic_load(&run->counted.read), bytes[REQUEST_READ]);
    /* and the mark */
    assert_in_range(atomic_load(&run->counted.written) - bytes[REQUEST_WRITE], 0, 100);
}

static void each_request_is_played(void **state)
{
    static const char *const arrivals[] = {"arrival=open", "arrival=closed", "arrival=poisson"};
    (void)state;
    for (int i = 0; i < 9; i++) {
        struct run run = {.done = false};
        const char *settings[] = {
            "duration=0",
            "requests=150",
            "token_bytes=16",
            "users=12",
            "rate=20000",
            i % 2 ? "writers=2" : "writers=0",
            arrivals[i % 3],
            i < 3 ? "workers=1" : "workers=5",
            i > 5 ? "memory=100000" : "memory=0",
            "mix=[{name: quick, context_from: 100, context_to: 2000, answer_from: 1, answer_to: "
            "100, think_from: 0.0001, think_to: 0.001}]"};
        play(&run, settings, sizeof settings / sizeof *settings, 500000);
        if (!run.done)
            fail_msg("%s", run.err.text);
        assert_int_equal(run.result->done_count, 150);
        assert_int_equal(run.result->not_done, 0);
        check_bytes(&run);
        check_little(&run);
        for (size_t k = 0; k < 150; k++) {
            const struct request_done *done = &run.result->done[k];
            assert_int_equal(done->request, k);
            assert_true(done->start_ns >= done->arrival_ns &&
                        done->end_ns >= done->start_ns + done->storage_ns);
            if (i % 3 != REQUESTS_CLOSED)
                assert_int_equal(done->arrival_ns, run.plan.requests[k].arrival_ns);
            if (i % 3 != REQUESTS_CLOSED && i < 3 && k > 0)
                assert_true(done->start_ns >= done[-1].end_ns); /* one worker */
        }
        end(&run);
    }
}

/* The latency of what did not end counts until the end. */
static void requests_that_did_not_end_are_counted(void **state)
{
    static const char *const settings[] = {"duration=0.2",    "users=100",  "workers=1",
                                           "arrival=poisson", "rate=50000", "token_bytes=64"};
    struct run run = {.done = false};
    (void)state;
    play(&run, settings, sizeof settings / sizeof *settings, INT64_MAX);
    assert_true(run.done);
    assert_true(run.result->not_done > 0);
    assert_int_equal(run.result->arrived, run.plan.count);
    assert_int_equal(run.result->latency.count, run.plan.count);
    assert_int_equal(run.result->arrived, (int64_t)run.result->done_count + run.result->not_done);
    end(&run);
}

static void a_full_disk_ends_the_run(void **state)
{
    static const char *const settings[] = {"duration=0", "requests=200", "arrival=poisson",
                                           "rate=1e6",   "workers=4",    "token_bytes=1"};
    struct run run = {.counted = {.full = 100000}};
    (void)state;
    play(&run, settings, sizeof settings / sizeof *settings, INT64_MAX);
    assert_false(run.done);
    assert_non_null(strstr(run.err.text, "No space left on device"));
    assert_non_null(strstr(run.err.text, ".kv"));
    end(&run);
}

static void a_stop_ends_the_run(void **state)
{
    static const char *const settings[] = {"duration=1000", "token_bytes=1", "users=3", "workers=3"};
    struct run run = {.stop = true};
    (void)state;
    play(&run, settings, sizeof settings / sizeof *settings, INT64_MAX);
    assert_false(run.done);
    assert_int_equal(run.err.kind, ERROR_STOPPED);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_is_by_least_recent_use),
        cmocka_unit_test(the_seed_gives_the_requests),
        cmocka_unit_test(users_ask_as_often_as_they_think),
        cmocka_unit_test(waits_are_those_of_one_server),
        cmocka_unit_test(each_request_is_played),
        cmocka_unit_test(requests_that_did_not_end_are_counted),
        cmocka_unit_test(a_full_disk_ends_the_run),
        cmocka_unit_test(a_stop_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
