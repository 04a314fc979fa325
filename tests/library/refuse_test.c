/* Memory that is refused: each call is repeated, and the first, the second, … allocation fails, until none does. A call
 * either fails with a message, or ends as it does otherwise. malloc and its kin are this program's, in the library, too. */
#include "rehearse.h"

#include "caller.h"
#include "support/sanitizer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if ADDRESS_SANITIZER || THREAD_SANITIZER /* they have an allocator of their own */
#define HAS_FAULTS 0
#else
#define HAS_FAULTS 1
#endif

static atomic_long left = -1; /* allocations until one fails; -1: none does */
static atomic_bool refused;

#if HAS_FAULTS
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static bool refuses(void)
{
    if (atomic_load(&left) < 0 || atomic_fetch_sub(&left, 1) != 0)
        return false;
    atomic_store(&refused, true);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return refuses() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuses() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *found = refuses() ? NULL : __libc_memalign(alignment, size);
    if (found)
        *memory = found;
    return found ? 0 : ENOMEM;
}
#endif

/* Returns whether the call has done what it should. */
typedef bool attempt(const void *context, struct rh_error *error);

#define MAX_POINTS 100000

/* A search of many thousand allocations is tried at some of them; the step is odd, so that all kinds have their turn. */
static void refuse_each(attempt *run_it, const void *context, long step)
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

static bool run(const char *command, const void *request, struct rh_error *error)
{
    rh_handle *made = rh_run(command, request, NULL, error);
    bool done = made != NULL;
    rh_free(made);
    return done;
}

static bool load(const void *context, struct rh_error *error)
{
    return run("profile show", context, error);
}

static bool price(const void *context, struct rh_error *error)
{
    return run("cost", context, error);
}

static void loading_a_profile(void **state)
{
    (void)state;
    struct rh_profile_request request = RH_INIT(request);
    request.path = caller_write("profile.json", caller_profile);
    refuse_each(load, &request, 1);
}

static void pricing_a_model(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    request.model = "gpt2-xl";
    request.devices = "h100,v100-16gb";
    refuse_each(price, &request, 1);
}

static void listing_what_is_known(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    request.list = true;
    refuse_each(price, &request, 1);
}

static void pricing_files(void **state)
{
    (void)state;
    const char *const files[] = {caller_file("examples/gpt-block.mlir")};
    struct rh_cost_request request = RH_INIT(request);
    request.files = (struct rh_list){files, 1};
    request.devices = "h100";
    refuse_each(price, &request, 3);
    request.explain = true;
    refuse_each(price, &request, 3);
    request = (struct rh_cost_request){.size = sizeof request, .files = request.files};
    refuse_each(price, &request, 3);
}

static bool plan_it(const void *context, struct rh_error *error)
{
    rh_plan *plan =
        rh_plan_find(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = plan != NULL;
    rh_free(plan);
    return done;
}

static void planning(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    request.profile = caller_write("toy.json", caller_profile);
    request.cluster = caller_write("toy.yaml", "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n");
    request.microbatches = 4;
    refuse_each(plan_it, &request, 1);
    request = (struct rh_plan_request){.size = sizeof request, .model = "llama-3-8b", .device = "h100"};
    request.devices = "8";
    request.global_batch = "64";
    request.emit = "megatron";
    refuse_each(plan_it, &request, 7);
    request.emit = NULL;
    request.devices = "8,16";
    refuse_each(plan_it, &request, 23);
}

static bool check_it(const void *context, struct rh_error *error)
{
    rh_report *report =
        rh_check_plan(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = report != NULL;
    rh_free(report);
    return done;
}

static void checking(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    struct rh_check_request check = RH_INIT(check);
    const char *file = caller_write("found.json", "");
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "8";
    request.global_batch = "64";
    request.output = file;
    rh_free(rh_plan_find(&request, NULL, NULL));
    check.plans = (struct rh_list){&file, 1};
    refuse_each(check_it, &check, 3);
}

static bool make_templates(const void *context, struct rh_error *error)
{
    rh_report *report =
        rh_templates(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = report != NULL;
    rh_free(report);
    return done;
}

static void templates(void **state)
{
    (void)state;
    struct rh_templates_request request = RH_INIT(request);
    request.profile = caller_write("toy.json", caller_profile);
    request.cluster = caller_write("toy.yaml", "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n");
    request.microbatches = 4;
    refuse_each(make_templates, &request, 1);
}

static bool play_it(const void *context, struct rh_error *error)
{
    rh_report *report =
        rh_simulate(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = report != NULL;
    rh_free(report);
    return done;
}

static void playing(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    struct rh_simulate_request play = RH_INIT(play);
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "8";
    request.global_batch = "64";
    rh_plan *plan = rh_plan_find(&request, NULL, NULL);
    play.from = plan;
    play.keep_tasks = true;
    refuse_each(play_it, &play, 3);
    rh_free(plan);
    play = (struct rh_simulate_request){.size = sizeof play, .compare = true};
    play.stages = 2;
    play.microbatches = 4;
    refuse_each(play_it, &play, 101);
}

static bool write_it(const void *context, struct rh_error *error)
{
    struct rh_text json, text = {NULL, 0};
    bool done = rh_write(context, "json", &json, error) && rh_write(context, "text", &text, error);
    rh_text_free(&json);
    rh_text_free(&text);
    return done;
}

static const char *saved;

static bool save_it(const void *context, struct rh_error *error)
{
    return rh_save(context, "json", saved, error);
}

static void writing(void **state)
{
    (void)state;
    struct rh_cost_request request = RH_INIT(request);
    request.model = "gpt2-xl";
    request.devices = "h100";
    rh_profile *profile = rh_cost(&request, NULL, NULL);
    saved = caller_write("saved.json", "");
    refuse_each(write_it, profile, 1);
    refuse_each(save_it, profile, 1);
    rh_free(profile);
}

static bool stop_it(const void *context, struct rh_error *error)
{
    (void)context;
    rh_stop *stop = rh_stop_new();
    *error = (struct rh_error){RH_FAILED, "memory"}; /* it only has a NULL to say so */
    rh_stop_request(stop);
    bool done = stop != NULL;
    rh_stop_free(stop);
    return done;
}

static void stopping(void **state)
{
    (void)state;
    refuse_each(stop_it, NULL, 1);
}

static bool refuse_wrongly(const void *context, struct rh_error *error)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_option option = RH_INIT(option);
    (void)context;
    bool done = !rh_run("cook", &request, NULL, error) &&
                !rh_set("cost", &request, "precision", "x", error) && !rh_write(NULL, "json", NULL, error) &&
                !rh_option("cook", 0, &option) && !rh_request_size("cook");
    return done && error->code == RH_USAGE;
}

static void refusing(void **state)
{
    (void)state;
    refuse_each(refuse_wrongly, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_a_profile),
        cmocka_unit_test(pricing_a_model),
        cmocka_unit_test(listing_what_is_known),
        cmocka_unit_test(pricing_files),
        cmocka_unit_test(planning),
        cmocka_unit_test(checking),
        cmocka_unit_test(templates),
        cmocka_unit_test(playing),
        cmocka_unit_test(writing),
        cmocka_unit_test(stopping),
        cmocka_unit_test(refusing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
