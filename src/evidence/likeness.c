#include "evidence/likeness.h"

#include "core/statistics.h"
#include "devices/measured/kernels.h"
#include "names.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Differences, those of sizes first: their rows in data/names.yaml. */
enum difference {
    DIFFERENT_STEP = LIKENESS_SIZES,
    DIFFERENT_DEVICES,
    DIFFERENT_YEAR,
    DIFFERENT_GENERATION,
    DIFFERENT_DEVICE,
    DIFFERENT_FAMILY,
    DIFFERENT_SOFTWARE,
    DIFFERENT_FRAMEWORK,
    DIFFERENT_WIDTH,
    DIFFERENT_TRAINING,
    DIFFERENT_DOCUMENTS,
    DIFFERENT_KIND,
    DIFFERENT_RECOMPUTE,
    DIFFERENT_RECIPE,
    DIFFERENT_SHARDING,
    DIFFERENT_MODEL,
    DIFFERENCES
};
static const struct {
    const char *what;
    double alike, support;
} differences[] = {ROWS_likeness};
_Static_assert(sizeof differences / sizeof *differences == DIFFERENCES, "a row for each difference");

static const struct {
    const char *name;
    double number;
    const char *unit, *source;
} doubts[] = {ROWS_doubt};
_Static_assert(sizeof doubts / sizeof *doubts == DOUBTS, "a row for each number");

double likeness_doubt(enum doubt which)
{
    return doubts[which].number;
}

#define SAME_MODEL 20.0 /* models of so many sizes per doubling: equal sizes are one model */

/* Blocks and steps that are longer than this (milliseconds, seconds) hide what the host does. */
#define LONG_BLOCK 16.0
#define LONG_STEP  2.0

static int bits_of(enum cost_type type)
{
    double bytes = cost_type_bytes(type);
    return bytes < 1.0 ? 4 : bytes < 2.0 ? 8 : 16;
}

static enum likeness_kind kind_of(const struct architecture *model)
{
    return model->experts > 0 ? LIKENESS_EXPERTS : model->causal ? LIKENESS_DENSE : LIKENESS_ENCODER;
}

static double block_of(const struct job *job, const struct job_time *time)
{
    double blocks = (double)job_block_count(job) / fmax(job->degrees.pipeline, 1.0);
    if (time->compute <= 0.0 || blocks <= 0.0)
        return log2(LONG_BLOCK);
    double seconds = time->compute / ((double)job_microbatches(job) * blocks);
    return log2(fmin(fmax(1e3 * seconds, 0.01), LONG_BLOCK));
}

struct likeness likeness_of(const struct job *job, const struct job_time *time)
{
    return (struct likeness){
        .generation = job->device->generation,
        .device = job->device->name,
        .software = job->software->name,
        .framework = "",
        .bits = bits_of(cost_device_type(job->device, job->type)),
        .frozen = job_is_frozen(job),
        .packed = job->document > 0,
        .recompute = job->recompute,
        .sharding = job->sharding,
        .recipe = (enum number_recipe)job->technique.recipe,
        .kind = kind_of(job->model),
        .sheet = device_is_sheet(job->device),
        .devices = job->devices,
        .active = log2(fmax(architecture_active_parameters(job->model), 1.0)),
        .step = log2(time->seconds > 0.0 ? fmin(time->seconds, LONG_STEP) : LONG_STEP),
        .sizes =
            {
                [LIKENESS_PARAMETERS] = log2(fmax(architecture_parameters(job->model), 1.0)),
                [LIKENESS_TOKENS] = log2(fmax((double)(job->microbatch * job->sequence), 1.0)),
                [LIKENESS_TENSOR] = log2(fmax(job->degrees.tensor, 1.0)),
                [LIKENESS_PIPELINE] = log2(fmax(job->degrees.pipeline, 1.0)),
                [LIKENESS_CONTEXT] = log2(fmax(job->degrees.context, 1.0)),
                [LIKENESS_EXPERT] = log2(fmax(job->degrees.expert, 1.0)),
                [LIKENESS_BUBBLE] = time->seconds > 0.0 ? time->bubble / time->seconds : 0.0,
                [LIKENESS_BLOCK] = block_of(job, time),
            },
    };
}

static bool same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

bool likeness_same_family(const char *a, const char *b)
{
    size_t length = strcspn(a, "-");
    return length == strcspn(b, "-") && strncmp(a, b, length) == 0;
}

bool likeness_same_framework(const char *a, const char *b)
{
    static const char version[] = "0123456789. ";
    if (a == b)
        return true;
    for (;; a++, b++) {
        a += strspn(a, version);
        b += strspn(b, version);
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

/* Returns what a difference adds, if there is one. */
static double alike(enum difference which, bool differs)
{
    return differs ? differences[which].alike : 0.0;
}

static double distance_of_software(const struct likeness *a, const struct likeness *b)
{
    double sum = 0.0, framework = differences[DIFFERENT_FRAMEWORK].alike / 2.0;
    if (!same(a->software, b->software))
        sum += differences[DIFFERENT_SOFTWARE].alike +
               alike(DIFFERENT_FAMILY, !likeness_same_family(a->software, b->software));
    if (!likeness_same_framework(a->framework, b->framework))
        sum += (*a->framework ? framework : 0.0) + (*b->framework ? framework : 0.0);
    return sum + fabs(a->released - b->released) * differences[DIFFERENT_YEAR].alike;
}

double likeness_distance(const struct likeness *a, const struct likeness *b, double enough)
{
    double sum = 0.0;
    for (int i = 0; i < LIKENESS_SIZES; i++)
        sum += fabs(a->sizes[i] - b->sizes[i]) * differences[i].alike;
    sum += alike(DIFFERENT_MODEL, floor(SAME_MODEL * a->sizes[LIKENESS_PARAMETERS]) !=
                                      floor(SAME_MODEL * b->sizes[LIKENESS_PARAMETERS]));
    sum += alike(DIFFERENT_WIDTH, a->bits != b->bits);
    sum += alike(DIFFERENT_TRAINING, a->frozen != b->frozen);
    sum += alike(DIFFERENT_RECOMPUTE, a->recompute != b->recompute);
    sum += alike(DIFFERENT_RECIPE, a->recipe != b->recipe);
    sum += alike(DIFFERENT_SHARDING, a->sharding != b->sharding);
    if (sum > enough)
        return sum;
    if (!same(a->device, b->device))
        sum += differences[DIFFERENT_DEVICE].alike +
               alike(DIFFERENT_GENERATION, !same(a->generation, b->generation));
    return sum + distance_of_software(a, b);
}

/* ---- what a prediction rests on ---- */

/* Of log2 of a size: what a table rounds away. Models of one size within that are one model. */
#define EQUAL 0.005

static double gap(const struct likeness *a, const struct likeness *b, enum likeness_size size)
{
    return fabs(a->sizes[size] - b->sizes[size]);
}

/* As log2; 0 where a job has no number of devices yet. */
static double gap_of_devices(const struct likeness *run, const struct likeness *job)
{
    return job->devices > 0 && run->devices > 0 ? fabs(log2((double)run->devices / job->devices)) : 0.0;
}

void likeness_price_others(struct likeness *likeness, const struct job *job)
{
    double own = job_time(job).seconds;
    for (int i = 0; i < LIKENESS_OTHERS && software_mixture[i]; i++) {
        struct job other = *job;
        other.software = software_find(software_mixture[i]);
        double seconds = job_time(&other).seconds;
        likeness->others[i] = own > 0.0 && seconds > 0.0 ? log(seconds / own) : 0.0;
    }
}

/* Trainers took the attention of one kernel in 2023: nanoGPT and PyTorch 2 in the first months, Megatron-Core with its
 * first release. */
#define FUSED_SINCE 2023.0

static bool of_its_time(const struct software *software, const struct likeness *job)
{
    bool old = job->released > 0.0 && job->released < FUSED_SINCE;
    return old == (software->attention == ATTENTION_UNFUSED);
}

static bool offers_its_splits(const struct software *software, const struct likeness *job)
{
    static const struct {
        enum likeness_size degree;
        unsigned offer;
    } splits[] = {{LIKENESS_TENSOR, OFFERS_TENSOR},
                  {LIKENESS_PIPELINE, OFFERS_PIPELINE},
                  {LIKENESS_CONTEXT, OFFERS_CONTEXT},
                  {LIKENESS_EXPERT, OFFERS_EXPERT}};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (job->sizes[splits[i].degree] > 0.0 && !(software->offers & splits[i].offer))
            return false;
    return true;
}

static bool trains_as(const struct software *software, const struct likeness *job)
{
    return !job->frozen || software->adapter_launches > 0.0 || software->adapter_in > 0.0;
}

typedef bool mixture_filter(const struct software *software, const struct likeness *job);

/* Keeps those that pass, if any does. */
static int narrow(int *which, int count, mixture_filter *passes, const struct likeness *job)
{
    int kept[LIKENESS_OTHERS], left = 0;
    for (int i = 0; i < count; i++)
        if (passes(software_find(software_mixture[which[i]]), job))
            kept[left++] = which[i];
    if (left == 0)
        return count;
    memcpy(which, kept, (size_t)left * sizeof *kept);
    return left;
}

/* What was there at the job's date. */
static int of_time(const struct likeness *likeness, const char *without, int which[LIKENESS_OTHERS])
{
    int count = 0;
    for (int i = 0; software_mixture[i]; i++)
        if (!without || !likeness_same_family(software_mixture[i], without))
            which[count++] = i;
    return narrow(which, count, of_its_time, likeness);
}

int likeness_mixture(const struct likeness *likeness, const char *without, int which[LIKENESS_OTHERS])
{
    int count = of_time(likeness, without, which);
    count = narrow(which, count, offers_its_splits, likeness);
    return narrow(which, count, trains_as, likeness);
}

/* Appends the times by some software; returns how many there are then. */
static int add_times(const struct likeness *likeness, const int *which, int others, double *times, int count)
{
    for (int i = 0; i < others; i++)
        times[count++] = likeness->others[which[i]];
    sort_doubles(times, count);
    return count;
}

struct likeness_spread likeness_spread(const struct likeness *likeness, bool forget)
{
    double times[LIKENESS_OTHERS + 1] = {0.0}, center;
    const char *without = forget ? likeness->software : NULL;
    int which[LIKENESS_OTHERS], count = forget ? 0 : 1; /* its own is the first */
    bool priced = false;
    for (int i = 0; i < LIKENESS_OTHERS; i++)
        priced |= likeness->others[i] != 0.0;
    if (!priced)
        return (struct likeness_spread){0.0, likeness_doubt(DOUBT_USUAL_SPREAD)};
    int others = likeness_mixture(likeness, without, which);
    count = add_times(likeness, which, others, times, count);
    center = quantile_of(times, count, 0.5);
    if (others ==
        1) { /* nothing to compare: software that does not offer the splits tells how far times may lie apart */
        times[0] = 0.0;
        count = add_times(likeness, which, of_time(likeness, without, which), times, forget ? 0 : 1);
    }
    double range = count > 1 ? times[count - 1] - times[0] : likeness_doubt(DOUBT_USUAL_SPREAD);
    return (struct likeness_spread){
        center, hypot(fmin(range, likeness_doubt(DOUBT_MOST_SPREAD)), likeness_doubt(DOUBT_LEAST_SPREAD))};
}

static double support(enum difference which, bool differs)
{
    return differs ? differences[which].support : 0.0;
}

double likeness_support(const struct likeness *run, const struct likeness *job)
{
    double sum = 0.0;
    if (!same(run->software, job->software))
        sum += differences[DIFFERENT_SOFTWARE].support +
               support(DIFFERENT_FAMILY, !likeness_same_family(run->software, job->software));
    if (!same(run->device, job->device))
        sum += differences[DIFFERENT_DEVICE].support +
               support(DIFFERENT_GENERATION, !same(run->generation, job->generation));
    sum += support(DIFFERENT_TRAINING, run->frozen != job->frozen);
    sum += support(DIFFERENT_DOCUMENTS, run->packed != job->packed);
    sum += support(DIFFERENT_KIND, run->kind != job->kind);
    sum += support(DIFFERENT_WIDTH, run->bits != job->bits);
    for (int i = 0; i < LIKENESS_SIZES; i++)
        sum += gap(run, job, (enum likeness_size)i) * differences[i].support;
    sum += gap_of_devices(run, job) * differences[DIFFERENT_DEVICES].support;
    sum += fabs(run->step - job->step) * differences[DIFFERENT_STEP].support;
    return sum + fabs(run->released - job->released) * differences[DIFFERENT_YEAR].support;
}

bool likeness_says_software(const struct likeness *run, const struct likeness *job)
{
    size_t length = 0;
    const char *word = job->called ? job->called : "";
    while (isalpha((unsigned char)word[length]))
        length++;
    for (const char *at = run->framework; length > 0 && *at; at++)
        if (strncasecmp(at, word, length) == 0)
            return true;
    return length == 0 || strncasecmp(run->software, word, length) == 0;
}

/* ---- similar jobs ---- */

bool likeness_is_similar(const struct likeness *run, const struct likeness *job)
{
    return run->kind == job->kind && strcmp(run->generation, job->generation) == 0 &&
           gap(run, job, LIKENESS_PARAMETERS) <= log2(SIMILAR_PARAMETERS) &&
           fabs(run->active - job->active) <= log2(SIMILAR_PARAMETERS) &&
           gap_of_devices(run, job) <= log2(SIMILAR_DEVICES);
}

enum { KEYS = 5 };

static void keys_of(const struct likeness *run, const struct likeness *job, double *keys)
{
    keys[0] = gap(run, job, LIKENESS_PARAMETERS) > EQUAL;
    keys[1] = run->frozen != job->frozen;
    keys[2] = strcmp(run->device, job->device) != 0;
    keys[3] = gap_of_devices(run, job);
    keys[4] = likeness_distance(run, job, INFINITY);
}

bool likeness_is_nearer(const struct likeness *run, const struct likeness *than, const struct likeness *job)
{
    double a[KEYS], b[KEYS];
    keys_of(run, job, a);
    keys_of(than, job, b);
    for (int i = 0; i < KEYS; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

/* ---- what differs ---- */

struct differences {
    struct text *out;
    int most, count;
};

static bool is_named(struct differences *d)
{
    bool named = d->count++ < d->most;
    if (named && d->count > 1)
        text_add(d->out, ", ");
    return named;
}

static void add_word(struct differences *d, const char *what, const char *run, const char *job)
{
    if (strcmp(run, job) != 0 && is_named(d))
        text_format(d->out, "%s%s instead of %s", what, run, job);
}

static void add_size(struct differences *d, const char *what, double run, double job)
{
    if (fabs(run - job) > EQUAL && is_named(d))
        text_format(d->out, "%s %.0f instead of %.0f", what, exp2(run), exp2(job));
}

static const char *width_name(int bits)
{
    return bits == 4 ? "fp4" : bits == 8 ? "fp8" : "bf16";
}

static const char *training_name(bool frozen)
{
    return frozen ? "LoRA" : "full training";
}

void likeness_differences(const struct likeness *of, const struct likeness *job, int most, struct text *out)
{
    static const struct {
        enum likeness_size size;
        const char *name;
    } sizes[] = {{LIKENESS_TENSOR, "tensor"},
                 {LIKENESS_PIPELINE, "pipeline"},
                 {LIKENESS_CONTEXT, "context"},
                 {LIKENESS_EXPERT, "expert"},
                 {LIKENESS_TOKENS, "micro-batch tokens"}};
    struct differences d = {out, most, 0};
    add_word(&d, "", training_name(of->frozen), training_name(job->frozen));
    add_word(&d, "", width_name(of->bits), width_name(job->bits));
    add_word(&d, "", of->software, job->software);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_size(&d, sizes[i].name, of->sizes[sizes[i].size], job->sizes[sizes[i].size]);
    add_word(&d, "recomputation ", recompute_name(of->recompute), recompute_name(job->recompute));
    if (of->sharding != job->sharding && is_named(&d))
        text_format(out, "ZeRO stage %d instead of %d", of->sharding, job->sharding);
    if (d.count > d.most)
        text_format(out, ", and %d more", d.count - d.most);
}

/* ---- dates ---- */

static int digits(const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        value = 10 * value + text[i] - '0';
    }
    return isdigit((unsigned char)text[count]) ? -1 : value;
}

/* The middle of the month; of the year where no month is given. */
static double date_of(int year, int month)
{
    return month >= 1 && month <= 12 ? year + (month - 0.5) / 12.0 : year + 0.5;
}

double likeness_date(const char *text)
{
    int year = digits(text, 4);
    if (year >= 2000)
        return date_of(year, text[4] == '-' ? digits(text + 5, 2) : -1);
    for (const char *at = text; *at; at++) {
        bool begins = at == text || (!isdigit((unsigned char)at[-1]) && at[-1] != '.');
        int month = begins && digits(at, 2) >= 0 && at[2] == '.' ? digits(at + 3, 2) : -1;
        if (month >= 1 && month <= 12)
            return date_of(2000 + digits(at, 2), month);
    }
    return 0.0;
}
