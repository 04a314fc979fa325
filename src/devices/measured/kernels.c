#include "devices/measured/kernels.h"

#include "core/arena.h"
#include "core/once.h"
#include "core/text.h"
#include "devices/measured/lines.h"
#include "devices/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* data/kernels.txt, by scripts/embed.c. */
extern const char data_kernels[];

#define MAX_TABLES  256
#define MAX_VALUES  128
#define FLOOR       2e-6 /* seconds of the roofline beside its work */
#define MAX_UNITS   0.15 /* how much the logarithms of units and of power of a relative may differ */
#define MAX_POWER   0.35
#define LINE_OF_ROW '|'
#define MIDDLE      79
#define SPREAD      15 /* characters from the middle after which steps grow */
#define BLANK       ' '

/* A table, and the lines that its cells are read from when it is first asked for. */
struct source {
    struct measured table;
    const char *lines;
    double middle, step; /* logarithms of ratios: of the character MIDDLE, and from there to the next */
    const struct cost_device *device;
    struct arena arena;
    struct once once;
};

static struct {
    int count;
    struct source sources[MAX_TABLES];
    struct arena arena;
    struct once once;
} known = {.once = ONCE_INIT};

/* ---- heads ---- */

static int axis_named(const struct measured *table, const char *name, size_t length)
{
    for (int a = 0; a < table->axis_count; a++)
        if (strlen(table->axes[a].name) == length && strncmp(table->axes[a].name, name, length) == 0)
            return a;
    return -1;
}

/* "2 m k + 2 n k"; the axes are known. */
static bool read_work(struct measured_work *work, const struct measured *table, const char *text)
{
    char *end_of_number;
    *work = (struct measured_work){0};
    for (const char *end = line_end(text); text < end;) {
        size_t length = strcspn(text, " \n");
        int axis = axis_named(table, text, length);
        if (axis >= 0 && work->count > 0)
            work->terms[work->count - 1].powers[axis]++;
        else if (*text != '+' && work->count == MEASURED_MAX_TERMS)
            return false;
        else if (*text != '+')
            work->terms[work->count++].factor = text_number(text, &end_of_number);
        text += length + (text[length] == ' ');
    }
    return work->count > 0;
}

/* "m 1 2 4": values in rising order. */
static bool read_axis(struct measured *table, const char *text)
{
    int64_t values[MAX_VALUES];
    size_t length = strcspn(text, " \n");
    struct measured_axis *axis = &table->axes[table->axis_count];
    if (table->axis_count == MEASURED_MAX_AXES || length >= sizeof axis->name || text[length] != ' ')
        return false;
    memcpy(axis->name, text, length);
    axis->name[length] = '\0';
    axis->count = line_numbers(text + length + 1, values, MAX_VALUES);
    float *at = ARENA_ARRAY(&known.arena, MAX_VALUES, float);
    for (int i = 0; at && i < axis->count; i++)
        at[i] = (float)log2((double)values[i]);
    axis->at = at;
    table->axis_count++;
    return at && axis->count > 0;
}

/* The next word of a line, as a text of its own. */
static const char *word(const char **text)
{
    size_t length = strcspn(*text, " \n");
    const char *copy = arena_copy(&known.arena, *text, length);
    *text += length + ((*text)[length] == ' ');
    return copy;
}

/* "h100-sxm vllm 989.4 3350 -0.1 0.02 vLLM 0.24.0" */
static bool read_table(const struct measured *head, const char *text, const char *lines)
{
    struct source *source = &known.sources[known.count];
    if (known.count == MAX_TABLES)
        return false;
    *source = (struct source){.table = *head, .once = ONCE_INIT, .lines = lines};
    struct measured *table = &source->table;
    table->device = word(&text);
    table->software = word(&text);
    char *rest;
    table->peak = text_number(text, &rest) * 1e12;
    table->bandwidth = text_number(rest, &rest) * 1e9;
    source->middle = text_number(rest, &rest);
    source->step = text_number(rest, &rest);
    table->title = line_copy(&known.arena, rest + (*rest == ' '));
    if (!table->device || !table->software || !table->title)
        return false;
    source->device = tables_device(NULL, table->device);
    known.count += source->device != NULL; /* a device that this program does not have is left out */
    table->cell_count = 1;
    for (int a = 0; a < table->axis_count; a++)
        table->cell_count *= table->axes[a].count;
    return true;
}

/* `*work` are the texts of the lines flops and bytes, which name axes that follow. */
static bool read_head(struct measured *head, const char *work[2], const char *line)
{
    const char *text;
    char *rest;
    if ((text = line_behind(line, "kernel"))) {
        *head = (struct measured){.kernel = word(&text)};
        const char *type = word(&text);
        return head->kernel && type && cost_type_find(type, &head->type);
    }
    if ((text = line_behind(line, "choose")))
        head->fastest = strncmp(text, "fastest", 7) == 0;
    if ((text = line_behind(line, "ultra")))
        head->ultra = text_number(text, &rest);
    if ((text = line_behind(line, "flops")))
        work[0] = text;
    if ((text = line_behind(line, "bytes")))
        work[1] = text;
    if ((text = line_behind(line, "grid")))
        return read_axis(head, text);
    if ((text = line_behind(line, "table")))
        return read_work(&head->flops, head, work[0]) && read_work(&head->bytes, head, work[1]) &&
               read_table(head, text, line_next(line));
    return true; /* a comment, cells */
}

static bool read_heads(struct error *err)
{
    struct measured head = {0};
    const char *work[2] = {"", ""};
    if (!tables_ready(err))
        return false;
    known.count = 0;
    for (const char *line = data_kernels; *line; line = line_next(line))
        if (*line != LINE_OF_ROW && !read_head(&head, work, line)) {
            arena_release(&known.arena);
            return error_memory(err);
        }
    return true;
}

/* ---- cells ---- */

/* A cell's indices, and back. */
static void place_of(const struct measured *table, int cell, int *at)
{
    for (int a = table->axis_count - 1; a >= 0; a--) {
        at[a] = cell % table->axes[a].count;
        cell /= table->axes[a].count;
    }
}

static int cell_at(const struct measured *table, const int *at)
{
    int cell = 0;
    for (int a = 0; a < table->axis_count; a++)
        cell = cell * table->axes[a].count + at[a];
    return cell;
}

static bool is_even(const struct measured *table, int cell)
{
    int at[MEASURED_MAX_AXES], sum = 0;
    place_of(table, cell, at);
    for (int a = 0; a < table->axis_count; a++)
        sum += at[a];
    return sum % 2 == 0;
}

static double ratio_of(const struct source *source, char code)
{
    return source->middle + source->step * SPREAD * sinh((code - MIDDLE) / (double)SPREAD);
}

/* A line for each value of the first axis; a character for each second cell of the others. */
static void read_cells(const struct source *source, float *cells, bool *learned)
{
    const struct measured *table = &source->table;
    int per_line = table->cell_count / table->axes[0].count;
    const char *line = source->lines;
    for (int first = 0; first < table->axes[0].count && *line == LINE_OF_ROW; first++) {
        const char *text = line + 1, *end = line_end(line);
        for (int i = 0; i < per_line && text < end; i++) {
            int cell = first * per_line + i;
            if (!is_even(table, cell))
                continue;
            learned[cell] = *text != BLANK;
            cells[cell] = learned[cell] ? (float)ratio_of(source, *text) : 0;
            text++;
        }
        line = line_next(line);
    }
}

/* The mean of the neighbours along the axes that have a value. */
static bool mean_around(const struct measured *table, int cell, const float *cells, const bool *has,
                        float *mean)
{
    int at[MEASURED_MAX_AXES], count = 0, stride = table->cell_count;
    float sum = 0;
    place_of(table, cell, at);
    for (int a = 0; a < table->axis_count; a++) {
        stride /= table->axes[a].count;
        for (int step = -1; step <= 1; step += 2) {
            int index = at[a] + step;
            if (index < 0 || index >= table->axes[a].count || !has[cell + step * stride])
                continue;
            sum += cells[cell + step * stride];
            count++;
        }
    }
    *mean = count > 0 ? sum / (float)count : 0;
    return count > 0;
}

/* Fills holes from their neighbours, and those without any in the next round. */
static void fill(const struct measured *table, float *cells, bool *has, bool *next)
{
    for (bool changed = true; changed;) {
        changed = false;
        memcpy(next, has, (size_t)table->cell_count * sizeof *next);
        for (int cell = 0; cell < table->cell_count; cell++)
            if (!has[cell] && mean_around(table, cell, cells, has, &cells[cell]))
                changed = next[cell] = true;
        memcpy(has, next, (size_t)table->cell_count * sizeof *has);
    }
}

/* ---- left out ---- */

bool measured_left_out(const struct measured *table, int cell, bool sizes, double *log_ratio)
{
    int at[MEASURED_MAX_AXES], to[MEASURED_MAX_AXES], count = 0, axes = table->axis_count;
    double sum = 0;
    place_of(table, cell, at);
    for (int a = 0; a < axes; a++)
        for (int b = a + 1; b < axes; b++) /* cells across a corner: those along an axis are not learned */
            for (int sign = 0; sign < 4 && (!sizes || a > 0 || axes == 2); sign++) {
                memcpy(to, at, sizeof to);
                to[a] += sign & 1 ? 1 : -1;
                to[b] += sign & 2 ? 1 : -1;
                if (to[a] < 0 || to[b] < 0 || to[a] >= table->axes[a].count ||
                    to[b] >= table->axes[b].count || !table->learned[cell_at(table, to)])
                    continue;
                sum += (double)table->cells[cell_at(table, to)];
                count++;
            }
    *log_ratio = count > 0 ? sum / count : 0;
    return count > 0;
}

/* Counts errors by their size; room for a list of them would be more than the cells. */
static double spread_of(const struct measured *table)
{
    int counts[100] = {0}, all = 0, below = 0, step = 0;
    for (int cell = 0; cell < table->cell_count; cell++) {
        double log_ratio;
        if (!table->learned[cell] || !measured_left_out(table, cell, false, &log_ratio))
            continue;
        counts[(int)fmin(100 * fabs(expm1(log_ratio - (double)table->cells[cell])), 99)]++;
        all++;
    }
    while (step < 99 && below + counts[step] < 0.85 * all)
        below += counts[step++];
    return (step + 1) / 100.0;
}

static bool load(void *of)
{
    struct source *source = of;
    struct measured *table = &source->table;
    size_t count = (size_t)table->cell_count;
    float *cells = ARENA_ARRAY(&source->arena, count, float);
    bool *learned = ARENA_ARRAY(&source->arena, count, bool);
    bool *has = calloc(2 * count, sizeof *has);
    if (!cells || !learned || !has) {
        free(has);
        arena_release(&source->arena);
        return false;
    }
    read_cells(source, cells, learned);
    memcpy(has, learned, count * sizeof *has);
    fill(table, cells, has, has + count);
    free(has);
    table->cells = cells;
    table->learned = learned;
    table->spread = spread_of(table);
    return true;
}

static const struct measured *loaded(struct source *source)
{
    return once_needed_of(&source->once, load, source) ? &source->table : NULL;
}

/* ---- lookups ---- */

const struct measured *measured_known(int index)
{
    if (!once_needed(&known.once, read_heads))
        return NULL;
    return index < known.count ? loaded(&known.sources[index]) : NULL;
}

void measured_sizes(const struct measured *table, int cell, double *sizes)
{
    int at[MEASURED_MAX_AXES];
    place_of(table, cell, at);
    for (int a = 0; a < table->axis_count; a++)
        sizes[a] = exp2((double)table->axes[a].at[at[a]]);
}

/* The lower of the two grid lines around a size, and the share of the way to the upper one; outside the nearest two. */
static int bracket(const struct measured_axis *axis, float at, float *share)
{
    int low = 0, high = axis->count - 1;
    *share = 0;
    if (high == 0)
        return 0;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (axis->at[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *share = fminf(fmaxf((at - axis->at[low]) / (axis->at[high] - axis->at[low]), 0), 1);
    return low;
}

double measured_log_ratio(const struct measured *table, const double *sizes)
{
    float share[MEASURED_MAX_AXES], sum = 0;
    int at[MEASURED_MAX_AXES];
    for (int a = 0; a < table->axis_count; a++)
        at[a] = bracket(&table->axes[a], log2f((float)sizes[a]), &share[a]);
    for (int corner = 0; corner < 1 << table->axis_count; corner++) {
        int cell[MEASURED_MAX_AXES];
        float weight = 1;
        for (int a = 0; a < table->axis_count; a++) {
            bool upper = corner >> a & 1;
            weight *= upper ? share[a] : 1 - share[a];
            cell[a] = at[a] + upper;
        }
        if (weight > 0)
            sum += weight * table->cells[cell_at(table, cell)];
    }
    return (double)sum;
}

static double work_of(const struct measured_work *work, const double *sizes, int axes)
{
    double sum = 0;
    for (int t = 0; t < work->count; t++) {
        double term = work->terms[t].factor;
        for (int a = 0; a < axes; a++)
            for (int p = 0; p < work->terms[t].powers[a]; p++)
                term *= sizes[a];
        sum += term;
    }
    return sum;
}

static double roofline(double matrix, double memory)
{
    return sqrt(matrix * matrix + memory * memory) + FLOOR;
}

bool measured_is_ultra(const struct cost_device *device)
{
    return device->capability && strcmp(device->capability, "sm_103") == 0;
}

/* How much faster the units are than those of the measured device. A type whose peak grew by more than that of bf16 (fp4
 * of B300) is not taken to be faster by it: its kernels wait for data, not for the units. Where the peaks are alike, the
 * clock under load is that of the board's power, which grows with the cube of clock (and voltage). */
static double faster(const struct cost_device *device, const struct cost_device *of,
                     const struct measured *table)
{
    double peak = device->peak[table->type] / of->peak[table->type];
    if (of->peak[COST_BF16] > 0)
        peak = fmin(peak, device->peak[COST_BF16] / of->peak[COST_BF16]);
    double clock = of->power > 0 && device->power > 0 ? cbrt(device->power / of->power) : 1;
    bool gains = table->ultra > 0 && measured_is_ultra(device) && !measured_is_ultra(of);
    return (fabs(log(clock)) > fabs(log(peak)) ? clock : peak) * (gains ? table->ultra : 1);
}

/* Faster memory saves what it saves of the roofline, and nothing of what a kernel takes beside. */
double measured_on(const struct measured *table, const struct cost_device *device, const double *sizes)
{
    const struct cost_device *of = tables_device(NULL, table->device);
    double flops = work_of(&table->flops, sizes, table->axis_count);
    double memory = work_of(&table->bytes, sizes, table->axis_count) / table->bandwidth;
    double matrix = flops / (table->peak * faster(device, of, table)),
           ratio = exp(measured_log_ratio(table, sizes));
    double as_there = roofline(matrix, memory);
    double saved = as_there - roofline(matrix, memory * of->bandwidth / device->bandwidth);
    double seconds = as_there * ratio - saved * fmin(ratio, 1);
    return fmax(seconds / (device->pace > 0 ? device->pace : 1), flops / device->peak[table->type]);
}

/* ---- which table ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

bool measured_same_units(const struct cost_device *a, const struct cost_device *b)
{
    return a->units == b->units && same_text(a->capability, b->capability);
}

bool measured_same_parameters(const struct cost_device *a, const struct cost_device *b, enum cost_type type)
{
    const struct gemm_parameters *x = &a->gemm[type], *y = &b->gemm[type];
#define X(name, text, min, max) &&x->name == y->name
    return true GEMM_PARAMETERS(X);
#undef X
}

bool measured_has(const char *kernel, const struct cost_device *device, enum cost_type type)
{
    bool has = false;
    for (int i = 0; once_needed(&known.once, read_heads) && i < known.count && !has; i++)
        has = known.sources[i].table.type == type && strcmp(known.sources[i].table.kernel, kernel) == 0 &&
              measured_same_units(known.sources[i].device, device);
    return has;
}

/* How far two devices are apart; HUGE_VAL: too far for ratios to hold. */
static double difference(const struct cost_device *a, const struct cost_device *b, enum cost_type type)
{
    if (a == b)
        return 0;
    if (!same_text(a->generation, b->generation) || !(a->peak[type] > 0) || !(b->peak[type] > 0))
        return HUGE_VAL;
    double units = fabs(log((double)a->units / b->units)), power = fabs(log(a->power / b->power));
    if (!(units <= MAX_UNITS) || !(power <= MAX_POWER))
        return HUGE_VAL;
    return units + power + fabs(log(a->peak[type] / b->peak[type])) + fabs(log(a->bandwidth / b->bandwidth));
}

/* A device of the user's own that was fitted is no longer the one of its name. */
static const struct cost_device *own_kind(const struct cost_device *device, enum cost_type type)
{
    const struct cost_device *of = tables_device(NULL, device->name);
    if (of && measured_same_parameters(of, device, type))
        return of;
    for (int i = 0; i < known.count; i++)
        if (known.sources[i].table.type == type &&
            measured_same_parameters(known.sources[i].device, device, type))
            return device;
    return NULL;
}

static const struct cost_device *nearest(const char *kernel, const struct cost_device *device,
                                         enum cost_type type, const struct cost_device *but)
{
    const struct cost_device *best = NULL;
    double least = HUGE_VAL;
    for (int i = 0; i < known.count && least > 0; i++) {
        const struct source *source = &known.sources[i];
        if (source->table.type != type || strcmp(source->table.kernel, kernel) != 0 ||
            source->device == but || source->device == best)
            continue;
        double far = difference(device, source->device, type);
        if (far < least) {
            least = far;
            best = source->device;
        }
    }
    return best;
}

const struct measured *measured_relative(const struct measured *table)
{
    const struct cost_device *device = tables_device(NULL, table->device);
    const struct cost_device *of = nearest(table->kernel, device, table->type, device);
    for (int i = 0; of && i < known.count; i++) {
        const struct measured *other = &known.sources[i].table;
        if (known.sources[i].device == of && other->type == table->type &&
            strcmp(other->kernel, table->kernel) == 0 && strcmp(other->software, table->software) == 0)
            return loaded(&known.sources[i]);
    }
    return NULL;
}

double measured_seconds(const char *kernel, const struct cost_device *device, enum cost_type type,
                        const char *software, const double *sizes, const struct measured **table)
{
    double least = 0;
    *table = NULL;
    if (!once_needed(&known.once, read_heads))
        return 0;
    const struct cost_device *own = own_kind(device, type);
    const struct cost_device *of = own ? nearest(kernel, own, type, NULL) : NULL;
    for (int i = 0; of && i < known.count; i++) {
        struct source *source = &known.sources[i];
        const struct measured *of_source = &source->table;
        if (source->device != of || of_source->type != type || strcmp(of_source->kernel, kernel) != 0)
            continue;
        if (software ? strcmp(of_source->software, software) != 0
                     : strstr(of_source->software, "-block") || (*table && !of_source->fastest))
            continue;
        const struct measured *found = loaded(source);
        double seconds = found ? measured_on(found, device, sizes) : 0;
        if (found && (!*table || seconds < least)) {
            least = seconds;
            *table = found;
        }
    }
    return least;
}
