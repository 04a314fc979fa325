/* The library as another program uses it: through its header alone. */
#include "rehearse.h"

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

static const char profile_text[] =
    "{\"format\": \"rehearse-profile/1\","
    " \"layers\": [{\"parameter_bytes\": 10, \"activation_bytes\": 1},"
    "              {\"parameter_bytes\": 10, \"activation_bytes\": 1},"
    "              {\"parameter_bytes\": 10, \"activation_bytes\": 1}],"
    " \"devices\": [{\"name\": \"gpu\", \"layers\": [{\"forward\": 1, \"backward\": 2},"
    "                                            {\"forward\": 1, \"backward\": 2},"
    "                                            {\"forward\": 2, \"backward\": 4}]}]}";

static const char cluster_text[] = "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n";

struct fixture {
    char folder[64], profile[96], cluster[96];
};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    strcpy(fixture.folder, "/tmp/rehearse-library-XXXXXX");
    if (!mkdtemp(fixture.folder))
        return -1;
    snprintf(fixture.profile, sizeof fixture.profile, "%s/profile.json", fixture.folder);
    snprintf(fixture.cluster, sizeof fixture.cluster, "%s/cluster.yaml", fixture.folder);
    write_file(fixture.profile, profile_text);
    write_file(fixture.cluster, cluster_text);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    unlink(fixture->profile);
    unlink(fixture->cluster);
    return rmdir(fixture->folder);
}

static void a_plan_is_found_and_read(void **state)
{
    const struct fixture *fixture = *state;
    struct rh_error error;
    rh_profile *profile = rh_profile_load(fixture->profile, 0, &error);
    rh_cluster *cluster = rh_cluster_load(fixture->cluster, &error);
    assert_non_null(profile);
    assert_non_null(cluster);
    const struct rh_plan_request request = {.microbatches = 4, .threads = 1};
    rh_plan *plan = rh_plan_find(profile, cluster, &request, &error);
    assert_non_null(plan);
    const struct rh_plan_request as_reference = {
        .microbatches = 4, .threads = 1, .memory = RH_MEMORY_REFERENCE};
    rh_plan *by_reference = rh_plan_find(profile, cluster, &as_reference, &error);
    assert_non_null(by_reference);
    rh_profile_free(profile); /* a plan stands on its own */
    rh_cluster_free(cluster);
    /* stages of 6 and 6 seconds: 12 + 3 x 6 */
    assert_true(fabs(rh_plan_iteration_time(plan) - 30) < 1e-9);
    assert_true(rh_plan_is_optimal(plan));
    assert_true(rh_plan_gap(plan) < 1e-12);
    assert_true(fabs(rh_plan_lower_bound(plan) - 30) < 1e-9);
    assert_int_equal(rh_plan_stage_count(plan), 2);
    struct rh_stage stage;
    assert_true(rh_plan_stage(plan, 0, &stage));
    assert_int_equal(stage.first_layer, 0);
    assert_int_equal(stage.last_layer, 1);
    assert_int_equal(stage.devices, 1);
    assert_int_equal(stage.memory, 2 * (6 * 10 + 2)); /* the first of two stages holds two micro-batches */
    assert_string_equal(stage.device_type, "gpu");
    assert_true(rh_plan_stage(by_reference, 0, &stage));
    assert_int_equal(stage.memory, 2 * (6 * 10 + 1));
    rh_plan_free(by_reference);
    assert_false(rh_plan_stage(plan, 2, &stage));
    assert_false(rh_plan_stage(plan, -1, &stage));
    char *json = rh_plan_to_json(plan);
    assert_non_null(strstr(json, "\"format\": \"rehearse-plan/2\""));
    free(json);
    rh_plan_free(plan);
}

static void errors_say_where_and_which_exit_code(void **state)
{
    const struct fixture *fixture = *state;
    struct rh_error error;
    assert_null(rh_profile_load("/no/such/profile.json", 0, &error));
    assert_int_equal(error.code, 3);
    assert_non_null(strstr(error.text, "/no/such/profile.json"));
    assert_null(rh_cluster_load(fixture->profile, &error));
    assert_int_equal(error.code, 3);
}

static void nonsense_requests_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct rh_error error;
    rh_profile *profile = rh_profile_load(fixture->profile, 0, &error);
    rh_cluster *cluster = rh_cluster_load(fixture->cluster, &error);
    assert_non_null(profile);
    assert_non_null(cluster);
    const struct rh_plan_request bad[] = {{.microbatches = -1},
                                          {.threads = -1},
                                          {.time_limit = NAN},
                                          {.search = (enum rh_search)99},
                                          {.memory = (enum rh_memory)2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(rh_plan_find(profile, cluster, &bad[i], &error));
        assert_int_equal(error.code, 2);
    }
    rh_profile_free(profile);
    rh_cluster_free(cluster);
    rh_profile_free(NULL);
    rh_cluster_free(NULL);
    rh_plan_free(NULL);
}

static void prices_a_model(void **state)
{
    (void)state;
    static const char *const devices[] = {"a100-80gb", "h100"};
    struct rh_model_request request = {.model = "gpt2-xl", .devices = devices, .device_count = 2};
    struct rh_error error;
    rh_profile *profile = rh_profile_of_model(&request, &error);
    if (!profile)
        fail_msg("%s", error.text);
    char *json = rh_profile_to_json(profile);
    assert_non_null(json);
    assert_non_null(strstr(json, "\"h100-sxm\""));
    assert_non_null(strstr(json, "\"rehearse-profile/1\""));
    free(json);
    rh_profile_free(profile);
}

static void says_what_it_does_not_know(void **state)
{
    (void)state;
    static const char *const devices[] = {"abacus"};
    struct rh_model_request request = {.model = "gpt2-xl", .devices = devices, .device_count = 1};
    struct rh_error error;
    assert_null(rh_profile_of_model(&request, &error));
    assert_int_equal(error.code, 2);
    assert_string_equal(error.text, "unknown device 'abacus'");
    request.model = "gpt2-xxl";
    assert_null(rh_profile_of_model(&request, &error));
    assert_string_equal(error.text, "unknown model 'gpt2-xxl'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_a_model),
        cmocka_unit_test(says_what_it_does_not_know),
        cmocka_unit_test(a_plan_is_found_and_read),
        cmocka_unit_test(errors_say_where_and_which_exit_code),
        cmocka_unit_test(nonsense_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
