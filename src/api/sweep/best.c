/* The best combination: where points differ in one axis alone that changes nothing, their spread is the noise. */
#include "api/sweep/inner.h"
#include "core/statistics.h"
#include "core/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMON 4 /* degrees of freedom that the noise of all others has, at most; as in similarity/judge.c, */
#define LEAST  0.005 /* and a difference that no two runs are free of, whatever the repeats say */
#define ALARM  0.01

enum { RUNS, MEDIAN, LOW, HIGH, P, FIGURES };
static const struct sweep_column figures[FIGURES] = {
    {"repeats", "repeats", SWEEP_INTEGER, NULL},
    {"bytes_per_second", "median", SWEEP_RATE, NULL},
    {"low", "slowest", SWEEP_RATE, NULL},
    {"high", "fastest", SWEEP_RATE, NULL},
    {"p", "p of being as fast", SWEEP_NUMBER, NULL},
};

struct combination {
    double key; /* to sort by; the first member, for order_doubles */
    int64_t number;
    double mean, squares; /* of the logarithms of its rates */
    struct sweep_cell *cells;
};

static struct combination sum_up(double *rates, int runs, int64_t number, struct sweep_cell *cells)
{
    struct combination one = {.number = number, .cells = cells};
    sort_doubles(rates, runs);
    for (int i = 0; i < runs; i++)
        one.mean += log(rates[i]) / runs;
    for (int i = 0; i < runs; i++)
        one.squares += pow(log(rates[i]) - one.mean, 2);
    cells[RUNS].number = runs;
    cells[MEDIAN].number = quantile_of(rates, runs, 0.5);
    cells[LOW].number = rates[0];
    cells[HIGH].number = rates[runs - 1];
    one.key = -cells[MEDIAN].number;
    return one;
}

/* Sets p of all but the best, which comes first: Student's with a variance moderated by that of all others, by Holm's
 * method. Returns how many are not told apart from it. */
static int64_t judge(struct combination *all, int64_t count)
{
    double squares = 0, freedom = 0, before = 0;
    int64_t alike = 0;
    qsort(all, (size_t)count, sizeof *all, order_doubles);
    for (int64_t i = 0; i < count; i++) {
        squares += all[i].squares;
        freedom += all[i].cells[RUNS].number - 1;
    }
    for (struct combination *one = all + 1; one < all + count; one++) {
        double runs = all->cells[RUNS].number, others = one->cells[RUNS].number,
               own = all->squares + one->squares;
        double rest = freedom - (runs + others - 2), common = fmin(COMMON, rest),
               sum = runs + others - 2 + common;
        double square = own + (rest > 0 ? common * fmax(0, squares - own) / rest : 0);
        double noise = sqrt(square / sum * (1 / runs + 1 / others) + LEAST * LEAST);
        one->key =
            sum > 0 && all->mean > one->mean ? student_tail((all->mean - one->mean) / noise, (int)sum) : 1;
    }
    qsort(all + 1, (size_t)count - 1, sizeof *all, order_doubles);
    for (int64_t i = 1; i < count; i++) {
        before = all[i].cells[P].number = fmin(1, fmax(before, (double)(count - i) * all[i].key));
        alike += before >= ALARM;
    }
    return alike;
}

/* Says what the best is. */
static void add_best(const struct sweep *sweep, const struct combination *best, struct text *out)
{
    char buffer[24];
    int at[SWEEP_MAX_AXES] = {0};
    sweep_locate(sweep, best->number, at);
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s%s %s", i > 0 ? ", " : "", sweep->axes[i].key,
                    sweep_value(&sweep->axes[i], at[i], buffer));
    text_add(out, out->length > 0 ? ": " : "");
    text_add(out, unit_format(buffer, sizeof buffer, best->cells[MEDIAN].number, UNIT_RATE, 3));
    if (best->cells[RUNS].number > 1) {
        text_format(out, " (%s to ",
                    unit_format(buffer, sizeof buffer, best->cells[LOW].number, UNIT_RATE, 3));
        text_format(out, "%s)", unit_format(buffer, sizeof buffer, best->cells[HIGH].number, UNIT_RATE, 3));
    }
}

bool sweep_best(struct sweep_answers *answers, struct error *err)
{
    const struct sweep *sweep = answers->sweep;
    struct arena *arena = &answers->arena;
    struct sweep_axis *axes = ARENA_ARRAY(arena, SWEEP_MAX_AXES, struct sweep_axis);
    struct sweep *mine = ARENA_ARRAY(arena, 1, struct sweep);
    struct sweep_answers *sums = ARENA_ARRAY(arena, 1, struct sweep_answers);
    struct combination *all = ARENA_ARRAY(arena, (size_t)answers->count, struct combination);
    double *rates = ARENA_ARRAY(arena, (size_t)answers->count, double);
    int64_t repeats = 1, stride = 1, count = 0;
    if (!axes || !mine || !sums || !all || !rates)
        return error_memory(err);
    *mine = (struct sweep){.axes = axes, .column_count = FIGURES, .columns = figures};
    for (int i = 0; i < sweep->axis_count; i++)
        if (strcmp(sweep->axes[i].key, sweep->repeats) == 0) {
            repeats = sweep->axes[i].count;
            stride = 1;
        } else {
            axes[mine->axis_count++] = sweep->axes[i];
            stride *= sweep->axes[i].count;
        }
    *sums = (struct sweep_answers){.sweep = mine, .count = answers->count / repeats};
    if (!sweep_allocate(sums, arena, err))
        return false;
    for (int64_t i = 0; i < sums->count; i++) {
        int runs = 0;
        for (int64_t j = 0, point = i / stride * stride * repeats + i % stride; j < repeats;
             j++, point += stride)
            if (answers->states[point] == SWEEP_FOUND && sweep_cells(answers, point)[sweep->best].number > 0)
                rates[runs++] = sweep_cells(answers, point)[sweep->best].number;
        sums->states[i] = runs > 0 ? SWEEP_FOUND : SWEEP_NONE;
        sums->reasons[i] = "no result";
        if (runs > 0)
            all[count++] = sum_up(rates, runs, i, sweep_cells(sums, i));
    }
    if (count == 0 || count + repeats == 2)
        return true;
    struct text title = {0};
    int64_t alike = judge(all, count);
    add_best(mine, all, &title);
    if (alike > 0)
        text_format(&title,
                    ", not told apart from %" PRId64 " of %" PRId64 " others: give %s, --vary %s=1,2,…",
                    alike, count - 1, repeats > 1 ? "more repeats" : "repeats", sweep->repeats);
    else if (count > 1)
        text_add(&title, ", beyond the noise of the second best");
    mine->title = title.failed ? NULL : arena_string(arena, title.data);
    text_release(&title);
    sums->beyond = count > 1 && alike == 0;
    answers->sums = sums;
    return mine->title || error_memory(err);
}
