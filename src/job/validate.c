#include "job/validate.h"

#include "core/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GIGABYTE 0x1p30

/* What is over by no more than the estimate's own error still counts as fitting (docs/validate.md). */
#define MEMORY_ERROR 1.05

/* Where published runs ran, when it is not one fast network port per device. */
static const struct site {
    const char *source, *gpu; /* the gpu's beginning */
    int devices_per_node;
    const char *across; /* NULL: that of the device's generation */
} sites[] = {
    /* Jean Zay: 8 A100 and four 100 Gb/s OmniPath ports per node; 4 V100 and four such ports per node
     * (idris.fr/eng/jean-zay) */
    {"bigscience-workshop/bigscience", "A100", 8, "opa-4x100"},
    {"bigscience-workshop/bigscience", "V100", 4, "opa-v100"},
};

/* Of nodes nothing is said about: the ports of the vendor's own systems (DGX A100: 8 x 200 Gb/s, DGX H100 and
 * B200: 8 x 400 Gb/s, GB200 NVL72: 72 devices in one NVLink domain). */
static const struct {
    const char *generation;
    const char *across;
} networks[] = {
    {"volta", "ib-100g"}, {"turing", "ib-100g"}, {"ampere", "ib-200g"},
    {"ada", "ib-200g"},   {"hopper", "ib-400g"}, {"blackwell", "ib-400g"},
};

struct reader {
    struct validation *validation;
    const struct csv *csv;
    const struct validation_defaults *defaults;
    int row;
    struct run *run;
};

static const char *cell(const struct reader *r, const char *column)
{
    return csv_cell(r->csv, r->row, csv_column(r->csv, column));
}

/* A cell, or what is taken for all rows where the table does not have the column. */
static const char *cell_or(const struct reader *r, const char *column, const char *otherwise)
{
    return csv_column(r->csv, column) < 0 && otherwise ? otherwise : cell(r, column);
}

/* A whole number of a cell; `missing` when it is empty or none. */
static int64_t whole(const struct reader *r, const char *column, int64_t missing)
{
    const char *text = cell(r, column);
    char *end;
    double value = text_number(text, &end);
    return end == text || !(value >= 0.0 && value < 0x1p53) ? missing : llround(value);
}

static double number(const struct reader *r, const char *column)
{
    const char *text = cell(r, column);
    char *end;
    double value = text_number(text, &end);
    return end == text || !isfinite(value) ? 0.0 : value;
}

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static bool cannot(const struct reader *r, const char *format, const char *what)
{
    r->run->reason = arena_format(&r->validation->arena, format, what);
    return false;
}

/* "LLAMA3_70B SFT" and "Qwen3_30B_a3B (tokendrop)" name their models and something else. */
static const struct architecture *named_model(const char *name)
{
    static const char *const tails[] = {" SFT", " LoRA", " Pretrain"};
    char text[128];
    snprintf(text, sizeof text, "%s", name);
    char *bracket = strstr(text, " (");
    if (bracket)
        *bracket = '\0';
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t length = strlen(text), tail = strlen(tails[i]);
        if (length > tail && strcasecmp(text + length - tail, tails[i]) == 0)
            text[length - tail] = '\0';
    }
    return architecture_find(text);
}

/* The row's own numbers over those of the model it names. */
static bool read_model(struct reader *r)
{
    struct run *run = r->run;
    const struct architecture *known = named_model(run->model_name);
    struct architecture *model = &run->model;
    int64_t layers = whole(r, "layers", 0), hidden = whole(r, "hidden", 0), heads = whole(r, "heads", 0);
    if (!known && (layers == 0 || hidden == 0 || heads == 0))
        return cannot(r, "no layers, hidden or heads are given, and model '%s' is not known",
                      run->model_name);
    if (known)
        *model = *known;
    else
        *model = (struct architecture){
            .name = run->model_name, .causal = true, .biased = true, .tied = true, .dropout = true};
    if (layers > 0 && layers < 100000) {
        /* a model cut to fewer layers keeps its share of dense ones */
        if (layers < model->layers && model->dense_layers > 0)
            model->dense_layers =
                (int)fmax(1.0, round((double)model->dense_layers * (double)layers / model->layers));
        model->layers = (int)layers;
    }
    if (hidden > 0 && heads > 0) {
        if (model->hidden != hidden || model->heads != heads)
            model->head_width = 0;
        model->hidden = hidden;
        model->heads = heads;
        model->kv_heads = whole(r, "kv_heads", heads);
        model->ffn = whole(r, "ffn", 4 * hidden);
    }
    model->vocabulary = whole(r, "vocab", model->vocabulary > 0 ? model->vocabulary : 50257);
    model->sequence = whole(r, "seq", model->sequence);
    if (contains(run->source,
                 "llm-foundry")) /* MPT: no biases, no dropout (mosaicml/llm-foundry, mpt yamls) */
        model->biased = model->dropout = false;
    struct error err;
    if (!architecture_check(model, "model", &err))
        return cannot(r, "its numbers do not fit together: %s", err.text);
    return true;
}

static bool read_type(struct reader *r)
{
    static const struct {
        const char *part;
        enum cost_type type;
    } names[] = {
        {"fp4", COST_FP4},   {"fp8", COST_FP8},   {"float8", COST_FP8}, {"bf16", COST_BF16},
        {"fp16", COST_FP16}, {"tf32", COST_TF32}, {"fp32", COST_FP32},
    };
    const char *text = cell_or(r, "precision", r->defaults->precision);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (contains(text, names[i].part)) {
            r->run->job.type = names[i].type;
            return true;
        }
    return cannot(r, "no precision that is known: '%s'", text);
}

/* "NVIDIA H100-SXM5-80GB", "AMD Instinct MI300X 192GB HBM3", "B200-SXM-180GB": with the vendor's name and memory, or
 * without. */
static const struct cost_device *named_device(const char *name)
{
    static const char *const vendors[] = {"NVIDIA ", "AMD Instinct ", "AMD "};
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (text_starts_with(name, vendors[i]))
            return named_device(name + strlen(vendors[i]));
    const struct cost_device *device = cost_device_find(name);
    char shorter[128];
    snprintf(shorter, sizeof shorter, "%s", name);
    for (char *at = shorter + strlen(shorter); !device && at > shorter; at--)
        if ((*at == ' ' || *at == '-') && (isdigit((unsigned char)at[1]) || *at == ' ')) {
            *at = '\0';
            device = cost_device_find(shorter);
        }
    return device;
}

/* What stands before a bracket, or in it: "H100-96GB (500W)", "NVIDIA Blackwell GPU (GB200)". */
static const struct cost_device *find_device(const char *gpu)
{
    char name[128];
    snprintf(name, sizeof name, "%s", gpu);
    char *bracket = strstr(name, " (");
    if (!bracket)
        return named_device(name);
    *bracket = '\0';
    const struct cost_device *device = named_device(name);
    char *inner = bracket + 2, *end = strchr(inner, ')');
    if (end)
        *end = '\0';
    return device ? device : named_device(inner);
}

static bool read_device(struct reader *r)
{
    struct run *run = r->run;
    struct job *job = &run->job;
    job->device = find_device(run->gpu);
    if (!job->device)
        return cannot(r, "device '%s' is not in the table", run->gpu);
    job->calibration = calibration_of(job->device);
    job->inside = cost_link_find(job->device->link);
    const char *across = "ib-400g";
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (strcmp(networks[i].generation, job->device->generation) == 0)
            across = networks[i].across;
    job->devices_per_node = contains(run->gpu, "GB200") || contains(run->gpu, "GB300") ? 72 : 8;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (strcmp(sites[i].source, run->source) == 0 && text_starts_with(run->gpu, sites[i].gpu)) {
            job->devices_per_node = sites[i].devices_per_node;
            across = sites[i].across;
        }
    job->across = cost_link_find(across);
    if (!job->inside || !job->across)
        return cannot(r, "no link for device '%s'", run->gpu);
    return true;
}

static bool read_software(struct reader *r)
{
    struct run *run = r->run;
    if (contains(run->framework, "offload"))
        return cannot(r, "offloads to the CPU: '%s'", run->framework);
    run->job.software = software_find(run->framework);
    if (!run->job.software)
        return cannot(r, "software '%s' is not known", run->framework);
    if (contains(cell_or(r, "precision", r->defaults->precision), "eager") &&
        strcmp(run->job.software->name, "torchtitan") == 0)
        run->job.software = software_find("torchtitan-eager");
    if (contains(cell(r, "recompute"), "SP") && strcmp(run->job.software->name, "megatron-2021") == 0)
        run->job.software = software_find("megatron-2022");
    /* BigScience's 176B trials went over to bf16 on 28 February 2022; earlier rows are fp16 */
    if (strcmp(run->job.software->name, "megatron-deepspeed") == 0 && contains(cell(r, "notes"), "; 02-28"))
        run->job.software = software_find("megatron-deepspeed-bf16");
    return true;
}

static bool read_degrees(struct reader *r)
{
    struct job *job = &r->run->job;
    const struct software *software = job->software;
    job->tensor = (int)whole(r, "tp", 1);
    job->pipeline = (int)whole(r, "pp", 1);
    job->context = (int)whole(r, "cp", 1);
    job->expert = (int)whole(r, "ep", 1);
    job->devices = (int)whole(r, "gpus", whole(r, "dp", 0) * job->tensor * job->pipeline * job->context);
    if (job->devices < 1 || job->tensor < 1 || job->pipeline < 1 || job->context < 1 || job->expert < 1)
        return cannot(r, "no number of devices%s", "");
    int model_parallel = job->tensor * job->pipeline * job->context;
    job->data = job->devices / model_parallel;
    if (job->data * model_parallel != job->devices)
        return cannot(r, "tensor x pipeline x context parallel does not divide its devices%s", "");
    job->chunks = (int)whole(r, "vp", 0);
    if (job->chunks < 1)
        job->chunks = job->pipeline > 1 && software->interleaves && r->run->model.layers % job->pipeline == 0
                          ? r->run->model.layers / job->pipeline
                          : 1;
    bool zero = contains(r->run->framework, "ZeRO") || software->fully_sharded;
    job->sharding = (int)whole(r, "zero", zero ? 3 : software->sharded ? 1 : 0);
    return true;
}

static bool read_batch(struct reader *r)
{
    struct job *job = &r->run->job;
    job->sequence = r->run->model.sequence;
    job->batch = whole(r, "gbs", 0);
    job->microbatch = whole(r, "mbs", 0);
    int64_t count = whole(r, "microbatches", 0);
    /* where they contradict each other, the micro-batch was left over from another row */
    if (count > 0 && job->batch > 0 && job->batch % (job->data * count) == 0)
        job->microbatch = job->batch / (job->data * count);
    if (job->batch == 0)
        job->batch = job->microbatch * count * job->data;
    if (r->run->ran_out) { /* one micro-batch of one sequence is the least that can run out */
        job->microbatch = job->microbatch > 0 ? job->microbatch : 1;
        job->batch = job->batch > 0 ? job->batch : job->microbatch * job->data;
    }
    if (job->software->splits_local_batch && job->pipeline > 1)
        job->microbatch = 1;
    if (job->sequence < 1 || job->batch < 1 || job->microbatch < 1)
        return cannot(r, "no sequence, global batch or micro-batch%s", "");
    const char *recompute = cell_or(r, "recompute", r->defaults->recompute);
    r->run->says_all = *recompute != '\0' && *cell(r, "zero") != '\0';
    job->recompute = text_starts_with(recompute, "full")        ? RECOMPUTE_FULL
                     : text_starts_with(recompute, "selective") ? RECOMPUTE_SELECTIVE
                                                                : RECOMPUTE_NONE;
    return true;
}

static void read_run(struct reader *r)
{
    struct run *run = r->run;
    run->id = cell(r, "id");
    run->source = cell(r, "source_repo");
    run->gpu = cell_or(r, "gpu", r->defaults->gpu);
    run->model_name = cell(r, "model");
    run->framework = cell_or(r, "framework", r->defaults->framework);
    run->line = r->csv->lines[r->row];
    run->seconds = number(r, csv_column(r->csv, "real_ms") < 0 ? "sec_per_iter" : "real_ms");
    if (csv_column(r->csv, "real_ms") >= 0)
        run->seconds *= 1e-3;
    run->memory = number(r, csv_column(r->csv, "real_mem_gib") < 0 ? "mem_gb" : "real_mem_gib") * GIGABYTE;
    if (strcmp(cell(r, "mem_basis"), "analytic") == 0) /* computed, not measured */
        run->memory = 0.0;
    run->ran_out = strcasecmp(cell(r, "outcome"), "OOM") == 0;
    const char *basis = cell(r, "sec_basis");
    run->scored =
        run->seconds > 0.0 && (csv_column(r->csv, "sec_basis") < 0 || strcmp(basis, "printed") == 0 ||
                               strcmp(basis, "from_tokens_per_s") == 0);
    run->job.model = &run->model;
    run->job.frozen = contains(run->model_name, "LoRA");
    /* NeMo fine-tunes on packed sequences of SQuAD, whose questions have some 250 tokens with their texts */
    if (run->job.frozen || contains(run->model_name, "SFT"))
        run->job.document = 256;
    if (read_software(r) && read_device(r) && read_model(r) && read_type(r) && read_degrees(r) &&
        read_batch(r))
        run->reason = NULL;
}

bool validation_load(struct validation *validation, const char *path,
                     const struct validation_defaults *defaults, struct error *err)
{
    static const char *const needed[] = {"tp", "pp"}; /* or it is no table of runs */
    *validation = (struct validation){0};
    if (!csv_load(&validation->csv, path, err))
        return false;
    int column;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!csv_need(&validation->csv, needed[i], &column, err)) {
            validation_release(validation);
            return false;
        }
    validation->count = validation->csv.row_count;
    validation->runs = ARENA_ARRAY(&validation->arena, (size_t)validation->count + 1, struct run);
    if (!validation->runs) {
        validation_release(validation);
        return error_memory(err);
    }
    for (int i = 0; i < validation->count; i++)
        read_run(&(struct reader){validation, &validation->csv, defaults, i, &validation->runs[i]});
    return true;
}

void validation_release(struct validation *validation)
{
    csv_release(&validation->csv);
    arena_release(&validation->arena);
    *validation = (struct validation){0};
}

void validation_predict(struct validation *validation, const struct calibration *calibration)
{
    for (int i = 0; i < validation->count; i++) {
        struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        struct job job = run->job;
        if (calibration)
            job.calibration = calibration;
        run->predicted = job_time(&job);
        run->predicted_memory = job_memory(&job);
        run->fits = run->predicted_memory.total <= MEMORY_ERROR * (double)job.device->memory;
        run->memory_error = run->memory > 0.0 ? run->predicted_memory.total / run->memory - 1.0 : 0.0;
        run->error = run->seconds > 0.0 ? run->predicted.seconds / run->seconds - 1.0 : 0.0;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between the two nearest of a sorted list. */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Of `count` signed errors, which it sorts. */
static void summarise(double *errors, int count, struct validation_score *score)
{
    score->runs = count;
    if (count == 0)
        return;
    qsort(errors, (size_t)count, sizeof *errors, compare_numbers);
    score->bias = quantile(errors, count, 0.5);
    for (int i = 0; i < count; i++) {
        errors[i] = fabs(errors[i]);
        score->mean += errors[i] / count;
    }
    qsort(errors, (size_t)count, sizeof *errors, compare_numbers);
    score->median = quantile(errors, count, 0.5);
    score->p90 = quantile(errors, count, 0.9);
}

struct validation_score validation_score(const struct validation *validation,
                                         bool (*matches)(const struct run *run, const void *context),
                                         const void *context)
{
    struct validation_score score = {0};
    double *errors = calloc((size_t)validation->count + 1, sizeof *errors);
    int count = 0;
    for (int i = 0; errors && i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored && (!matches || matches(run, context)))
            errors[count++] = run->error;
    }
    if (errors)
        summarise(errors, count, &score);
    free(errors);
    return score;
}

struct memory_score validation_memory(const struct validation *validation)
{
    struct memory_score score = {0};
    struct validation_score errors_score = {0};
    double *errors = calloc((size_t)validation->count + 1, sizeof *errors);
    int count = 0;
    for (int i = 0; errors && i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (run->reason)
            continue;
        if (run->memory > 0.0)
            errors[count++] = run->memory_error;
        if (run->ran_out) {
            score.ran_out++;
            score.caught += !run->fits;
        } else if (run->says_all && (run->seconds > 0.0 || run->memory > 0.0)) {
            score.ran++;
            score.wrongly_refused += !run->fits;
        }
    }
    if (errors)
        summarise(errors, count, &errors_score);
    free(errors);
    score.runs = errors_score.runs;
    score.mean = errors_score.mean;
    score.median = errors_score.median;
    score.p90 = errors_score.p90;
    score.bias = errors_score.bias;
    return score;
}
