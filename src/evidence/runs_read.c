#include "evidence/validate.h"

#include "core/stop.h"
#include "core/text.h"
#include "devices/tables.h"
#include "evidence/cells.h"
#include "evidence/run_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GIGABYTE 0x1p30

/* Maxima of cells: far above any real run, and small enough that products of degrees, and of batches, do not
 * overflow. */
#define MAX_DEGREE     65536
#define MAX_DEVICES    1048576
#define MAX_BATCH      ((int64_t)1 << 30)
#define MAX_MICROBATCH ((int64_t)1 << 20)
#define MAX_LAYERS     100000
/* Per cent of the mean: tokens of the busiest device where routing is not forced: of a router with a bias per expert,
 * of one with a loss alone, and of one that a fine-tuned model keeps. */
#define UNBALANCED_BIASED 110
#define UNBALANCED        135
#define UNBALANCED_KEPT   180
#define MAX_WIDTH         ((int64_t)1 << 30)

/* Clusters of published runs without one fast network port per device. */
static const struct site {
    const char *source, *gpu; /* the gpu's beginning */
    int devices_per_node;
    const char *across;
} sites[] = {
    /* Jean Zay: 8 A100 and four 100 Gb/s OmniPath ports per node; 4 V100 and four such ports per node
     * (idris.fr/eng/jean-zay) */
    {"bigscience-workshop/bigscience", "A100", 8, "opa-4x100"},
    {"bigscience-workshop/bigscience", "V100", 4, "opa-v100"},
    {"InternLM/InternEvo", "A100", 8, "roce-4x100"}, /* doc/usage.md: four 100 Gb/s ports per node */
    /* gradients of 1B parameters take a second and more between nodes, as over TCP */
    {"nanotron/old_bench (Hugging Face hub)", "H100", 8, "ethernet-25g"},
};

struct reader {
    struct cells cells;
    const struct validation_defaults *defaults;
    struct run *run;
};

/* ---- cells ---- */

#define cannot(r, ...) cells_refuse(&(r)->cells, __VA_ARGS__)

static const char *cell(const struct reader *r, const char *column)
{
    return cells_text(&r->cells, column);
}

static bool has_column(const struct reader *r, const char *column)
{
    return csv_column(r->cells.csv, column) >= 0;
}

/* A cell, or the default where the table does not have the column. */
static const char *cell_or(const struct reader *r, const char *column, const char *otherwise)
{
    return !has_column(r, column) && otherwise ? otherwise : cell(r, column);
}

static int64_t whole(struct reader *r, const char *column, int64_t min, int64_t max, int64_t missing)
{
    return cells_whole(&r->cells, column, min, max, missing);
}

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

/* ---- the model ---- */

/* "LLAMA3_70B SFT" and "Qwen3_30B_a3B (tokendrop)" name their models and something else. */
static const struct architecture *named_model(const char *name)
{
    static const char *const tails[] = {" SFT", " QLoRA", " LoRA", " Pretrain"};
    char text[128];
    snprintf(text, sizeof text, "%s", name);
    char *bracket = strstr(text, " (");
    if (bracket)
        *bracket = '\0';
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t length = strlen(text), tail = strlen(tails[i]);
        if (length > tail && text_ends_like(text, tails[i]))
            text[length - tail] = '\0';
    }
    return architecture_find(text);
}

/* Widths go together: one that is given without the other must be the named model's. */
static bool read_widths(struct reader *r, struct architecture *model)
{
    int64_t known_hidden = model->hidden, known_heads = model->heads;
    int64_t hidden = whole(r, "hidden", 1, MAX_WIDTH, 0), heads = whole(r, "heads", 1, MAX_WIDTH, 0);
    int64_t kv_heads = whole(r, "kv_heads", 1, MAX_WIDTH, 0), ffn = whole(r, "ffn", 1, MAX_WIDTH, 0);
    if (hidden > 0 && heads > 0) {
        if (known_hidden != hidden || known_heads != heads)
            model->head_width = 0;
        model->hidden = hidden;
        model->heads = heads;
        model->kv_heads = heads;
        model->ffn = 4 * hidden;
    } else if (hidden > 0 && hidden != known_hidden) {
        return cannot(r, "hidden is %" PRId64 ", that of '%s' is %" PRId64 ", and heads are not given",
                      hidden, model->name, known_hidden);
    } else if (heads > 0 && heads != known_heads) {
        return cannot(r, "heads are %" PRId64 ", those of '%s' are %" PRId64 ", and hidden is not given",
                      heads, model->name, known_heads);
    }
    model->kv_heads = kv_heads > 0 ? kv_heads : model->kv_heads;
    model->ffn = ffn > 0 ? ffn : model->ffn;
    return !r->run->reason;
}

static void read_layers(struct reader *r, struct architecture *model)
{
    int layers = (int)whole(r, "layers", 1, MAX_LAYERS, 0);
    if (layers == 0)
        return;
    /* a model cut to fewer layers keeps its share of dense ones */
    if (layers < model->layers && model->dense_layers > 0)
        model->dense_layers =
            (int)fmax(1.0, round((double)model->dense_layers * (double)layers / model->layers));
    model->layers = layers;
}

/* Models of today have gated MLPs without biases and dropout. The number of parameters tells, else the MLP's width:
 * four times the model's is that of models before. */
static void read_kind(struct reader *r, struct architecture *model)
{
    int64_t experts = whole(r, "experts", 1, MAX_LAYERS, 0), active = whole(r, "top_k", 1, MAX_LAYERS, 0);
    int64_t width = whole(r, "moe_ffn", 1, MAX_WIDTH, 0);
    double given = 1e9 * cells_number(&r->cells, "params_b", 1e-6, 1e6);
    bool gated = model->ffn != 4 * model->hidden || model->kv_heads < model->heads || experts > 0;
    if (experts > 0 && active > 0) {
        model->experts = (int)experts;
        model->active_experts = (int)active;
        model->expert_ffn = width > 0 ? width : model->ffn;
    }
    if (given > 0.0 && experts == 0) {
        struct architecture other = *model;
        struct error err;
        other.gated = true;
        model->gated = false;
        if (architecture_check(model, "model", &err) && architecture_check(&other, "model", &err))
            gated =
                fabs(architecture_parameters(&other) - given) < fabs(architecture_parameters(model) - given);
    }
    model->gated = model->rms_norm = gated;
    if (gated)
        model->biased = model->dropout = model->tied = false;
}

/* The row's own numbers replace those of the model that it names. */
static bool read_model(struct reader *r)
{
    struct run *run = r->run;
    const struct architecture *known = named_model(run->model_name);
    struct architecture *model = &run->model;
    if (!known && !cells_is_empty(cell(r, "like_model")))
        known = named_model(cell(r, "like_model"));
    if (!known && (cells_is_empty(cell(r, "layers")) || cells_is_empty(cell(r, "hidden")) ||
                   cells_is_empty(cell(r, "heads"))))
        return cannot(r, "no layers, hidden or heads are given, and model '%s' is not known",
                      run->model_name);
    if (known)
        *model = *known;
    else
        *model = (struct architecture){
            .name = run->model_name, .causal = true, .biased = true, .tied = true, .dropout = true};
    model->name = run->model_name;
    model->vision = NULL; /* tokens of runs are text: those of images are in no column */
    model->vision_layers = 0;
    read_layers(r, model);
    if (!read_widths(r, model))
        return false;
    /* images have patches instead of a vocabulary; most runs without one have GPT-2's */
    int64_t vocabulary = model->vocabulary > 0 || model->patch > 0 ? model->vocabulary : 50257;
    model->vocabulary = whole(r, "vocab", 1, MAX_WIDTH, vocabulary);
    model->sequence = whole(r, "seq", 1, MAX_WIDTH, model->sequence);
    if (!known)
        read_kind(r, model);
    if (contains(run->source,
                 "llm-foundry")) /* MPT: no biases, no dropout (mosaicml/llm-foundry, mpt yamls) */
        model->biased = model->dropout = false;
    struct error err;
    if (!r->run->reason && !architecture_check(model, "model", &err))
        return cannot(r, "its numbers do not fit together: %s", err.text);
    return !r->run->reason;
}

/* ---- type, device and software ---- */

static bool read_type(struct reader *r)
{
    const char *text = cell_or(r, "precision", r->defaults->precision);
    return run_read_precision(r->run, text) || cannot(r, "unknown precision '%s'", text);
}

/* The nodes of a run that does not describe them. */
static struct usual_node nodes_of(const struct run *run)
{
    struct usual_node node = usual_node(run->job.device);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (strcmp(sites[i].source, run->source) == 0 && text_starts_with(run->gpu, sites[i].gpu))
            node = (struct usual_node){sites[i].devices_per_node, sites[i].across};
    return node;
}

static bool read_device(struct reader *r)
{
    struct run *run = r->run;
    struct job *job = &run->job;
    const struct validation_defaults *defaults = r->defaults;
    job->device = tables_device(defaults->tables, run->gpu);
    if (!job->device)
        return cannot(r, "device '%s' is not in the table", run->gpu);
    job->calibration = tables_calibration(defaults->tables, job->device);
    job->inside = tables_link(defaults->tables, job->device->link);
    const char *link = cell_or(r, "across", defaults->across);
    struct usual_node node = nodes_of(run);
    if (!has_column(r, "devices_per_node") && defaults->devices_per_node > 0)
        node.devices = defaults->devices_per_node;
    job->devices_per_node = (int)whole(r, "devices_per_node", 1, MAX_DEGREE, node.devices);
    job->across = tables_link(defaults->tables, cells_is_empty(link) ? node.across : link);
    if (!job->across && !cells_is_empty(link))
        return cannot(r, "across: link '%s' is not known", link);
    if (!job->inside || !job->across)
        return cannot(r, "no link for device '%s'", run->gpu);
    return !run->reason;
}

static bool read_software(struct reader *r)
{
    struct run *run = r->run;
    const struct run_words words = {
        .framework = run->framework,
        .version = cell(r, "software_version"),
        .date = cell(r, "source_date"),
        .precision = cell_or(r, "precision", r->defaults->precision),
        .recompute = cell(r, "recompute"),
        .notes = cell(r, "notes"),
        .assumed = cell(r, "assumed"),
        .place = cell(r, "source"),
        .given = has_column(r, "framework") || r->defaults->framework,
    };
    /* NeMo fine-tunes on packed sequences of SQuAD, whose questions have some 250 tokens with their texts */
    bool nvidia = contains(run->framework, "NeMo") || contains(run->framework, "Megatron") || !words.given;
    if (contains(cell(r, "notes"), "padded samples"))
        run->job.document = 256; /* padding is masked: attention to as few */
    if (nvidia && !contains(run->framework, "AutoModel") &&
        (job_is_frozen(&run->job) || contains(run->model_name, "SFT")))
        run->job.document = 256;
    if (contains(run->framework, "offload"))
        return cannot(r, "offloads to the CPU: '%s'", run->framework);
    const char *odd = run_read_software(run, &words);
    if (odd)
        return cannot(r, "expected a rank of LoRA, found '%.*s'", (int)strcspn(odd, ",;"), odd);
    return true;
}

/* ---- degrees ---- */

static int degree(struct reader *r, const char *column)
{
    return (int)whole(r, column, 1, MAX_DEGREE, 1);
}

/* The recipes of NeMo and of Megatron-Bridge turn the overlap on; in Megatron-LM it is an option. */
static enum technique_switch tensor_overlap_of(const struct reader *r)
{
    const struct software *software = r->run->job.software;
    const char *notes = cell(r, "notes");
    if (!software_supports(software, TECHNIQUE_TENSOR_OVERLAP) || contains(notes, "vanilla TP"))
        return SWITCH_USUAL;
    const char *framework = r->run->framework;
    bool megatron = text_starts_with(software->name, "megatron-core") && framework;
    bool on = (megatron && (contains(framework, "NeMo") || contains(framework, "Bridge"))) ||
              contains(notes, "async TP") || contains(notes, "asyncTP");
    return on ? SWITCH_ON : SWITCH_USUAL;
}

/* How tokens come to their experts. */
static void read_exchanges(struct reader *r)
{
    struct job *job = &r->run->job;
    const char *notes = cell(r, "notes");
    if (job->degrees.expert <= 1)
        return;
    if (contains(notes, "DeepEP") || contains(notes, "HybridEP"))
        job->technique.dispatch = DISPATCH_DEEPEP;
    else if (text_starts_with(notes, "all-to-all") || contains(notes, "alltoall dispatcher"))
        job->technique.dispatch = DISPATCH_ALLTOALL;
    const char *rounds = strstr(notes, "GA "); /* a pipeline is filled for each of them */
    int64_t count;
    if (rounds && contains(r->run->framework, "AutoModel") && text_whole(rounds + 3, " ,;.)", &count))
        job->rounds = (int)fmin(fmax((double)count, 0.0), MAX_DEGREE);
    /* AutoModel's FakeBalancedGate */
    job->in_turn = contains(r->run->framework, "AutoModel") && contains(notes, "balanced gate");
    bool overlaps = contains(notes, "overlap of all-to-all") || contains(notes, "all-to-all overlap") ||
                    cells_has_item(notes, "overlap") || contains(notes, "a2a overlap");
    if (overlaps && !contains(notes, "no a2a overlap") &&
        software_supports(job->software, TECHNIQUE_EXPERT_OVERLAP))
        job->technique.expert_overlap = OVERLAP_PASSES;
}

static bool read_degrees(struct reader *r)
{
    struct run *run = r->run;
    struct job *job = &run->job;
    const struct software *software = job->software;
    job->degrees.tensor = degree(r, "tp");
    job->degrees.pipeline = degree(r, "pp");
    job->degrees.context = degree(r, "cp");
    job->degrees.expert = degree(r, "ep");
    int64_t data = whole(r, "dp", 1, MAX_DEVICES, 0);
    int64_t devices = whole(r, "gpus", 1, MAX_DEVICES, 0);
    int64_t chunks = whole(r, "vp", 0, MAX_LAYERS, 0);
    int64_t model_parallel = (int64_t)job->degrees.tensor * job->degrees.pipeline * job->degrees.context;
    bool zero = contains(run->framework, "ZeRO") || software->fully_sharded;
    bool shared =
        software->sharded && !contains(cell(r, "notes"), "ds=N"); /* BigScience: without DeepSpeed's ZeRO */
    job->sharding = (int)whole(r, "zero", 0, 3, zero ? 3 : shared ? 1 : 0);
    if (run->reason)
        return false;
    if (model_parallel > MAX_DEVICES ||
        (devices == 0 && data * model_parallel > MAX_DEVICES)) /* at most 2^40 here */
        return cannot(r, "its parallel degrees multiply to more than %d devices", MAX_DEVICES);
    devices = devices > 0 ? devices : data * model_parallel;
    if (devices == 0)
        return cannot(r, "no number of devices");
    if (devices % model_parallel != 0)
        return cannot(r, "tensor x pipeline x context parallel does not divide its devices");
    job->devices = (int)devices;
    job->degrees.data = (int)(devices / model_parallel);
    read_exchanges(r);
    job->technique.tensor_overlap = tensor_overlap_of(r);
    if (cells_has_item(cell(r, "notes"), "no overlap") && software_supports(software, TECHNIQUE_DATA_OVERLAP))
        job->technique.data_overlap = SWITCH_OFF;
    bool interleaves =
        job->degrees.pipeline > 1 && software->interleaves && run->model.layers % job->degrees.pipeline == 0;
    job->chunks = chunks > 0 ? (int)chunks : interleaves ? run->model.layers / job->degrees.pipeline : 1;
    return true;
}

/* Sets recomputation, and what the row leaves open. */
static bool read_recompute(struct reader *r)
{
    struct run *run = r->run;
    const char *text = cell_or(r, "recompute", r->defaults->recompute);
    bool given = !cells_is_empty(text);
    run->job.recompute = RECOMPUTE_NONE;
    if (given && !run_read_recompute(run, text))
        return cannot(r, "recompute: expected full, selective or none, found '%s'", text);
    bool selective = given && run->job.recompute == RECOMPUTE_SELECTIVE;
    int modules = run->job.technique.modules;
    bool staged = run->job.degrees.pipeline > 1 && cells_is_empty(cell(r, "vp"));
    run->open =
        (given && !contains(text, "policy") ? 0 : OPEN_RECOMPUTE | OPEN_MODULES) |
        (selective && modules == 0 && software_supports(run->job.software, TECHNIQUE_MODULES) ? OPEN_MODULES
                                                                                              : 0) |
        (cells_is_empty(cell(r, "zero")) ? OPEN_SHARDING : 0);
    if (run->open && staged)
        run->open |= OPEN_CHUNKS;
    if (run->model.experts > 0 && contains(cell(r, "notes"), "unbalanced"))
        run->job.technique.imbalance = job_is_frozen(&run->job)   ? UNBALANCED_KEPT
                                       : run->model.router_biased ? UNBALANCED_BIASED
                                                                  : UNBALANCED;
    /* ZeRO-1 in groups: copies of the shards */
    const char *shards = strstr(cell(r, "notes"), "zero1=");
    int group;
    if (shards && sscanf(shards, "zero1=%6d", &group) == 1 && group > 0 && run->job.degrees.data % group == 0)
        run->job.technique.replicate = run->job.degrees.data / group;
    /* PyTorch's first FSDP leaves gathered weights where they have no gradients */
    if (job_is_frozen(&run->job) && contains(run->framework, "LitGPT"))
        run->job.technique.reshard = SWITCH_OFF;
    return true;
}

static bool read_batch(struct reader *r)
{
    struct job *job = &r->run->job;
    job->sequence = r->run->model.sequence;
    job->batch = whole(r, "gbs", 1, MAX_BATCH, 0);
    job->microbatch = whole(r, "mbs", 1, MAX_MICROBATCH, 0);
    int64_t count = whole(r, "microbatches", 1, MAX_MICROBATCH, 0);
    if (r->run->reason)
        return false;
    /* where they contradict each other, the micro-batch was left over from another row */
    if (count > 0 && job->batch > 0 && job->batch % (job->degrees.data * count) == 0)
        job->microbatch = job->batch / (job->degrees.data * count);
    if (job->batch == 0)
        job->batch = job->microbatch * count * job->degrees.data;
    if (r->run->ran_out) { /* one micro-batch of one sequence is the least that can run out */
        job->microbatch = job->microbatch > 0 ? job->microbatch : 1;
        job->batch = job->batch > 0 ? job->batch : job->microbatch * job->degrees.data;
    }
    if (job->software->one_pass && count == 0 && job->degrees.pipeline == 1 &&
        job->batch >= job->degrees.data && job->batch / job->degrees.data <= MAX_MICROBATCH)
        job->microbatch = job->batch / job->degrees.data;
    if (job->software->splits_local_batch && job->degrees.pipeline > 1)
        job->microbatch = 1;
    if (job->sequence < 1 || job->batch < 1 || job->microbatch < 1)
        return cannot(r, "no sequence, global batch or micro-batch");
    if (job->batch > MAX_BATCH)
        return cannot(r, "micro-batch x micro-batches x data parallel is more than %" PRId64 " sequences",
                      MAX_BATCH);
    return true;
}

static bool check_job(struct reader *r)
{
    struct error err;
    return job_check_degrees(&r->run->job, &err) || cannot(r, "%s", err.text);
}

/* ---- a row ---- */

static void read_measured(struct reader *r)
{
    struct run *run = r->run;
    bool milliseconds = has_column(r, "real_ms");
    /* a microsecond to a year */
    run->seconds = milliseconds ? 1e-3 * cells_number(&r->cells, "real_ms", 1e-3, 3.2e10)
                                : cells_number(&r->cells, "sec_per_iter", 1e-6, 3.2e7);
    const char *column = has_column(r, "real_mem_gib") ? "real_mem_gib" : "mem_gb";
    bool decimal = contains(run->framework, "LitGPT"); /* prints bytes / 1e9 */
    run->memory = cells_number(&r->cells, column, 1e-6, 1e6) * (decimal ? 1e9 : GIGABYTE);
    if (strcmp(cell(r, "mem_basis"), "analytic") == 0) /* computed, not measured */
        run->memory = 0.0;
    run->ran_out = strcasecmp(cell(r, "outcome"), "OOM") == 0;
    const char *basis = cell(r, "sec_basis");
    run->scored = run->seconds > 0.0 &&
                  (!has_column(r, "sec_basis") || strcmp(basis, "printed") == 0 ||
                   strcmp(basis, "from_tokens_per_s") == 0 || strcmp(basis, "from_samples_per_s") == 0);
}

/* Adapters are beside the matrices of attention alone, as by default in PEFT, LitGPT and NeMo and in MLPerf's rules,
 * where neither the notes nor the source's own scripts say all. Megatron-Bridge's recipes have all (peft/lora.py,
 * target_modules, 2026-08), those of its performance pages attention's; axolotl's examples, too (lora_target_linear,
 * 2024-04). */
static bool adapts_all(struct reader *r, const char *notes)
{
    bool bridge = contains(r->run->framework, "Bridge") && !contains(cell(r, "source"), "performance");
    return contains(notes, "all layers") || contains(notes, "all linear") || contains(notes, "*_proj") ||
           strcmp(r->run->source, "QwenLM/Qwen") == 0 || contains(r->run->source, "axolotl") || bridge;
}

/* The model's name or the notes say LoRA; notes of a full training that say "Full; LoRA rank 64" are of a table of
 * both. */
static void read_adapters(struct reader *r)
{
    struct run *run = r->run;
    struct technique *technique = &run->job.technique;
    const char *notes = cell(r, "notes");
    if (!contains(run->model_name, "LoRA") && (!contains(notes, "LoRA") || contains(notes, "Full")))
        return;
    technique->rank = LORA_RANK;
    technique->targets = adapts_all(r, notes) ? TARGETS_ALL : TARGETS_ATTENTION;
    technique->ends = contains(run->model_name, "(emb") ? SWITCH_ON : SWITCH_USUAL;
}

static void read_run(struct validation *validation, const struct validation_defaults *defaults, int row)
{
    struct run *run = &validation->runs[row];
    struct reader *r = &(struct reader){
        .cells = {&validation->csv, row, &validation->arena, &run->reason, false},
        .defaults = defaults,
        .run = run,
    };
    run->id = cell(r, "id");
    run->source = cell(r, "source_repo");
    run->gpu = cell_or(r, "gpu", defaults->gpu);
    run->model_name = cell(r, "model");
    run->framework = cell_or(r, "framework", defaults->framework);
    run->set = cell(r, "set");
    run->date = cell(r, "source_date");
    run->line = validation->csv.lines[row];
    run->job.model = &run->model;
    read_adapters(r);
    read_measured(r);
    if (!run->reason && read_device(r) && read_software(r) && read_model(r) && read_type(r) &&
        read_degrees(r) && read_batch(r) && read_recompute(r)) {
        run_read_habits(run, cell(r, "kind"), cell(r, "source"), cell(r, "notes"));
        check_job(r);
    }
    validation->no_memory |= r->cells.no_memory;
}

static void keep_set(struct validation *validation, const char *set)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        if (strcmp(validation->runs[i].set, set) != 0)
            continue;
        struct run *run = &validation->runs[count++];
        *run = validation->runs[i];
        run->job.model = &run->model;
    }
    validation->count = count;
}

static bool read_runs(struct validation *validation, const struct validation_defaults *defaults,
                      struct error *err)
{
    static const char *const needed[] = {"tp", "pp"}; /* or it is no table of runs */
    int column;
    if (!tables_ready(err))
        return false;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!csv_need(&validation->csv, needed[i], &column, err))
            return false;
    validation->count = validation->csv.row_count;
    validation->runs = ARENA_ARRAY(&validation->arena, (size_t)validation->count + 1, struct run);
    validation->errors = ARENA_ARRAY(&validation->arena, (size_t)validation->count + 1, double);
    if (!validation->runs || !validation->errors)
        return error_memory(err);
    for (int i = 0; i < validation->count; i++) {
        if (stop_obeyed(err))
            return false;
        read_run(validation, defaults, i);
    }
    if (defaults->set)
        keep_set(validation, defaults->set);
    return !validation->no_memory || error_memory(err);
}

static bool finish(struct validation *validation, const struct validation_defaults *defaults,
                   struct error *err)
{
    if (read_runs(validation, defaults, err))
        return true;
    validation_release(validation);
    return false;
}

bool validation_load(struct validation *validation, const char *path,
                     const struct validation_defaults *defaults, struct error *err)
{
    *validation = (struct validation){0};
    return csv_load(&validation->csv, path, err) && finish(validation, defaults, err);
}

bool validation_parse(struct validation *validation, const char *path, const char *data, size_t length,
                      const struct validation_defaults *defaults, struct error *err)
{
    *validation = (struct validation){0};
    return csv_parse(&validation->csv, path, data, length, err) && finish(validation, defaults, err);
}

extern const char data_runs[];
extern const size_t data_runs_size;

bool validation_load_known(struct validation *validation, const struct validation_defaults *defaults,
                           struct error *err)
{
    return validation_parse(validation, "runs.csv", data_runs, data_runs_size, defaults, err);
}

void validation_release(struct validation *validation)
{
    csv_release(&validation->csv);
    arena_release(&validation->arena);
    *validation = (struct validation){0};
}
