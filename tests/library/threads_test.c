/* Sixteen threads read one handle, and make others meanwhile. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_read_one_handle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
