#include "plan/reference/reference_table.h"

#include "core/stop.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 100000000.0 /* sub-plans; at 44 bytes each */
#define MAX_HALVES 20000000.0
#define ROUNDING   1e-12 /* relative; the order of additions makes less of a difference */

/* The sub-plans of one share and one run of layers: [i] has least + i stages. Infeasible ones have infinite
 * `slowest`, and a `place` that keeps their time from ever being smaller than another. */
struct row {
    int min, width;
    double *sum, *slowest, *tail, *place;
    struct reference_origin *origins;
};

static int row_width(const struct reference_share *share, int layers)
{
    int max = layers < share->max_stages ? layers : share->max_stages;
    return max < share->min_stages ? 0 : max - share->min_stages + 1;
}

static struct row row_at(const struct reference_table *table, const struct reference_share *share, int a,
                         int b)
{
    int width = row_width(share, b - a);
    size_t at = share->start[b - a] + (size_t)a * (size_t)width;
    double *values = table->values + 4 * at;
    return (struct row){
        .min = share->min_stages,
        .width = width,
        .sum = values,
        .slowest = values + width,
        .tail = values + 2 * (size_t)width,
        .place = values + 3 * (size_t)width,
        .origins = table->origins + at,
    };
}

static struct reference_part row_part(const struct row *row, int i)
{
    return (struct reference_part){
        .stages = row->min + i,
        .bottleneck = (int)row->place[i],
        .sum = row->sum[i],
        .slowest = row->slowest[i],
        .tail = row->tail[i],
    };
}

static void row_set(struct row *row, int i, const struct reference_part *part, struct reference_origin origin)
{
    row->sum[i] = part->sum;
    row->slowest[i] = part->slowest;
    row->tail[i] = part->tail;
    row->place[i] = part->bottleneck;
    row->origins[i] = origin;
}

static void row_clear(struct row *row)
{
    for (int i = 0; i < row->width; i++)
        row->sum[i] = row->slowest[i] = row->tail[i] = row->place[i] = INFINITY;
}

/* The reference checks the count of every two sub-plans that it puts together, not only of the best. */
static void check_counts(struct reference_table *table, const struct row *left, const struct row *right)
{
    for (int i = 0; i < left->width; i++)
        for (int j = 0; j < right->width; j++) {
            if (left->slowest[i] == INFINITY || right->slowest[j] == INFINITY)
                continue;
            struct reference_part l = row_part(left, i), r = row_part(right, j);
            struct reference_part whole = reference_join(&l, &r);
            if (reference_count(&table->objective, &whole) <= 0)
                table->uncountable = true;
        }
}

/* The times of sub-plan i of the left row with each of the right row: reference_join and reference_time up to
 * rounding, without branches. This is where the search spends its time. */
static void join_times(const struct reference_table *table, const struct row *left, int i,
                       const struct row *right, double *restrict time)
{
    const double *restrict count = table->count + left->min + i + right->min;
    const double *restrict right_sum = right->sum, *restrict right_slowest = right->slowest;
    const double *restrict right_tail = right->tail, *restrict right_place = right->place;
    double weight = table->objective.weight, stages = left->min + i;
    double sum = left->sum[i], slowest = left->slowest[i], tail = left->tail[i], place = left->place[i];
    for (int j = 0; j < right->width; j++) {
        bool left_holds = slowest > right_slowest[j];
        double k = left_holds ? place : stages + right_place[j];
        double l = left_holds ? slowest : right_slowest[j];
        double t3 = left_holds ? tail + right_sum[j] : right_tail[j];
        time[j] = sum + right_sum[j] + (count[j] + weight * k) * l + weight * t3;
    }
}

/* Adds the times of a sub-plan's stages to a sum, one after the other. */
static double add_stages(const struct reference_table *table, const struct reference_share *share, int a,
                         int b, int stages, double sum)
{
    struct row row = row_at(table, share, a, b);
    int i = stages - row.min;
    const struct reference_origin *origin = &row.origins[i];
    if (origin->cut == 0)
        return sum + row.sum[i];
    const uint32_t *half = share->halves[origin->half];
    sum = add_stages(table, &table->shares[half[0]], a, origin->cut, origin->left_stages, sum);
    return add_stages(table, &table->shares[half[1]], origin->cut, b, stages - origin->left_stages, sum);
}

/* A share and its layers up to b, cut in two. */
struct division {
    const struct reference_share *right_share;
    struct row left, right;
    int cut, b, half;
};

/* Puts sub-plans i and j together and keeps them if their time, rounded like the reference's, is the
 * smallest. */
static void keep_if_best(const struct reference_table *table, struct row *whole, const struct division *d,
                         int i, int j)
{
    struct reference_part left = row_part(&d->left, i), right = row_part(&d->right, j);
    struct reference_part part = reference_join(&left, &right);
    if (left.slowest > right.slowest)
        part.tail = add_stages(table, d->right_share, d->cut, d->b, right.stages, left.tail);
    int at = part.stages - whole->min;
    double time = reference_time(&table->objective, &part);
    if (!(time < table->best[at]))
        return;
    row_set(whole, at, &part, (struct reference_origin){d->cut, d->half, left.stages});
    table->best[at] = time;
    table->limit[at] = time * (1 + ROUNDING);
}

static void join_rows(const struct reference_table *table, struct row *whole, const struct division *d)
{
    for (int i = 0; i < d->left.width; i++) {
        if (d->left.slowest[i] == INFINITY)
            continue;
        join_times(table, &d->left, i, &d->right, table->time);
        const double *limit = table->limit + (d->left.min + i + d->right.min - whole->min);
        for (int j = 0; j < d->right.width; j++)
            if (table->time[j] < limit[j])
                keep_if_best(table, whole, d, i, j);
    }
}

static void fill_row(struct reference_table *table, const struct reference_share *share, int a, int b)
{
    struct row whole = row_at(table, share, a, b);
    row_clear(&whole);
    for (int i = 0; i < whole.width; i++)
        table->best[i] = table->limit[i] = INFINITY;
    if (share->nodes <= 1 && whole.min == 1) {
        double time = reference_stage_time(table->problem, share->group, share->devices, a, b);
        struct reference_part stage = reference_stage(time);
        if (time < INFINITY)
            row_set(&whole, 0, &stage, (struct reference_origin){0});
    }
    int stage_limit = table->problem->objective == OBJECTIVE_OOBLECK ? table->problem->microbatches : 0;
    bool checked = stage_limit == 0 || whole.min + whole.width - 1 <= stage_limit;
    for (int cut = a + 1; cut < b; cut++)
        for (int half = 0; half < share->half_count; half++) {
            struct division d = {.cut = cut, .b = b, .half = half};
            d.right_share = &table->shares[share->halves[half][1]];
            d.left = row_at(table, &table->shares[share->halves[half][0]], a, cut);
            d.right = row_at(table, d.right_share, cut, b);
            if (!checked)
                check_counts(table, &d.left, &d.right);
            join_rows(table, &whole, &d);
        }
}

/* Can this share come to hold these layers? All others lie before and after it, each with some layers. */
static bool asked_for(const struct reference_table *table, const struct reference_share *share, int a, int b)
{
    int sides = (a > 0) + (b < table->problem->layer_count);
    int layers = table->problem->layer_count - (b - a);
    return layers >= share->min_others && sides <= share->max_others;
}

static bool fill(struct reference_table *table, struct error *err)
{
    int layers = table->problem->layer_count;
    for (int s = 0; s < table->share_count; s++) {
        const struct reference_share *share = &table->shares[s];
        for (int length = 1; length <= layers; length++) {
            if (stop_wanted())
                return error_set(err, ERROR_STOPPED, "stopped");
            for (int a = 0; a + length <= layers && row_width(share, length) > 0; a++)
                if (asked_for(table, share, a, a + length))
                    fill_row(table, share, a, a + length);
        }
        if (table->uncountable)
            return reference_count_error(table->problem, err);
        if (table->progress)
            progress_show(table->progress, "%d of %d parts of the cluster", s + 1, table->share_count);
    }
    return true;
}

static bool too_large(struct error *err, const char *what, double count)
{
    return error_set(err, ERROR_INFEASIBLE,
                     "no plan: divide and conquer would keep %.3g %s here; try --search exact", count, what);
}

static bool count_shares(const struct plan_problem *problem, int *count, struct error *err)
{
    double states = 1, halves = 1, parts = 0;
    for (int g = 0; g < problem->group_count; g++) {
        double nodes = problem->groups[g].nodes.count;
        states *= nodes + 1;
        halves *= (nodes + 1) * (nodes + 2) / 2;
        parts += problem->groups[g].splits - 1;
    }
    if (halves > MAX_HALVES)
        return too_large(err, "ways to cut the cluster in two", halves);
    *count = (int)(states - 1 + parts);
    return true;
}

/* Enumerates the left halves of several nodes in the reference's order: the first group's nodes one by one,
 * after each with all choices of the following groups. */
struct splitter {
    const struct plan_problem *problem;
    const uint32_t *share_of; /* [code] */
    const uint32_t *unit;     /* [group]: code of one node */
    const int *nodes;         /* [group]: of the whole */
    uint32_t whole, left;     /* codes */
    struct reference_share *share;
};

static void add_halves(struct splitter *splitter, int from_group)
{
    for (int g = from_group; g < splitter->problem->group_count; g++) {
        for (int i = 0; i < splitter->nodes[g]; i++) {
            splitter->left += splitter->unit[g];
            if (splitter->left != splitter->whole) {
                uint32_t *half = splitter->share->halves[splitter->share->half_count++];
                half[0] = splitter->share_of[splitter->left];
                half[1] = splitter->share_of[splitter->whole - splitter->left];
            }
            add_halves(splitter, g + 1);
        }
        splitter->left -= splitter->unit[g] * (uint32_t)splitter->nodes[g];
    }
}

static void set_stages(const struct reference_table *table, struct reference_share *share)
{
    share->max_stages = share->devices;
    share->min_stages = table->one_device ? share->devices : share->nodes > 1 ? share->nodes : 1;
}

/* Of a node that was cut `cuts` times every part is a share of its own; the other nodes are one to as many as
 * they are. */
static void set_others(struct reference_share *share, int nodes, int cuts)
{
    share->min_others = cuts + (nodes > 0);
    share->max_others = cuts + nodes;
}

/* The only way to cut a node, or a part of one, in two. */
static bool set_equal_halves(struct reference_table *table, struct reference_share *share, uint32_t half)
{
    share->halves = arena_alloc(&table->arena, 1, sizeof *share->halves);
    if (!share->halves)
        return false;
    share->half_count = 1;
    share->halves[0][0] = share->halves[0][1] = half;
    return true;
}

/* Half, quarter, … of a node of each group, the smallest first; half_node[group] is the largest. */
static bool add_parts(struct reference_table *table, uint32_t *half_node)
{
    const struct plan_problem *problem = table->problem;
    for (int g = 0; g < problem->group_count; g++)
        for (int split = 0; split < problem->groups[g].splits - 1; split++) {
            struct reference_share *share = &table->shares[table->share_count];
            share->devices = 1 << split;
            share->group = g;
            set_others(share, plan_problem_nodes(problem) - 1, problem->groups[g].splits - 1 - split);
            set_stages(table, share);
            half_node[g] = (uint32_t)table->share_count++;
            if (split > 0 && !set_equal_halves(table, share, half_node[g] - 1))
                return false;
        }
    return true;
}

static bool add_nodes(struct reference_table *table, struct splitter *splitter, int *nodes,
                      const uint32_t *half_node)
{
    const struct plan_problem *problem = table->problem;
    struct reference_share *share = &table->shares[table->share_count++];
    splitter->share = share;
    double subsets = 1;
    for (int g = 0; g < problem->group_count; g++) {
        subsets *= nodes[g] + 1;
        share->nodes += nodes[g];
        share->devices += nodes[g] * problem->groups[g].nodes.devices;
        if (nodes[g] > 0)
            share->group = g;
    }
    set_others(share, plan_problem_nodes(problem) - share->nodes, 0);
    set_stages(table, share);
    if (share->nodes == 1)
        return share->devices == 1 || set_equal_halves(table, share, half_node[share->group]);
    share->halves = arena_alloc(&table->arena, (size_t)subsets - 2, sizeof *share->halves);
    if (!share->halves)
        return false;
    splitter->nodes = nodes;
    splitter->left = 0;
    add_halves(splitter, 0);
    return true;
}

/* Every sub-multiset of the nodes, fewer nodes first. A code counts nodes per group in mixed radix. */
static bool add_all_nodes(struct reference_table *table, const uint32_t *half_node)
{
    const struct plan_problem *problem = table->problem;
    uint32_t unit[PLAN_MAX_GROUPS], codes = 1;
    for (int g = 0; g < problem->group_count; g++) {
        unit[g] = codes;
        codes *= (uint32_t)problem->groups[g].nodes.count + 1;
    }
    uint32_t *share_of = ARENA_ARRAY(&table->arena, codes, uint32_t);
    if (!share_of)
        return false;
    struct splitter splitter = {.problem = problem, .share_of = share_of, .unit = unit};
    for (int total = 1; total <= plan_problem_nodes(problem); total++)
        for (uint32_t code = 1; code < codes; code++) {
            int nodes[PLAN_MAX_GROUPS] = {0}, sum = 0;
            for (int g = 0; g < problem->group_count; g++) {
                nodes[g] = (int)(code / unit[g] % ((uint32_t)problem->groups[g].nodes.count + 1));
                sum += nodes[g];
            }
            if (sum != total)
                continue;
            share_of[code] = (uint32_t)table->share_count;
            splitter.whole = code;
            if (!add_nodes(table, &splitter, nodes, half_node))
                return false;
        }
    return true;
}

static bool add_shares(struct reference_table *table, struct error *err)
{
    uint32_t half_node[PLAN_MAX_GROUPS] = {0};
    int count = 0;
    if (!count_shares(table->problem, &count, err))
        return false;
    table->shares = ARENA_ARRAY(&table->arena, (size_t)count, struct reference_share);
    if (!table->shares || !add_parts(table, half_node) || !add_all_nodes(table, half_node))
        return error_memory(err);
    return true;
}

/* Where each row starts, and how many values there are. */
static bool lay_out(struct reference_table *table, struct error *err)
{
    int layers = table->problem->layer_count;
    size_t total = 0;
    for (int s = 0; s < table->share_count; s++) {
        struct reference_share *share = &table->shares[s];
        share->start = ARENA_ARRAY(&table->arena, (size_t)layers + 1, size_t);
        if (!share->start)
            return error_memory(err);
        for (int length = 1; length <= layers; length++) {
            share->start[length] = total;
            total += (size_t)(layers - length + 1) * (size_t)row_width(share, length);
            if ((double)total > MAX_VALUES)
                return too_large(err, "sub-plans and more", (double)total);
        }
    }
    if (total == 0)
        return error_set(err, ERROR_INFEASIBLE, "no plan: there are no layers or no nodes");
    table->value_count = total;
    table->values = malloc(4 * total * sizeof *table->values);
    table->origins = malloc(total * sizeof *table->origins);
    return (table->values && table->origins) || error_memory(err);
}

static bool prepare(struct reference_table *table, struct error *err)
{
    if (!plan_problem_check(table->problem, true, err) || !add_shares(table, err) || !lay_out(table, err))
        return false;
    size_t stages = (size_t)table->shares[table->share_count - 1].max_stages + 1;
    table->count = ARENA_ARRAY(&table->arena, stages, double);
    table->best = ARENA_ARRAY(&table->arena, stages, double);
    table->limit = ARENA_ARRAY(&table->arena, stages, double);
    table->time = ARENA_ARRAY(&table->arena, stages, double);
    if (!table->count || !table->best || !table->limit || !table->time)
        return error_memory(err);
    for (size_t s = 0; s < stages; s++)
        table->count[s] = table->objective.fixed + table->objective.per_stage * (double)s;
    return true;
}

bool reference_table_init(struct reference_table *table, const struct plan_problem *problem, bool one_device,
                          struct progress *progress, struct error *err)
{
    *table = (struct reference_table){
        .problem = problem,
        .objective = reference_objective_of(problem),
        .one_device = one_device,
        .progress = progress,
    };
    if (prepare(table, err) && fill(table, err))
        return true;
    reference_table_release(table);
    return false;
}

void reference_table_release(struct reference_table *table)
{
    free(table->values);
    free(table->origins);
    arena_release(&table->arena);
    memset(table, 0, sizeof *table);
}

/* The whole cluster's sub-plans of all layers. */
static struct row last_row(const struct reference_table *table)
{
    return row_at(table, &table->shares[table->share_count - 1], 0, table->problem->layer_count);
}

double reference_table_time(const struct reference_table *table, int stages)
{
    struct row row = last_row(table);
    int i = stages - row.min;
    if (i < 0 || i >= row.width || row.slowest[i] == INFINITY)
        return INFINITY;
    struct reference_part part = row_part(&row, i);
    return reference_time(&table->objective, &part);
}

struct path {
    const struct reference_table *table;
    struct pipeline_stage *stages;
    int count;
    int next_node[PLAN_MAX_GROUPS];
};

static void follow(struct path *path, const struct reference_share *share, int a, int b, int stages)
{
    struct row row = row_at(path->table, share, a, b);
    const struct reference_origin *origin = &row.origins[stages - row.min];
    if (share->nodes == 1)
        path->next_node[share->group]++;
    if (origin->cut == 0) {
        path->stages[path->count++] = (struct pipeline_stage){
            .layers.first = a,
            .layers.last = b - 1,
            .group = share->group,
            .devices = share->devices,
            .node = path->next_node[share->group] - 1,
        };
        return;
    }
    const struct reference_share *shares = path->table->shares;
    follow(path, &shares[share->halves[origin->half][0]], a, origin->cut, origin->left_stages);
    follow(path, &shares[share->halves[origin->half][1]], origin->cut, b, stages - origin->left_stages);
}

void reference_table_stages(const struct reference_table *table, int stages, struct pipeline_stage *out)
{
    struct path path = {.table = table, .stages = out};
    int first_node = 0;
    for (int g = 0; g < table->problem->group_count; g++) {
        path.next_node[g] = first_node;
        first_node += table->problem->groups[g].nodes.count;
    }
    follow(&path, &table->shares[table->share_count - 1], 0, table->problem->layer_count, stages);
}
