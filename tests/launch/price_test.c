/* Prices of launch descriptions: of what was emitted, and of the files of the reference. */
#include "core/csv.h"
#include "core/file.h"
#include "devices/tables.h"
#include "launch/price.h"
#include "support/reference.h"
#include "support/written_jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- there and back ---- */

/* Prices a text as the command does: device, links and software are those of `like`, and the model if the format has none.
 * Returns the job and its numbers, without what the options hold. */
static struct launch_price priced(const char *path, const struct text *text, const struct job *like,
                                  bool with_model, const char *what)
{
    const struct launch_input input = {
        .path = path, .data = text->data, .length = text->length, .is_alone = true};
    struct launch_options options = {0};
    struct launch_price price = {.options = &options, .job = *like};
    struct error err;
    bool known = true;
    price.job.stage_blocks = NULL;
    price.job.technique = (struct technique){0};
    price.job.recompute = RECOMPUTE_NONE;
    price.job.type = COST_FP32;
    price.job.batch = price.job.microbatch = 0;
    if (!launch_read(&options, &input, &err))
        fail_msg("%s: %s\n%s", what, err.text, text->data);
    launch_complete(&options);
    if (with_model && !launch_model(&options, &price.job.model, &known, &err))
        fail_msg("%s: %s", what, err.text);
    if (!known || !launch_price_job(&price, &err))
        fail_msg("%s: %s\n%s", what, known ? err.text : "no model", text->data);
    if (text_starts_with(text->data, "#!"))
        assert_int_equal(options.nodes.value * options.devices_per_node.value, like->devices);
    launch_options_release(&options);
    return price;
}

static uint32_t state_of_random = 1;

static int pick(int count)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (int)((state_of_random >> 8) % (uint32_t)count);
}

static struct job random_job(const char *const *models, int count)
{
    static const char *const devices[] = {"a100", "h100", "b200", "mi300x"};
    static const enum cost_type types[] = {COST_BF16, COST_BF16, COST_BF16, COST_FP8, COST_FP8, COST_TF32};
    struct job job = job_example();
    job.device = tables_device(NULL, devices[pick(4)]);
    job.calibration = tables_calibration(NULL, job.device);
    job.inside = tables_link(NULL, job.device->link);
    job.model = architecture_find(models[pick(count)]);
    job.degrees.tensor = 1 << pick(4);
    job.degrees.pipeline = 1 << pick(3);
    job.degrees.context = 1 << pick(2);
    job.chunks =
        job.degrees.pipeline > 1 && job.model->layers % (2 * job.degrees.pipeline) == 0 ? 1 + pick(2) : 1;
    job.sharding = pick(2);
    job.microbatch = 1 + pick(2);
    job.recompute = (enum recompute)pick(3);
    job.type = types[pick(6)];
    job.degrees.expert = job.model->experts > 0 ? 1 << pick(3) : 1;
    job_spread(&job, job.degrees.tensor * job.degrees.pipeline * job.degrees.context * 8);
    job.batch = job.degrees.data * job.microbatch * job.degrees.pipeline * (1 + pick(4));
    return job;
}

/* The text is priced as the job. */
static void price_back(const char *path, const struct text *text, const struct job *job, bool with_model)
{
    char what[160];
    double expected = job_time(job).seconds;
    snprintf(what, sizeof what, "%s, %s, tp %d pp %d cp %d vp %d", path, job->model->name,
             job->degrees.tensor, job->degrees.pipeline, job->degrees.context, job->chunks);
    struct launch_price price = priced(path, text, job, with_model, what);
    double found = price.time.seconds, memory = job_memory(job).total;
    if (found != expected)
        fail_msg("%s: planned %.17g s, priced %.17g s\n%s", what, expected, found, text->data);
    if (price.memory.total != memory)
        fail_msg("%s: planned %.17g bytes, priced %.17g bytes\n%s", what, memory, price.memory.total,
                 text->data);
    assert_int_equal(price.job.batch, job->batch);
    assert_int_equal(price.job.microbatch, job->microbatch);
    assert_int_equal(price.job.degrees.data, job->degrees.data);
    assert_int_equal(price.job.sequence, job->sequence);
}

/* As options, and as a script that starts. */
static int there_and_back(enum launch_format format, const char *path, const struct job *job, bool with_model)
{
    struct text text = {0}, script = {0};
    struct error err;
    bool written =
        job_check(job, &err) && job_launch(format, job, &text, &err); /* else it has no words for it */
    if (written) {
        price_back(path, &text, job, with_model);
        if (!job_script(format, (enum launch_launcher)pick(LAUNCHER_COUNT), job, &script, &err))
            fail_msg("%s", err.text);
        price_back("start.sh", &script, job, with_model);
    }
    text_release(&script);
    text_release(&text);
    return written;
}

static const char *const dense[] = {"llama-3-8b",       "llama-2-13b", "gpt3-13b",         "qwen2.5-32b",
                                    "mixtral-8x7b",     "llama-3-70b", "deepseek-v2-lite", "deepseek-v3-mtp",
                                    "gpt-oss-20b",      "mistral-7b",  "qwen3-30b-a3b",    "nemotron-4-15b",
                                    "llama-4-maverick", "glm-4.5-air"};

/* Draws a technique or two; those that the job or the format has not are refused. */
static void draw_techniques(struct job *job)
{
    struct technique *technique = &job->technique;
    bool full = job->recompute == RECOMPUTE_FULL, narrow = job->type == COST_FP8;
    for (int i = pick(4); i > 0; i--)
        switch (pick(10)) {
        case 0:
            technique->modules = job->recompute == RECOMPUTE_SELECTIVE ? 1 + pick(127) : 0;
            break;
        case 1:
            technique->method = full ? METHOD_BLOCK + pick(3) : METHOD_ALL;
            technique->layers = full ? 1 + pick(4) : 0;
            break;
        case 2:
            technique->gradients = pick(2) ? FORMAT_BF16 : FORMAT_FP32;
            break;
        case 3:
            technique->moments = FORMAT_FP32 + pick(4);
            technique->master = pick(2) ? FORMAT_FP16 : FORMAT_USUAL;
            break;
        case 4:
            technique->recipe = narrow ? RECIPE_DELAYED + pick(4) : RECIPE_USUAL;
            technique->parameters = narrow && pick(2) ? FORMAT_FP8 : FORMAT_USUAL;
            break;
        case 5:
            technique->replicate = job->degrees.data % 2 == 0 && job->sharding > 0 ? 2 : 0;
            break;
        case 6:
            technique->offload = 10 * pick(11);
            break;
        case 7:
            technique->dispatch = job->degrees.expert > 1 ? DISPATCH_ALLTOALL + pick(2) : DISPATCH_USUAL;
            technique->expert_overlap = job->degrees.expert > 1 ? OVERLAP_NONE + pick(3) : OVERLAP_USUAL;
            break;
        case 8:
            technique->context_kind = job->degrees.context > 1 ? CONTEXT_RING + pick(3) : CONTEXT_USUAL;
            technique->expert_tensor = job->degrees.expert > 1 && job->degrees.tensor > 1 ? pick(3) : 0;
            break;
        default:
            technique->reshard = job->sharding == 3 ? SWITCH_OFF + pick(2) : SWITCH_USUAL;
        }
}

/* `make soak` draws more. */
static int draws(void)
{
    const char *text = getenv("REHEARSE_PRICED_PLANS");
    return text ? atoi(text) : 400;
}

static void flags_of_megatron_are_priced_as_planned(void **state)
{
    (void)state;
    int count = 0;
    for (int i = 0; i < draws(); i++) {
        struct job job = random_job(dense, 14);
        draw_techniques(&job);
        count += there_and_back(LAUNCH_MEGATRON, "flags.sh", &job, true);
    }
    assert_true(count > 100);
}

static void files_of_torchtitan_are_priced_as_planned(void **state)
{
    (void)state;
    static const char *const flavors[] = {"llama-3-8b", "llama-3-70b", "llama-4-scout", "deepseek-v3"};
    int count = 0, in_v = 0, by_rows = 0;
    for (int i = 0; i < draws(); i++) {
        struct job job = random_job(flavors, 4);
        job.software = software_find(pick(2) ? "torchtitan" : "torchtitan-eager");
        job.sharding = 2 + pick(2);
        if (pick(2))
            draw_techniques(&job);
        if (job.technique.recipe == RECIPE_BLOCKWISE)
            job.technique.recipe = RECIPE_ROWWISE;
        by_rows += job.technique.recipe == RECIPE_ROWWISE;
        struct job folded = job;
        folded.chunks = 2;
        folded.technique.schedule = SCHEDULE_ZB_V;
        if (strcmp(job.software->name, "torchtitan-eager") == 0 && pick(2) && job.sharding == 2 &&
            job.degrees.pipeline > 1 && job_schedule_allowed(&folded))
            job = folded;
        in_v += job_is_folded(&job);
        count += there_and_back(LAUNCH_TORCHTITAN, "run.toml", &job, true);
    }
    assert_true(count > 100 && in_v > 5 && by_rows > 0);
}

static void files_of_deepspeed_are_priced_as_planned(void **state)
{
    (void)state;
    int count = 0;
    for (int i = 0; i < draws(); i++) {
        struct job job = random_job(dense, 14);
        job.chunks = 1;
        job.type = pick(2) ? job.type : COST_FP16;
        if (pick(4) == 0)
            draw_techniques(&job);
        count += there_and_back(LAUNCH_DEEPSPEED, "ds.json", &job, false);
    }
    assert_true(count > 50);
}

/* ---- the reference ---- */

struct kinds {
    int read, refused, absent;
};

static bool is_there(const char *path)
{
    enum file_kind kind;
    struct error err;
    return file_look(path, &kind, &err) && kind == FILE_REGULAR;
}

/* Every file that lies there is read by the reader of its software, and no argument of it is unknown. */
static void read_one(const char *folder, const char *file, const char *software, struct kinds *kinds)
{
    static const struct {
        const char *start, *reader;
    } readers[] = {{"axolotl", "axolotl"},
                   {"LLaMA-Factory", "LLaMA-Factory"},
                   {"llm-foundry", "llm-foundry"},
                   {"DeepSpeed", "DeepSpeed"},
                   {"GPT-NeoX", "GPT-NeoX"},
                   {"nanotron", "nanotron"},
                   {"NeMo 1", "NeMo"},
                   {"Primus", "Primus"},
                   {"torchtitan (TOML", "torchtitan"},
                   {"Megatron-LM", "Megatron-LM"},
                   {"MLPerf", "MLPerf's exports"}};
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!is_there(path)) {
        kinds->absent++;
        return;
    }
    const struct launch_input input = {.path = path};
    struct launch_options options = {0};
    struct error err;
    if (!launch_read(&options, &input, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strncmp(software, readers[i].start, strlen(readers[i].start)) == 0)
            assert_string_equal(options.reader, readers[i].reader);
    assert_true(launch_count(&options, LAUNCH_READ) > 0);
    for (int i = 0; i < options.argument_count; i++)
        if (options.arguments[i].use == LAUNCH_UNKNOWN)
            fail_msg("%s:%d: %s is not understood", path, options.arguments[i].line,
                     options.arguments[i].name);
    launch_complete(&options);
    kinds->read++;
    launch_options_release(&options);
}

static void files_of_the_reference_are_read(void **state)
{
    (void)state;
    char *folder = reference_path("launch");
    struct csv csv;
    struct error err;
    struct kinds kinds = {0};
    char path[2048];
    if (!folder)
        skip();
    snprintf(path, sizeof path, "%s/index.csv", folder);
    if (!csv_load(&csv, path, &err))
        fail_msg("%s", err.text);
    int kind = csv_column(&csv, "kind"), file = csv_column(&csv, "file"),
        software = csv_column(&csv, "software");
    for (int row = 0; row < csv.row_count; row++)
        if (strcmp(csv_cell(&csv, row, kind), "launch") == 0)
            read_one(folder, csv_cell(&csv, row, file), csv_cell(&csv, row, software), &kinds);
    csv_release(&csv);
    free(folder);
    print_message("# %d files read, %d are not there (scripts, Python)\n", kinds.read, kinds.absent);
    assert_true(kinds.read >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_of_megatron_are_priced_as_planned),
        cmocka_unit_test(files_of_torchtitan_are_priced_as_planned),
        cmocka_unit_test(files_of_deepspeed_are_priced_as_planned),
        cmocka_unit_test(files_of_the_reference_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
