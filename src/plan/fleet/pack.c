#include "plan/fleet/pack.h"

#include "core/stop.h"
#include "core/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE 1e-6 /* of a deadline: then the one just before the best is tried */

/* Copies of a pipeline, which share nodes. */
struct item {
    int pipeline, copies;
    int uses[FLEET_MAX_ROWS];
    int64_t offset; /* between cells */
    uint64_t packed;
    double after, value;
};

#define FIELD  9 /* bits of a row in a packed number: its devices, and one for a borrow */
#define PACKED (64 / FIELD)

struct packer {
    const struct fleet_pack_query *query;
    int rows;
    int size[FLEET_MAX_ROWS]; /* limits + 1 */
    int64_t stride[FLEET_MAX_ROWS], cells;
    struct item *items;
    int item_count;
    size_t item_capacity;
    struct item *some; /* those of a deadline */
    int some_count;
    uint64_t borrows; /* the highest bit of every field; 0: the rows do not fit into a number */
    double *best;     /* [cells] micro-batches; negative: not so many pipelines */
    int *item;        /* [cells] the item taken there; -1: none */
    int *copies;      /* of each pipeline, of the last set found */
    struct fleet_pipeline *set;
    struct fleet_effort *effort;
};

double fleet_pack_cells(const struct fleet_problem *problem, int pipelines)
{
    double cells = pipelines > 0 ? pipelines + 1.0 : 1.0;
    for (int t = 0; t < problem->type_count; t++)
        cells *= problem->types[t].devices + 1.0;
    return cells;
}

static bool add_items(struct packer *p)
{
    const struct fleet_pack_query *query = p->query;
    for (int k = 0; k < query->near->count; k++) {
        const struct fleet_near_pipeline *one = &query->near->pipelines[k];
        for (int copies = 1; copies == 1 || query->together > 1; copies++) {
            int together = copies < query->together ? copies : query->together;
            struct item item = {.pipeline = k, .copies = copies, .after = one->after[together - 1]};
            bool fits = true;
            for (int t = 0; t < p->rows; t++) {
                int each = t < query->problem->type_count ? one->devices[t] : 1;
                item.uses[t] = copies * each;
                item.offset += item.uses[t] * p->stride[t];
                fits &= item.uses[t] < p->size[t];
            }
            if (!fits)
                break;
            for (int t = 0; t < p->rows && p->borrows; t++)
                item.packed |= (uint64_t)item.uses[t] << (FIELD * t);
            if (!VECTOR_ADD(p->items, p->item_count, p->item_capacity, item))
                return false;
        }
    }
    return true;
}

static bool begin(struct packer *p)
{
    const struct fleet_problem *problem = p->query->problem;
    p->rows = problem->type_count + (p->query->pipelines > 0);
    p->cells = 1;
    for (int t = 0; t < p->rows; t++) {
        p->size[t] = (t < problem->type_count ? problem->types[t].devices : p->query->pipelines) + 1;
        p->stride[t] = p->cells;
        p->cells *= p->size[t];
    }
    for (int t = 0; t < p->rows && p->rows <= PACKED; t++)
        p->borrows |= UINT64_C(1) << (FIELD * t + FIELD - 1);
    for (int t = 0; t < p->rows; t++)
        p->borrows = p->size[t] > 1 << (FIELD - 1) ? 0 : p->borrows;
    if (!add_items(p))
        return false;
    p->best = malloc((size_t)p->cells * sizeof *p->best);
    p->item = malloc((size_t)p->cells * sizeof *p->item);
    p->some = malloc(((size_t)p->item_count + 1) * sizeof *p->some);
    p->copies = malloc(((size_t)p->query->near->count + 1) * sizeof *p->copies);
    p->set = malloc(((size_t)p->query->near->count + 1) * sizeof *p->set);
    return p->best && p->item && p->some && p->copies && p->set;
}

static void end(struct packer *p)
{
    free(p->items);
    free(p->best);
    free(p->item);
    free(p->some);
    free(p->copies);
    free(p->set);
}

/* Chooses the items that do a micro-batch or more by the deadline. */
static void choose_items(struct packer *p, double deadline, double max_after)
{
    p->some_count = 0;
    for (int i = 0; i < p->item_count; i++) {
        const struct fleet_near_pipeline *one = &p->query->near->pipelines[p->items[i].pipeline];
        const struct fleet_pipeline timed = {.fill = one->fill, .cycle = one->cycle};
        p->items[i].value = p->items[i].copies * fleet_done_by(&timed, deadline, true);
        if (p->items[i].after <= max_after && p->items[i].value > 0.0)
            p->some[p->some_count++] = p->items[i];
    }
}

/* Returns the maximum number of micro-batches of a set by the deadline, with at most so many seconds afterwards. */
static double fill_table(struct packer *p, double deadline, double max_after)
{
    int digits[FLEET_MAX_ROWS] = {0};
    bool exactly = p->query->exactly && p->query->pipelines > 0;
    choose_items(p, deadline, max_after);
    p->effort->left -= (double)p->cells * (p->some_count + 1);
    for (int64_t cell = 0; cell < p->cells; cell++) {
        double best = exactly && digits[p->rows - 1] > 0 ? -INFINITY : 0.0;
        int chosen = -1;
        uint64_t now = p->borrows;
        for (int t = 0; t < p->rows && p->borrows; t++)
            now += (uint64_t)digits[t] << (FIELD * t);
        for (int i = 0; i < p->some_count; i++) {
            const struct item *item = &p->some[i];
            bool fits = ((now - item->packed) & p->borrows) == p->borrows;
            for (int t = 0; t < p->rows && fits && !p->borrows; t++)
                fits = item->uses[t] <= digits[t];
            if (fits && p->best[cell - item->offset] + item->value > best) {
                best = p->best[cell - item->offset] + item->value;
                chosen = i;
            }
        }
        p->best[cell] = best;
        p->item[cell] = chosen;
        for (int t = 0; t < p->rows && ++digits[t] == p->size[t]; t++)
            digits[t] = 0;
    }
    return p->best[p->cells - 1];
}

/* Sets the copies of the table's best set; returns when it ends, and the seconds after it. */
static double follow(struct packer *p, double *after)
{
    const struct fleet_near *near = p->query->near;
    int count = 0;
    memset(p->copies, 0, (size_t)near->count * sizeof *p->copies);
    *after = 0.0;
    for (int64_t cell = p->cells - 1; p->item[cell] >= 0;) {
        const struct item *item = &p->some[p->item[cell]];
        p->copies[item->pipeline] += item->copies;
        *after = fmax(*after, item->after);
        cell -= item->offset;
    }
    for (int k = 0; k < near->count; k++)
        if (p->copies[k] > 0) {
            p->set[count].fill = near->pipelines[k].fill;
            p->set[count].cycle = near->pipelines[k].cycle;
            p->set[count++].copies = p->copies[k];
        }
    return fleet_share(p->set, count, p->query->problem->microbatches);
}

/* Finds the set that ends first, before `before`, with at most `max_after` seconds afterwards. Returns its end;
 * INFINITY: there is none. Takes it if its seconds are less than *seconds. */
static double find_first(struct packer *p, double before, double max_after, double *after, double *seconds,
                         int *copies)
{
    double wanted = (double)p->query->problem->microbatches, low = 0.0, high = before;
    double at = before, ends = INFINITY;
    while (p->effort->left > 0.0 && !stop_wanted()) {
        if (fill_table(p, at * (1.0 - 1e-12), max_after) >= wanted) {
            double now_after, now = follow(p, &now_after);
            if (now >= high && isfinite(ends))
                break; /* rounding */
            ends = high = now;
            *after = now_after;
            if (now + now_after < *seconds) {
                *seconds = now + now_after;
                memcpy(copies, p->copies, (size_t)p->query->near->count * sizeof *copies);
            }
        } else if (at == high) {
            break;
        } else {
            low = at;
        }
        at = high - low > CLOSE * high ? 0.5 * (low + high) : high;
    }
    return ends;
}

bool fleet_pack(const struct fleet_pack_query *query, double *seconds, int *copies,
                struct fleet_effort *effort, bool *all)
{
    struct packer p = {.query = query, .effort = effort};
    double max_after = query->max_after;
    bool ok = begin(&p);
    while (ok && p.effort->left > 0.0 && !stop_wanted()) {
        double after = 0.0;
        if (isinf(find_first(&p, *seconds - query->min_after, max_after, &after, seconds, copies)))
            break;
        max_after = nextafter(after, -INFINITY);
    }
    *all = ok && p.effort->left > 0.0;
    end(&p);
    return ok;
}
