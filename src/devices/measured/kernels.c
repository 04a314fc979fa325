#include "devices/measured/kernels.h"

#include "core/arena.h"
#include "core/once.h"
#include "core/text.h"
#include "devices/measured/cells.h"
#include "devices/measured/lines.h"
#include "devices/tables.h"

#include <math.h>
#include <string.h>

/* data/kernels.txt, by scripts/embed.c. */
extern const char data_kernels[];

#define MAX_TABLES 512
#define MAX_VALUES 128
#define FLOOR      2e-6 /* seconds of the roofline beside its work, unless a table has another */
#define MAX_UNITS  0.15 /* how much the logarithms of units and of power of a relative may differ */
#define MAX_POWER  0.35

/* A table, and the lines that its cells are read from when it is first asked for. */
struct source {
    struct measured table;
    const char *lines;
    double middle, step; /* as in cells.h */
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
    static const char *const derived[] = {"rows", "active"};
    for (int a = 0; a < MEASURED_MAX_AXES + 2; a++) {
        const char *of = a < MEASURED_MAX_AXES ? table->axes[a].name : derived[a - MEASURED_MAX_AXES];
        if (length > 0 && strlen(of) == length && strncmp(of, name, length) == 0)
            return a;
    }
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

/* "topk -ranks": the signs by which axes of shapes move a curve. */
static bool read_aligned(struct measured *table, const char *text)
{
    for (const char *end = line_end(text); text < end; text += *text == ' ') {
        bool less = *text == '-';
        size_t length = strcspn(text += less, " \n");
        int axis = axis_named(table, text, length);
        if (axis < 0 || axis >= table->shape_axes)
            return false;
        table->aligned[axis] = less ? -1 : 1;
        text += length;
    }
    return true;
}

/* "m 1 2 4": values in rising order. "hidden": an axis of shapes, which are on no grid. */
static bool read_axis(struct measured *table, const char *text, bool is_shape)
{
    int64_t values[MAX_VALUES];
    size_t length = strcspn(text, " \n");
    struct measured_axis *axis = &table->axes[table->axis_count];
    if (table->axis_count == MEASURED_MAX_AXES || length >= sizeof axis->name ||
        (!is_shape && text[length] != ' '))
        return false;
    memcpy(axis->name, text, length);
    axis->name[length] = '\0';
    table->axis_count++;
    if (is_shape) {
        axis->count = 1;
        table->shape_axes++;
        return true;
    }
    axis->count = line_numbers(text + length + 1, values, MAX_VALUES);
    float *at = ARENA_ARRAY(&known.arena, MAX_VALUES, float);
    for (int i = 0; at && i < axis->count; i++)
        at[i] = (float)log2((double)values[i]);
    axis->at = at;
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
    const char *device = word(&text);
    table->software = word(&text);
    char *rest;
    table->peak = text_number(text, &rest) * 1e12;
    table->bandwidth = text_number(rest, &rest) * 1e9;
    source->middle = text_number(rest, &rest);
    source->step = text_number(rest, &rest);
    table->title = line_copy(&known.arena, rest + (*rest == ' '));
    if (!device || !table->software || !table->title)
        return false;
    table->device = tables_device(NULL, device);
    known.count += table->device != NULL; /* a device that this program does not have is left out */
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
        *head = (struct measured){.kernel = word(&text), .floor = FLOOR};
        const char *type = word(&text);
        return head->kernel && type && cost_type_find(type, &head->type);
    }
    if ((text = line_behind(line, "choose")))
        head->fastest = strncmp(text, "fastest", 7) == 0;
    if ((text = line_behind(line, "floor")))
        head->floor = text_number(text, &rest) * 1e-6;
    if ((text = line_behind(line, "ultra")))
        head->ultra = text_number(text, &rest);
    if ((text = line_behind(line, "flops")))
        work[0] = text;
    if ((text = line_behind(line, "bytes")))
        work[1] = text;
    if ((text = line_behind(line, "grid")))
        return read_axis(head, text, false);
    if ((text = line_behind(line, "shape")))
        return read_axis(head, text, true);
    if ((text = line_behind(line, "aligned")))
        return read_aligned(head, text);
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

/* ---- tables ---- */

static bool load(void *of)
{
    struct source *source = of;
    return measured_load(&source->table, source->lines, source->middle, source->step, &source->arena);
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

/* Of experts also the rows that a device has where each has as many, and its experts that have rows. */
static double work_of(const struct measured *table, const struct measured_work *work, const double *sizes)
{
    double all[MEASURED_MAX_AXES + 2] = {0}, sum = 0;
    memcpy(all, sizes, (size_t)table->axis_count * sizeof *all);
    if (table->shape_axes == MEASURED_EXPERTS_SHAPE) {
        double rows = sizes[MEASURED_TOKENS] * sizes[MEASURED_TOPK] / sizes[MEASURED_RANKS];
        all[MEASURED_MAX_AXES] = rows;
        all[MEASURED_MAX_AXES + 1] = fmax(fmin(sizes[MEASURED_EXPERTS], rows), 1);
    }
    for (int t = 0; t < work->count; t++) {
        double term = work->terms[t].factor;
        for (int a = 0; a < MEASURED_MAX_AXES + 2; a++)
            for (int p = 0; p < work->terms[t].powers[a]; p++)
                term *= all[a];
        sum += term;
    }
    return sum;
}

static double roofline(const struct measured *table, double matrix, double memory)
{
    return sqrt(matrix * matrix + memory * memory) + table->floor;
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
    const struct cost_device *of = table->device;
    double flops = work_of(table, &table->flops, sizes);
    double memory = work_of(table, &table->bytes, sizes) / table->bandwidth;
    double matrix = flops / (table->peak * faster(device, of, table)),
           ratio = exp(measured_log_ratio(table, sizes));
    double as_there = roofline(table, matrix, memory);
    double saved = as_there - roofline(table, matrix, memory * of->bandwidth / device->bandwidth);
    double seconds = as_there * ratio - saved * fmin(ratio, 1);
    return fmax(seconds / (device->pace > 0 ? device->pace : 1), flops / device->peak[table->type]);
}

/* ---- which table ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool is_of(const struct measured *table, const char *kernel, enum cost_type type)
{
    return table->type == type && strcmp(table->kernel, kernel) == 0;
}

/* Whether the formula of products has the same parameters for both. */
static bool same_parameters(const struct cost_device *a, const struct cost_device *b, enum cost_type type)
{
    const struct gemm_parameters *x = &a->gemm[type], *y = &b->gemm[type];
#define X(name, text, min, max) &&x->name == y->name
    return true GEMM_PARAMETERS(X);
#undef X
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
    if (of && same_parameters(of, device, type))
        return of;
    for (int i = 0; i < known.count; i++)
        if (known.sources[i].table.type == type &&
            same_parameters(known.sources[i].table.device, device, type))
            return device;
    return NULL;
}

static const struct cost_device *nearest(const char *kernel, const struct cost_device *device,
                                         enum cost_type type, const struct cost_device *but)
{
    const struct cost_device *best = NULL;
    double least = HUGE_VAL;
    for (int i = 0; i < known.count && least > 0; i++) {
        const struct measured *table = &known.sources[i].table;
        if (!is_of(table, kernel, type) || table->device == but || table->device == best)
            continue;
        double far = difference(device, table->device, type);
        if (far < least) {
            least = far;
            best = table->device;
        }
    }
    return best;
}

const struct measured *measured_relative(const struct measured *table)
{
    const struct cost_device *of = nearest(table->kernel, table->device, table->type, table->device);
    for (int i = 0; of && i < known.count; i++) {
        const struct measured *other = &known.sources[i].table;
        if (other->device == of && is_of(other, table->kernel, table->type) &&
            strcmp(other->software, table->software) == 0)
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
        const struct measured *of_source = &known.sources[i].table;
        if (of_source->device != of || !is_of(of_source, kernel, type))
            continue;
        if (software ? strcmp(of_source->software, software) != 0
                     : strstr(of_source->software, "-block") || (*table && !of_source->fastest))
            continue;
        const struct measured *found = loaded(&known.sources[i]);
        double seconds = found ? measured_on(found, device, sizes) : 0;
        if (found && (!*table || seconds < least)) {
            least = seconds;
            *table = found;
        }
    }
    return least;
}

const char *device_basis(const struct cost_device *device)
{
    enum cost_type type = cost_device_type(device, COST_BF16);
    for (int i = 0; once_needed(&known.once, read_heads) && i < known.count; i++) {
        const struct measured *table = &known.sources[i].table;
        if ((is_of(table, "product", type) || is_of(table, "batched-product", type)) &&
            table->device->units == device->units && same_text(table->device->capability, device->capability))
            return "measured"; /* reads no cells */
    }
    return device->fitted && !text_starts_with(device->fitted, "assumed") ? "fitted" : "data sheet";
}

bool device_is_sheet(const struct cost_device *device)
{
    return strcmp(device_basis(device), "data sheet") == 0;
}
