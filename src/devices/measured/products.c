#include "devices/measured/products.h"

#include "core/arena.h"
#include "core/once.h"
#include "devices/measured/kernels.h"
#include "devices/measured/lines.h"
#include "devices/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* data/products.txt, by scripts/embed.c. */
extern const char data_products[];

#define STEP        0.008 /* of the logarithm near 0; farther away steps grow with it */
#define SPREAD      15    /* steps after which they do */
#define FIRST_CODE  '!'
#define LAST_CODE   '~'
#define MIDDLE      79 /* of these two: a time as computed */
#define MAX_TABLES  64
#define MAX_COLUMNS 128
#define WAVE_WEIGHT 2.0F /* an empty half of a wave changes a time as four times the size does */

/* A table, and the lines that it is read from when it is first asked for. */
struct source {
    struct products products;
    const struct cost_device *device;
    struct once once;
    struct arena arena;
    const char *lines;
    int column; /* of the lines' characters */
};

static struct {
    struct once once;
    struct arena arena;
    struct source sources[MAX_TABLES];
    int count;
} known = {.once = ONCE_INIT};

/* ---- shapes ---- */

char product_encode(double log_ratio)
{
    double code = MIDDLE + round(SPREAD * asinh(log_ratio / (STEP * SPREAD)));
    return (char)fmin(fmax(code, FIRST_CODE), LAST_CODE);
}

double product_decode(char code)
{
    return STEP * SPREAD * sinh((code - MIDDLE) / (double)SPREAD);
}

/* log2 of how many waves a whole number of waves is, of those that are needed. */
static float last_wave(int units, double batch, double rows, double columns)
{
    double waves = batch * ceil(rows) * ceil(columns) / units;
    return WAVE_WEIGHT * (float)log2(ceil(waves) / waves);
}

void product_place(float at[PRODUCT_AXES], int units, struct product_size size)
{
    double b = (double)size.batch, rows = (double)size.m, columns = (double)size.n;
    at[PRODUCT_BY_N] = (float)log2(columns);
    at[1] = (float)log2(rows);
    at[2] = (float)log2((double)size.k);
    at[3] = (float)log2(b);
    at[4] = last_wave(units, b, rows / 128, columns / 128);
    at[5] = last_wave(units, b, rows / 128, columns / 256);
    at[6] = last_wave(units, b, rows / 256, columns / 128);
    at[7] = 0.5F * last_wave(units, b, rows / 64, columns / 128);
    at[8] = 0.5F * last_wave(units, b, rows / 64, columns / 64);
}

/* ---- blocks ---- */

/* The head of a block: `type`, `source` and `devices`. */
struct block {
    enum cost_type type;
    const char *source, *devices;
};

static bool add_source(const struct block *block, const char *name, int column, const char *lines)
{
    struct source *source = &known.sources[known.count];
    const struct cost_device *device = tables_device(NULL, name);
    if (!device || known.count == MAX_TABLES)
        return false;
    *source = (struct source){
        .products = {.device = name, .type = block->type, .source = block->source},
        .device = device,
        .once = ONCE_INIT,
        .lines = lines,
        .column = column,
    };
    known.count++;
    return true;
}

static bool add_sources(const struct block *block, const char *lines)
{
    char *names = arena_string(&known.arena, block->devices);
    char *list[MAX_COLUMNS];
    int count = 0;
    char *rest = NULL;
    for (char *name = names ? strtok_r(names, " ", &rest) : NULL; name && count < MAX_COLUMNS;
         name = strtok_r(NULL, " ", &rest))
        list[count++] = name;
    for (int i = 0; i < count; i++)
        if (!add_source(block, list[i], i, lines))
            return false;
    return count > 0;
}

static bool read_head(struct block *block, const char *line)
{
    const char *text;
    if ((text = line_behind(line, "products"))) {
        const char *name = line_copy(&known.arena, text);
        *block = (struct block){0};
        return name && cost_type_find(name, &block->type);
    }
    if ((text = line_behind(line, "source")))
        return (block->source = line_copy(&known.arena, text)) != NULL;
    if ((text = line_behind(line, "devices")))
        return (block->devices = line_copy(&known.arena, text)) != NULL;
    return true; /* a comment, a row */
}

static bool read_blocks(struct error *err)
{
    struct block block = {0};
    if (!tables_ready(err))
        return false;
    known.count = 0;
    for (const char *line = data_products; *line; line = line_next(line)) {
        bool read =
            strncmp(line, "rows\n", 5) == 0 ? add_sources(&block, line_next(line)) : read_head(&block, line);
        if (!read) {
            arena_release(&known.arena);
            return error_memory(err);
        }
    }
    return true;
}

/* ---- rows ---- */

static int by_place(const void *left, const void *right)
{
    const struct product *a = left, *b = right;
    for (int i = 0; i < PRODUCT_AXES; i++)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

/* Adds the product of a line, "batch m n k CODES", by device. Returns how many; without `rows` it only counts. */
static int read_row(const struct source *source, const char *line, struct product *row)
{
    int64_t sizes[4];
    const char *codes = memchr(line, '\t', (size_t)(line_end(line) - line));
    if (!codes || line_numbers(line, sizes, 4) != 4 || line_end(line) - ++codes <= source->column ||
        codes[source->column] == PRODUCT_NONE)
        return 0;
    if (row) {
        *row = (struct product){.size = {sizes[0], sizes[1], sizes[2], sizes[3]}};
        row->log_ratio = (float)product_decode(codes[source->column]);
        product_place(row->at, source->device->units, row->size);
    }
    return 1;
}

static int read_lines(const struct source *source, struct product *rows)
{
    int count = 0;
    for (const char *line = source->lines; *line >= '0' && *line <= '9'; line = line_next(line))
        count += read_row(source, line, rows ? rows + count : NULL);
    return count;
}

static bool load(void *of)
{
    struct source *source = of;
    int count = read_lines(source, NULL);
    struct product *rows = ARENA_ARRAY(&source->arena, (size_t)count + 1, struct product);
    if (!rows)
        return false;
    source->products.count = read_lines(source, rows);
    qsort(rows, (size_t)count, sizeof *rows, by_place);
    source->products.rows = rows;
    return true;
}

static const struct products *loaded(struct source *source)
{
    return once_needed_of(&source->once, load, source) ? &source->products : NULL;
}

/* ---- lookups ---- */

const struct products *products_known(int index)
{
    if (!once_needed(&known.once, read_blocks))
        return NULL;
    return index < known.count ? loaded(&known.sources[index]) : NULL;
}

const struct products *products_of(const struct cost_device *device, enum cost_type type)
{
    struct source *found = NULL;
    if (!once_needed(&known.once, read_blocks))
        return NULL;
    for (int i = 0; i < known.count; i++) {
        struct source *source = &known.sources[i];
        if (source->products.type != type || !measured_same_units(device, source->device) ||
            !measured_same_parameters(device, source->device, type))
            continue;
        if (!found || (device->name && strcmp(device->name, source->device->name) == 0))
            found = source;
    }
    return found ? loaded(found) : NULL;
}

const char *device_basis(const struct cost_device *device)
{
    enum cost_type type = cost_device_type(device, COST_BF16);
    if (products_of(device, type) || measured_has("product", device, type))
        return "measured";
    return device->fitted && !text_starts_with(device->fitted, "assumed") ? "fitted" : "data sheet";
}
