/* Sixteen threads read one handle, and make others meanwhile, also from it. */
#include "rehearse.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 16
#define ROUNDS  4

struct reader {
    const rh_profile *profile;
    const struct rh_text *expected;
    double sum; /* of all forward seconds, in the order of the layers */
    bool same;
};

static double sum_of(const rh_profile *profile)
{
    struct rh_array array;
    double sum = 0.0;
    if (!rh_get(profile, "forward", &array))
        return -1.0;
    for (int64_t d = 0; d < array.shape[0]; d++)
        for (int64_t i = 0; i < array.shape[1]; i++)
            sum += *(const double *)((const char *)array.data + d * array.stride[0] + i * array.stride[1]);
    return sum;
}

static rh_profile *price(void)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    request.model = "gpt2-xl";
    request.devices = "h100,v100-16gb";
    call.threads = 1;
    return rh_cost(&request, &call, NULL);
}

static void *read_it(void *context)
{
    struct reader *reader = context;
    reader->same = true;
    for (int round = 0; round < ROUNDS && reader->same; round++) {
        struct rh_text json = {NULL, 0};
        rh_profile *own = price();
        reader->same = rh_write(reader->profile, "json", &json, NULL) &&
                       json.length == reader->expected->length &&
                       memcmp(json.data, reader->expected->data, json.length) == 0 &&
                       sum_of(reader->profile) == reader->sum && sum_of(own) == reader->sum;
        rh_text_free(&json);
        rh_free(own);
    }
    return NULL;
}

static void threads_read_one_handle(void **state)
{
    (void)state;
    rh_profile *profile = price();
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    struct rh_text expected;
    assert_true(rh_write(profile, "json", &expected, NULL));
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.profile = profile, .expected = &expected, .sum = sum_of(profile)};
        assert_int_equal(pthread_create(&threads[i], NULL, read_it, &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(readers[i].same);
    }
    rh_text_free(&expected);
    rh_free(profile);
}

/* ---- a plan that all of them play ---- */

struct player {
    const rh_plan *plan;
    rh_stop *stop; /* of all; nobody asks for it */
    struct rh_text said;
};

static void *play_it(void *context)
{
    struct player *player = context;
    struct rh_simulate_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    request.from = player->plan;
    request.no_symmetry = true;
    call.threads = 2;
    call.stop = player->stop;
    rh_report *report = rh_simulate(&request, &call, NULL);
    if (report)
        rh_write(report, "json", &player->said, NULL);
    rh_free(report);
    return NULL;
}

static void threads_play_one_plan(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    pthread_t threads[THREADS];
    struct player players[THREADS];
    request.model = "gpt2-xl";
    request.device = "h100";
    request.devices = "8";
    request.global_batch = "32";
    rh_plan *plan = rh_plan_find(&request, NULL, NULL);
    rh_stop *stop = rh_stop_new();
    assert_true(plan && stop);
    for (int i = 0; i < THREADS; i++) {
        players[i] = (struct player){.plan = plan, .stop = stop};
        assert_int_equal(pthread_create(&threads[i], NULL, play_it, &players[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_non_null(players[0].said.data);
    for (int i = 0; i < THREADS; i++) {
        assert_non_null(players[i].said.data);
        assert_string_equal(players[i].said.data, players[0].said.data);
        if (i > 0)
            rh_text_free(&players[i].said);
    }
    rh_text_free(&players[0].said);
    rh_stop_free(stop);
    rh_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_read_one_handle),
        cmocka_unit_test(threads_play_one_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
