#include "measure/sample.h"

#include "core/clock.h"
#include "core/statistics.h"
#include "core/unit.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE    1.959963984540054 /* of a normal number, 95 % */
#define DRIFTING      0.475             /* of the samples, on each side of the median */
#define BATCH_SECONDS 200e-6            /* of a sample, at least: the clock's own 50 ns are nothing then */
#define MAX_BATCH     (INT64_C(1) << 20)
#define WINDOW        5 /* samples whose medians are compared while warming up */
#define MIN_SAMPLES   12
#define MAX_SAMPLES   100000
#define FAST_SHARE    0.01 /* of the limit: a slower run is compared with the one before it */

#define MODE_SHARE 0.15 /* of the samples, at least, in each of two modes */
#define MODE_APART 0.10 /* of the faster mode */
#define MODE_CLEAR 6.0  /* deviations within the modes */
#define SLOWER     0.05

/* Blocks whose shares are compared: fewer say nothing about how these vary. */
#define MIN_BLOCKS 4
#define MIN_ROUNDS (2 * MIN_BLOCKS) /* then blocks of two rounds say something, too */

struct one_sample {
    double seconds, processor;
    int round; /* -1: there are none */
    bool disturbed;
};

struct sample_series {
    const struct sample_options *options;
    sample_run *run;
    void *context;
    struct sample_result result;
    double start, visited; /* seconds: when this visit began, and that the others took */
    struct one_sample *samples;
    size_t room;
    int count, disturbed;
    bool is_warm;
    struct error *err;
};

static double now(const struct sample_series *s)
{
    return s->options->now ? s->options->now() : clock_now();
}

static double passed(const struct sample_series *s)
{
    return s->visited + now(s) - s->start;
}

/* ---- judging ---- */

static double square(double value)
{
    return value * value;
}

/* How much more the shares of blocks above the median vary than those of independent samples, where a block is `width`
 * rounds, or samples without rounds (0: too few); *student: how much more to take it for, as blocks are few. */
static double follow_of(const double *times, const int *rounds, int count, double median, int width,
                        double *student)
{
    double sum = 0.0, above = 0.0;
    int blocks = 0, size = 0;
    for (int i = 0; i < count; i++) {
        above += times[i] > median ? 0.5 : times[i] < median ? -0.5 : 0.0;
        size++;
        if (i + 1 < count && (rounds ? rounds[i + 1] / width == rounds[i] / width : size < width))
            continue;
        sum += above * above / size;
        above = 0.0;
        size = 0;
        blocks++;
    }
    *student = square(1.0 + (CONFIDENCE * CONFIDENCE + 1.0) / (4.0 * fmax(1.0, blocks - 1)));
    return blocks < MIN_BLOCKS ? 0.0 : 4.0 * sum / blocks;
}

/* What wide blocks show beyond single rounds is drift, whose variance is the same at all lengths (flicker noise), so
 * that more rounds do not average it away: that of the difference of two whole measurements is 3/4 of that between
 * quarters of one, not a quarter of it. */
static double follow(const double *times, const int *rounds, int count, double median)
{
    double most = 1.0, student;
    if (!rounds)
        return fmax(1.0, follow_of(times, NULL, count, median, (int)sqrt((double)count), &student));
    double narrow = fmax(1.0, follow_of(times, rounds, count, median, 1, &student));
    for (int width = 1; width <= (rounds[count - 1] - rounds[0] + 1) / MIN_BLOCKS; width *= 2) {
        double wide = follow_of(times, rounds, count, median, width, &student);
        most = fmax(most, fmax(student * wide, narrow + 3.0 * (wide - narrow)));
    }
    return most;
}

/* Two modes: the cut of the sorted times that leaves the least deviation within both sides. */
static void find_modes(struct sample_result *result, const double *sorted, int count)
{
    double sum = 0.0, squares = 0.0, left = 0.0, left_squares = 0.0, best = INFINITY;
    int cut = 0;
    for (int i = 0; i < count; i++) {
        sum += sorted[i];
        squares += square(sorted[i]);
    }
    for (int i = 1; i < count; i++) {
        left += sorted[i - 1];
        left_squares += square(sorted[i - 1]);
        double within =
            left_squares - square(left) / i + (squares - left_squares) - square(sum - left) / (count - i);
        if (within < best) {
            best = within;
            cut = i;
        }
    }
    if (cut < MODE_SHARE * count || count - cut < MODE_SHARE * count || count < MIN_SAMPLES)
        return;
    double fast = quantile_of(sorted, cut, 0.5), slow = quantile_of(sorted + cut, count - cut, 0.5);
    if (slow - fast < MODE_APART * fast || slow - fast < MODE_CLEAR * sqrt(fmax(best, 0.0) / count))
        return;
    result->notes |= SAMPLE_BIMODAL;
    result->modes[0] = fast;
    result->modes[1] = slow;
}

static void find_slowing(struct sample_result *result, const double *times, int count, double *room)
{
    int third = count / 3;
    if (third < 4)
        return;
    memcpy(room, times, (size_t)third * sizeof *room);
    sort_doubles(room, third);
    double first = quantile_of(room, third, 0.5);
    memcpy(room, times + count - third, (size_t)third * sizeof *room);
    sort_doubles(room, third);
    if (quantile_of(room, third, 0.5) > (1.0 + SLOWER) * first)
        result->notes |= SAMPLE_SLOWING;
}

void sample_judge(struct sample_result *result, const double *times, const int *rounds, int count,
                  double precision, double *room)
{
    if (count < 1)
        return;
    memcpy(room, times, (size_t)count * sizeof *room);
    sort_doubles(room, count);
    result->count = count;
    result->median = quantile_of(room, count, 0.5);
    result->fastest = room[0];
    result->follow = follow(times, rounds, count, result->median);
    double middle = (count - 1) / 2.0;
    double half = CONFIDENCE * sqrt(2.0 * result->follow * count / 4.0);
    bool known = CONFIDENCE * sqrt(2.0 * count / 4.0) <=
                     middle && /* else fewer samples than an interval needs: it is all of them */
                 (!rounds || rounds[count - 1] - rounds[0] + 1 >= MIN_BLOCKS);
    half = fmin(half, fmin(middle, DRIFTING * count)); /* 95 of 100 samples, where they drift as much */
    result->low = room[known ? (int)floor(middle - half) : 0];
    result->high = room[known ? (int)ceil(middle + half) : count - 1];
    double wider = fmax(result->high - result->median, result->median - result->low);
    result->precision = known ? wider / result->median : 1.0;
    result->notes &= ~(unsigned)(SAMPLE_LIMIT | SAMPLE_FEW | SAMPLE_BIMODAL | SAMPLE_SLOWING);
    if (!known)
        result->notes |= SAMPLE_FEW;
    if (result->precision > precision)
        result->notes |= SAMPLE_LIMIT;
    find_modes(result, room, count);
    find_slowing(result, times, count, room);
}

/* ---- measuring ---- */

/* Runs a batch; *seconds: of one run. */
static bool run_batch(struct sample_series *s, struct sample_batch *batch, double *seconds)
{
    *batch = (struct sample_batch){0};
    if (!s->run(s->context, s->result.batch, batch, s->err))
        return false;
    double total = s->options->by_processor ? batch->processor : batch->wall;
    *seconds = fmax(total, 1e-9) / (double)s->result.batch;
    return true;
}

/* Finds how many runs a sample needs: twice as many until it lasts long enough. */
static bool find_batch(struct sample_series *s, double *seconds)
{
    struct sample_batch batch;
    s->result.batch = 1;
    for (;; s->result.batch *= 2) {
        if (!run_batch(s, &batch, seconds))
            return false;
        s->result.warm_ups++;
        double lasted = fmin(batch.wall, *seconds * (double)s->result.batch);
        if (lasted >= BATCH_SECONDS || s->result.batch >= MAX_BATCH || passed(s) > s->options->limit / 4.0)
            return true;
    }
}

/* Runs until a window of samples is not faster than the one before it. */
static bool warm_up(struct sample_series *s)
{
    double last, window[WINDOW], before = INFINITY;
    struct sample_batch batch;
    if (!find_batch(s, &last))
        return false;
    int size = last * (double)s->result.batch > FAST_SHARE * s->options->limit ? 1 : WINDOW;
    for (;;) {
        for (int i = 0; i < size; i++)
            if (!run_batch(s, &batch, &window[i]))
                return false;
        s->result.warm_ups += size;
        sort_doubles(window, size);
        double median = quantile_of(window, size, 0.5);
        if (median >= (1.0 - s->options->precision) * before)
            return true;
        if (passed(s) > s->options->limit / 4.0) {
            if (isfinite(before)) /* a single slow run says nothing about steadiness */
                s->result.notes |= SAMPLE_UNSTEADY;
            return true;
        }
        before = median;
    }
}

static bool add_sample(struct sample_series *s, int round)
{
    struct sample_batch batch;
    struct one_sample sample = {.round = round};
    if (!run_batch(s, &batch, &sample.seconds))
        return false;
    sample.processor = batch.processor / (double)s->result.batch;
    sample.disturbed = batch.disturbed;
    s->disturbed += sample.disturbed;
    return VECTOR_ADD(s->samples, s->count, s->room, sample) || error_memory(s->err);
}

/* Judges the undisturbed samples if there are enough of them, else all. */
static bool judge(struct sample_series *s)
{
    struct sample_result *result = &s->result;
    bool clean = s->count - s->disturbed >= MIN_SAMPLES || s->disturbed == 0;
    int count = 0;
    double *times = malloc(2 * (size_t)s->count * sizeof *times);
    int *rounds = malloc((size_t)s->count * sizeof *rounds);
    if (times && rounds) {
        for (int i = 0; i < s->count; i++)
            if (!clean || !s->samples[i].disturbed) {
                times[count] = s->samples[i].seconds;
                rounds[count++] = s->samples[i].round;
            }
        sample_judge(result, times, count > 0 && rounds[0] < 0 ? NULL : rounds, count, s->options->precision,
                     times + s->count);
        for (int i = 0; i < s->count; i++)
            times[i] = s->samples[i].processor;
        sort_doubles(times, s->count);
        result->processor = quantile_of(times, s->count, 0.5);
    }
    bool done = times && rounds;
    free(times);
    free(rounds);
    result->disturbed = s->disturbed;
    result->notes &= ~(unsigned)(SAMPLE_DISTURBED | SAMPLE_OTHER_LOAD);
    if (s->disturbed > 0)
        result->notes |= clean ? SAMPLE_DISTURBED : SAMPLE_OTHER_LOAD;
    result->seconds = passed(s);
    return done || error_memory(s->err);
}

static bool measure(struct sample_series *s)
{
    s->start = now(s);
    if (!warm_up(s))
        return false;
    for (int next = MIN_SAMPLES;;) {
        if (!add_sample(s, -1))
            return false;
        bool over = passed(s) >= s->options->limit || s->count >= MAX_SAMPLES;
        if (s->count < next && !over)
            continue;
        if (!judge(s))
            return false;
        if (over || !(s->result.notes & SAMPLE_LIMIT))
            return true;
        next = s->count + s->count / 4;
    }
}

bool sample_repeat(struct sample_result *result, const struct sample_options *options, sample_run *run,
                   void *context, struct error *err)
{
    struct sample_series s = {.options = options, .run = run, .context = context, .err = err};
    bool done = measure(&s);
    *result = s.result;
    free(s.samples);
    return done;
}

/* ---- in rounds ---- */

struct sample_series *sample_new(const struct sample_options *options, sample_run *run, void *context,
                                 struct error *err)
{
    struct sample_series *s = calloc(1, sizeof *s);
    if (s)
        *s = (struct sample_series){.options = options, .run = run, .context = context};
    else
        error_memory(err);
    return s;
}

void sample_free(struct sample_series *s)
{
    if (s)
        free(s->samples);
    free(s);
}

bool sample_visit(struct sample_series *s, int round, double seconds, struct error *err)
{
    s->err = err;
    s->start = now(s);
    bool ok = s->is_warm || warm_up(s);
    s->is_warm = true;
    double end = now(s) + seconds;
    do
        ok = ok && (s->count >= MAX_SAMPLES || add_sample(s, round));
    while (ok && now(s) < end && s->count < MAX_SAMPLES);
    s->visited += now(s) - s->start;
    s->start = now(s);
    return ok;
}

const struct sample_result *sample_sum(struct sample_series *s, struct error *err)
{
    s->err = err;
    s->start = now(s);
    return judge(s) ? &s->result : NULL;
}

bool sample_rounds(struct sample_series *const *series, int count, const struct sample_options *options,
                   sample_round *visit, void *context, struct error *err)
{
    double (*clock)(void) = options->now ? options->now : clock_now;
    const double end = clock() + options->limit * count;
    bool precise = count == 0;
    for (int round = 0; !precise; round++) {
        if (!visit(context, round, err))
            return false;
        bool over = clock() >= end;
        if (round + 1 < MIN_ROUNDS && !over)
            continue;
        precise = true;
        for (int i = 0; i < count; i++) {
            const struct sample_result *result = sample_sum(series[i], err);
            if (!result)
                return false;
            precise = precise && (over || !(result->notes & SAMPLE_LIMIT));
        }
    }
    return true;
}

/* ---- words ---- */

void sample_notes_print(const struct sample_result *result, struct text *out)
{
    struct unit_texts texts = {0};
    size_t before = out->length;
    const struct {
        enum sample_note note;
        const char *text;
    } words[] = {
        {SAMPLE_LIMIT, "time limit"},
        {SAMPLE_FEW, "too few samples for an interval"},
        {SAMPLE_UNSTEADY, "never reached a steady state"},
        {SAMPLE_SLOWING, "slower towards the end: throttling or other load"},
    };
    if (result->notes & SAMPLE_BIMODAL)
        text_format(out, "bimodal: %s and %s", unit_text(&texts, result->modes[0], UNIT_TIME),
                    unit_text(&texts, result->modes[1], UNIT_TIME));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (result->notes & words[i].note)
            text_format(out, "%s%s", out->length > before ? "; " : "", words[i].text);
    const char *separator = out->length > before ? "; " : "";
    if (result->notes & SAMPLE_DISTURBED)
        text_format(out, "%s%d disturbed samples dropped", separator, result->disturbed);
    if (result->notes & SAMPLE_OTHER_LOAD)
        text_format(out, "%sother load disturbed %d of %d samples", separator, result->disturbed,
                    result->count);
}
