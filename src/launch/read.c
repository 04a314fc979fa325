/* Reads the settings of a job from Megatron-LM's arguments. */
#include "launch/megatron.h"
#include "launch/part.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Options whose number is a setting of the job. */
static const struct {
    enum megatron_option option;
    size_t at;
} numbers[] = {
#define X(id, name, kind)
#define S(id, name, setting) {MEGATRON_##id, offsetof(struct launch_options, setting)},
    MEGATRON_OPTIONS(X, S)
#undef X
#undef S
};

/* Words that stand for a setting of the job. */
static const struct {
    enum megatron_option option;
    const char *word;
    size_t at;
    int64_t value;
} words[] = {
#define WORD(option, word, field, value)                                                                     \
    {                                                                                                        \
        MEGATRON_##option, word, offsetof(struct launch_options, field), value                               \
    }
    WORD(RECOMPUTE, "selective", recompute, RECOMPUTE_SELECTIVE),
    WORD(RECOMPUTE, "full", recompute, RECOMPUTE_FULL),
    WORD(FP8, "hybrid", type, COST_FP8),
    WORD(FP8, "e4m3", type, COST_FP8),
    WORD(FP4, "e2m1", type, COST_FP4),
    WORD(SHARDING, "no_shard", sharding, 0),
    WORD(SHARDING, "optim", sharding, 1),
    WORD(SHARDING, "optim_grads", sharding, 2),
    WORD(SHARDING, "optim_grads_params", sharding, 3),
#undef WORD
};

/* Flags that stand for a setting. Words, and flags further up, take precedence. */
static const struct {
    enum megatron_option option;
    size_t at;
    int64_t value;
} flags[] = {
#define FLAG(option, field, value)                                                                           \
    {                                                                                                        \
        MEGATRON_##option, offsetof(struct launch_options, field), value                                     \
    }
    FLAG(RECOMPUTE_SELECTIVE, recompute, RECOMPUTE_SELECTIVE),
    FLAG(DISTRIBUTED_OPTIMIZER, sharding, 1),
    FLAG(BF16, type, COST_BF16),
    FLAG(FP16, type, COST_FP16),
#undef FLAG
};

struct reader {
    const char *path;
    const struct megatron_arguments *arguments;
    struct launch_options *options;
    struct launch_unknown *unknown; /* the options' */
    struct error *err;
};

static struct launch_value *field(const struct reader *r, size_t at)
{
    return (struct launch_value *)(void *)((char *)r->options + at);
}

static void take(const struct reader *r, size_t at, enum megatron_option option, int64_t value)
{
    struct launch_value *to = field(r, at);
    if (r->arguments->values[option].given && !to->given)
        *to = (struct launch_value){true, r->arguments->values[option].line, value};
}

static bool read_word(const struct reader *r, enum megatron_option option)
{
    const struct megatron_value *value = &r->arguments->values[option];
    bool known = false;
    char expected[128] = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].option != option)
            continue;
        size_t length = strlen(expected);
        snprintf(expected + length, sizeof expected - length, "%s%s", length > 0 ? ", " : "", words[i].word);
        if (strcmp(words[i].word, value->word) == 0) {
            take(r, words[i].at, option, words[i].value);
            known = true;
        }
    }
    return known || error_set(r->err, ERROR_INPUT, "%s:%d: %s: expected one of %s, found '%s'", r->path,
                              value->line, megatron_name(option), expected, value->word);
}

/* ZeRO stages belong to Megatron-FSDP; without it the strategy is ignored (megatron/training/training.py). */
static bool read_words(const struct reader *r)
{
    static const enum megatron_option options[] = {MEGATRON_RECOMPUTE, MEGATRON_FP8, MEGATRON_FP4,
                                                   MEGATRON_SHARDING};
    const struct megatron_value *values = r->arguments->values;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        bool counts = options[i] != MEGATRON_SHARDING || values[MEGATRON_FSDP].given;
        if (values[options[i]].given && counts && !read_word(r, options[i]))
            return false;
    }
    if (values[MEGATRON_FSDP].given && !values[MEGATRON_SHARDING].given) /* its default: "no_shard" */
        r->options->sharding = (struct launch_value){true, values[MEGATRON_FSDP].line, 0};
    return true;
}

static bool conflict(const struct reader *r, enum megatron_option one, enum megatron_option other)
{
    const struct megatron_value *values = r->arguments->values;
    if (!values[one].given || !values[other].given)
        return false;
    error_set(r->err, ERROR_INPUT, "%s:%d: %s and %s (line %d) exclude each other", r->path, values[one].line,
              megatron_name(one), megatron_name(other), values[other].line);
    return true;
}

static bool check_conflicts(const struct reader *r)
{
    return !conflict(r, MEGATRON_BF16, MEGATRON_FP16) && !conflict(r, MEGATRON_FP8, MEGATRON_FP4) &&
           !conflict(r, MEGATRON_CHUNKS, MEGATRON_CHUNK_BLOCKS) &&
           !conflict(r, MEGATRON_LAYOUT, MEGATRON_CHUNKS) &&
           !conflict(r, MEGATRON_LAYOUT, MEGATRON_CHUNK_BLOCKS) &&
           !conflict(r, MEGATRON_LAYOUT, MEGATRON_FIRST_BLOCKS) &&
           !conflict(r, MEGATRON_LAYOUT, MEGATRON_LAST_BLOCKS);
}

/* Adds up the chunks of each rank to the blocks of the stages. */
static bool read_layout(const struct reader *r)
{
    struct launch_options *options = r->options;
    const struct megatron_value *value = &r->arguments->values[MEGATRON_LAYOUT];
    int *blocks, count;
    if (!value->given)
        return true;
    if (!megatron_layout_read(value->word, &options->arena, &blocks, &count))
        return error_set(r->err, ERROR_INPUT,
                         "%s:%d: %s: expected stages as in 'Et*3|(tt|)*29,m|L', at most %d, found '%s'",
                         r->path, value->line, megatron_name(MEGATRON_LAYOUT), LAUNCH_MAX_STAGES,
                         value->word);
    int64_t pipeline = options->pipeline.given ? options->pipeline.value : 1;
    if (count % pipeline != 0)
        return error_set(r->err, ERROR_INPUT,
                         "%s:%d: %s has %d stages, not a multiple of the pipeline's %" PRId64, r->path,
                         value->line, megatron_name(MEGATRON_LAYOUT), count, pipeline);
    for (int i = (int)pipeline; i < count; i++)
        blocks[i % pipeline] += blocks[i];
    options->chunks = (struct launch_value){true, value->line, count / pipeline};
    options->stage_blocks = blocks;
    options->stage_count = (int)pipeline;
    return true;
}

/* Lists an option that a job cannot express among those that are not understood. */
static void leave(const struct reader *r, enum megatron_option option)
{
    r->unknown[r->options->unknown_count++] =
        (struct launch_unknown){megatron_name(option), r->arguments->values[option].line};
}

#define MAX_LEFT 2

static void leave_inexpressible(const struct reader *r)
{
    const struct megatron_value *values = r->arguments->values;
    struct launch_options *options = r->options;
    bool block = values[MEGATRON_RECOMPUTE_METHOD].given &&
                 strcmp(values[MEGATRON_RECOMPUTE_METHOD].word, "block") == 0;
    bool several = values[MEGATRON_RECOMPUTE_LAYERS].given && values[MEGATRON_RECOMPUTE_LAYERS].number > 1;
    if (options->recompute.given && options->recompute.value == RECOMPUTE_FULL && (block || several)) {
        options->recompute.given = false; /* some layers only, or several as one */
        leave(r, block ? MEGATRON_RECOMPUTE_METHOD : MEGATRON_RECOMPUTE_LAYERS);
    }
    if (options->expert.value > 1 &&
        values[MEGATRON_EXPERT_TENSOR].number > 1) /* an expert split over ranks */
        leave(r, MEGATRON_EXPERT_TENSOR);
}

static bool read_options(const struct reader *r)
{
    const struct megatron_arguments *arguments = r->arguments;
    if (!check_conflicts(r))
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        take(r, numbers[i].at, numbers[i].option, arguments->values[numbers[i].option].number);
    if (!arguments->values[MEGATRON_GROUPED].given) /* the number of groups counts with this flag only */
        r->options->kv_heads.given = false;
    if (!read_words(r))
        return false;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        take(r, flags[i].at, flags[i].option, flags[i].value);
    r->options->counts_embedding = arguments->values[MEGATRON_COUNTS_EMBEDDING].given;
    r->options->counts_head = arguments->values[MEGATRON_COUNTS_HEAD].given;
    r->options->rank_batch = arguments->rank_batch;
    leave_inexpressible(r);
    return read_layout(r);
}

bool launch_read_megatron(const char *path, const char *data, size_t length, struct launch_options *options,
                          struct error *err)
{
    memset(options, 0, sizeof *options);
    struct arena arena = {0};
    struct megatron_arguments *arguments = ARENA_NEW(&arena, struct megatron_arguments);
    if (!arguments)
        return error_memory(err);
    if (!megatron_scan(path, data, length, arguments, err)) {
        arena_release(&arena);
        return false;
    }
    options->arena = arguments->arena; /* the names and words */
    struct launch_unknown *unknown =
        ARENA_ARRAY(&options->arena, (size_t)arguments->unknown_count + MAX_LEFT, struct launch_unknown);
    if (unknown)
        memcpy(unknown, arguments->unknown, (size_t)arguments->unknown_count * sizeof *unknown);
    options->unknown = unknown;
    options->unknown_count = arguments->unknown_count;
    struct reader reader = {path, arguments, options, unknown, err};
    bool ok = unknown ? read_options(&reader) : error_memory(err);
    arena_release(&arena);
    if (!ok)
        launch_options_release(options);
    return ok;
}

void launch_options_release(struct launch_options *options)
{
    arena_release(&options->arena);
    *options = (struct launch_options){0};
}
