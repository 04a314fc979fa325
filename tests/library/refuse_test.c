/* Memory that is refused: each call is repeated, and the first, the second, … allocation fails, until none does. */
#include "refuse.h"

#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool run(const char *command, const void *request, struct rh_error *error)
{
    rh_handle *made = rh_run(command, request, NULL, error);
    bool done = made != NULL;
    rh_free(made);
    return done;
}

static void first_calls(void **state)
{
    (void)state;
    const char *const files[] = {caller_file("examples/gpt-block.mlir")};
    struct rh_cost_request cost = RH_INIT(cost);
    struct rh_elastic_request elastic = RH_INIT(elastic);
    cost.files = (struct rh_list){files, 1};
    cost.devices = "h100";
    elastic.rate = "rsc-1";
    elastic.nodes = 16;
    elastic.seeds = 2;
    refuse_first("cost", &cost);
    refuse_first("elastic", &elastic);
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

static bool sweep_it(const void *context, struct rh_error *error)
{
    rh_sweep *sweep =
        rh_sweep_plans(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = sweep != NULL;
    rh_free(sweep);
    return done;
}

static void sweeping(void **state)
{
    (void)state;
    struct rh_sweep_request request = RH_INIT(request);
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "8";
    request.global_batch = "64";
    request.schedule = "plan,gpipe";
    refuse_each(sweep_it, &request, 11);
}

static bool lose_it(const void *context, struct rh_error *error)
{
    rh_report *report =
        rh_elastic(context, &(struct rh_call){.size = sizeof(struct rh_call), .threads = 1}, error);
    bool done = report != NULL;
    rh_free(report);
    return done;
}

static void losing_nodes(void **state)
{
    (void)state;
    const char *const lost[] = {"0"}, *file = caller_write("templates.json", "");
    struct rh_templates_request templates = RH_INIT(templates);
    struct rh_elastic_request request = RH_INIT(request);
    templates.profile = caller_write("toy.json", caller_profile);
    templates.cluster = caller_write("toy.yaml", "groups: [{device: gpu, nodes: 4, devices_per_node: 1}]\n"
                                                 "inter_node: {bandwidth: 25 Gb/s, latency: 15 us}\n");
    templates.microbatches = 8;
    templates.output = file;
    rh_free(rh_templates(&templates, NULL, NULL));
    request.plans = (struct rh_list){&file, 1};
    request.cluster = templates.cluster;
    request.lose = (struct rh_list){lost, 1};
    refuse_each(lose_it, &request, 1);
    rh_report *set = rh_templates(&templates, NULL, NULL);
    const rh_handle *const handles[] = {set};
    request.plans.count = 0;
    request.from = (struct rh_handles){handles, 1};
    refuse_each(lose_it, &request, 1);
    rh_free(set);
    request = (struct rh_elastic_request){.size = sizeof request, .rate = "rsc-1", .nodes = 16, .seeds = 2};
    refuse_each(lose_it, &request, 1);
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
        cmocka_unit_test(first_calls), /* before the tables are there */
        cmocka_unit_test(loading_a_profile),
        cmocka_unit_test(pricing_a_model),
        cmocka_unit_test(listing_what_is_known),
        cmocka_unit_test(pricing_files),
        cmocka_unit_test(planning),
        cmocka_unit_test(checking),
        cmocka_unit_test(templates),
        cmocka_unit_test(playing),
        cmocka_unit_test(sweeping),
        cmocka_unit_test(losing_nodes),
        cmocka_unit_test(writing),
        cmocka_unit_test(stopping),
        cmocka_unit_test(refusing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
