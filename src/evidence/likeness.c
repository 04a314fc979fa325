#include "evidence/likeness.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The differences that make d = 1, and what other kinds add to d. Chosen by leaving out halves, jobs and sources of the
 * published runs (docs/validate.md), and rounded. */
static const double scales[LIKENESS_SIZES] = {
    [LIKENESS_PARAMETERS] = 6.0, [LIKENESS_TOKENS] = 20.0, [LIKENESS_TENSOR] = 5.0, [LIKENESS_PIPELINE] = 2.5,
    [LIKENESS_CONTEXT] = 2.5,    [LIKENESS_EXPERT] = 2.5,  [LIKENESS_BUBBLE] = 0.5,
};
#define YEARS            0.5
#define OTHER_GENERATION 0.5
#define OTHER_DEVICE     0.5 /* of any generation */
#define OTHER_FAMILY     0.3
#define OTHER_SOFTWARE   0.5 /* of any family */
#define OTHER_FRAMEWORK  1.0 /* one that is not said is half as far from each */
#define OTHER_WIDTH      0.6
#define OTHER_TRAINING   0.3 /* LoRA or all parameters */
#define OTHER_RECOMPUTE  0.3
#define OTHER_RECIPE     0.5
#define OTHER_SHARDING   0.4 /* ZeRO stage */
#define OTHER_MODEL      0.1
#define SAME_MODEL       20.0 /* models of so many sizes per doubling: equal sizes are one model */

static int bits_of(enum cost_type type)
{
    double bytes = cost_type_bytes(type);
    return bytes < 1.0 ? 4 : bytes < 2.0 ? 8 : 16;
}

struct likeness likeness_of(const struct job *job, const struct job_time *time)
{
    return (struct likeness){
        .generation = job->device->generation,
        .device = job->device->name,
        .software = job->software->name,
        .framework = "",
        .bits = bits_of(cost_device_type(job->device, job->type)),
        .frozen = job->frozen,
        .recompute = job->recompute,
        .sharding = job->sharding,
        .recipe = (enum number_recipe)job->technique.recipe,
        .sizes =
            {
                [LIKENESS_PARAMETERS] = log2(fmax(architecture_parameters(job->model), 1.0)),
                [LIKENESS_TOKENS] = log2(fmax((double)(job->microbatch * job->sequence), 1.0)),
                [LIKENESS_TENSOR] = log2(fmax(job->tensor, 1.0)),
                [LIKENESS_PIPELINE] = log2(fmax(job->pipeline, 1.0)),
                [LIKENESS_CONTEXT] = log2(fmax(job->context, 1.0)),
                [LIKENESS_EXPERT] = log2(fmax(job->expert, 1.0)),
                [LIKENESS_BUBBLE] = time->seconds > 0.0 ? time->bubble / time->seconds : 0.0,
            },
    };
}

static bool same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

/* "megatron-core-2024" and "megatron-2021" are of the family "megatron". */
static bool same_family(const char *a, const char *b)
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

static double distance_of_software(const struct likeness *a, const struct likeness *b)
{
    double sum = 0.0;
    if (!same(a->software, b->software))
        sum += OTHER_SOFTWARE + (same_family(a->software, b->software) ? 0.0 : OTHER_FAMILY);
    if (!likeness_same_framework(a->framework, b->framework))
        sum += (*a->framework ? OTHER_FRAMEWORK / 2.0 : 0.0) + (*b->framework ? OTHER_FRAMEWORK / 2.0 : 0.0);
    return sum + fabs(a->released - b->released) / YEARS;
}

double likeness_distance(const struct likeness *a, const struct likeness *b, double enough)
{
    double sum = 0.0;
    for (int i = 0; i < LIKENESS_SIZES; i++)
        sum += fabs(a->sizes[i] - b->sizes[i]) / scales[i];
    if (floor(SAME_MODEL * a->sizes[LIKENESS_PARAMETERS]) !=
        floor(SAME_MODEL * b->sizes[LIKENESS_PARAMETERS]))
        sum += OTHER_MODEL;
    sum += a->bits != b->bits ? OTHER_WIDTH : 0.0;
    sum += a->frozen != b->frozen ? OTHER_TRAINING : 0.0;
    sum += a->recompute != b->recompute ? OTHER_RECOMPUTE : 0.0;
    sum += a->recipe != b->recipe ? OTHER_RECIPE : 0.0;
    sum += a->sharding != b->sharding ? OTHER_SHARDING : 0.0;
    if (sum > enough)
        return sum;
    if (!same(a->device, b->device))
        sum += OTHER_DEVICE + (same(a->generation, b->generation) ? 0.0 : OTHER_GENERATION);
    return sum + distance_of_software(a, b);
}

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
