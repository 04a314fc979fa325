#include "api/heard.h"
#include "texts.h"

#include <math.h>
#include <string.h>

/* A value of JSON, or the same value of each item of a list. */
struct heard_node {
    const char *key, *name;                 /* "b", "a.b" */
    struct heard_node *list;                /* around it; NULL: none */
    struct heard_node *first, *last, *next; /* of maps and of lists of them */
    struct heard_node *met;                 /* the child that was asked for last */
    bool is_list;
    enum json_type sample; /* JSON_MAP: none, or no single value */
    int64_t items;         /* of a list, of all of its kind together */
    struct json_item *cells;
    int cell_count, cell_room;
    int64_t *ends; /* of a list in a list */
    int end_count, end_room;
};

static struct heard_node *new_node(struct heard *heard, const struct heard_place *around, const char *key)
{
    struct heard_node *node = ARENA_NEW(&heard->arena, struct heard_node),
                      *parent = around ? around->node : NULL;
    if (!node)
        return NULL;
    node->key = arena_string(&heard->arena, key);
    bool named = parent && *parent->name;
    node->name = !*key || !named ? arena_string(&heard->handle->arena, named ? parent->name : key)
                                 : arena_format(&heard->handle->arena, "%s.%s", parent->name, key);
    if (!node->key || !node->name)
        return NULL;
    if (!parent)
        return node;
    node->list = parent->is_list ? parent : parent->list;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

/* The child of this key: mostly the one after that of the last call, or a new one. */
static struct heard_node *child_of(struct heard *heard, const char *key)
{
    const struct heard_place *around = &heard->open[heard->depth - 1];
    struct heard_node *parent = around->node, *next = parent->met ? parent->met->next : parent->first;
    if (next && strcmp(next->key, key) == 0)
        return parent->met = next;
    for (struct heard_node *node = parent->first; node; node = node->next)
        if (strcmp(node->key, key) == 0)
            return parent->met = node;
    return parent->met = new_node(heard, around, key);
}

/* Number of items before this one, of the list around. */
static int64_t row_of(const struct heard_node *list)
{
    return list ? list->items - 1 : 0;
}

static bool add_cell(struct heard *heard, struct heard_node *node, const struct json_item *item)
{
    struct json_item *cells =
        arena_grow(&heard->arena, node->cells, node->cell_count, &node->cell_room, sizeof *cells);
    if (!cells)
        return false;
    node->cells = cells;
    cells[node->cell_count] = *item;
    if (item->type == JSON_STRING && item->string) {
        const char *copy = arena_string(&heard->handle->arena, item->string);
        cells[node->cell_count].string = copy;
        if (!copy)
            return false;
    }
    node->cell_count++;
    return true;
}

/* Items before `row` that lack the value have an unknown one. */
static bool fill(struct heard *heard, struct heard_node *node, int64_t row)
{
    while (node->cell_count < row)
        if (!add_cell(heard, node, &(struct json_item){.type = JSON_NULL}))
            return false;
    return true;
}

static bool add_end(struct heard *heard, struct heard_node *node, int64_t row)
{
    while (node->end_count <= row) {
        int64_t *ends = arena_grow(&heard->arena, node->ends, node->end_count, &node->end_room, sizeof *ends);
        if (!ends)
            return false;
        node->ends = ends;
        ends[node->end_count] = node->end_count < row && node->end_count > 0 ? ends[node->end_count - 1] : 0;
        node->end_count++;
    }
    node->ends[row] = node->items;
    return true;
}

static bool hear_single(struct heard *heard, const struct json_item *item)
{
    const struct heard_place *around = &heard->open[heard->depth - 1];
    struct heard_node *node = around->is_list ? around->node : child_of(heard, item->key);
    if (!node)
        return false;
    if (heard->is_sample) {
        node->sample = item->type;
        return true;
    }
    if (around->is_list)
        node->items++;
    const struct heard_node *list = around->is_list ? node : node->list;
    return fill(heard, node, row_of(list)) && add_cell(heard, node, item);
}

static bool hear_open(struct heard *heard, const struct json_item *item)
{
    bool is_list = item->type == JSON_LIST;
    struct heard_node *node;
    if (heard->depth == 0) {
        node = heard->root ? heard->root : new_node(heard, NULL, "");
        heard->root = node;
    } else {
        const struct heard_place *around = &heard->open[heard->depth - 1];
        node = around->node;
        if (around->is_list && !heard->is_sample)
            node->items++;
        if (!around->is_list || is_list)
            node = child_of(heard, around->is_list ? "" : item->key);
    }
    if (!node)
        return false;
    node->is_list = node->is_list || is_list;
    node->met = NULL;
    heard->open[heard->depth++] = (struct heard_place){node, is_list};
    return true;
}

static bool hear_end(struct heard *heard)
{
    const struct heard_place *place = &heard->open[--heard->depth];
    struct heard_node *node = place->node;
    return heard->is_sample || !place->is_list || !node->list || add_end(heard, node, row_of(node->list));
}

void heard_item(void *context, const struct json_item *item)
{
    struct heard *heard = context;
    if (heard->failed || (item->type <= JSON_LIST && heard->depth > JSON_MAX_DEPTH))
        return;
    if (item->type == JSON_SAMPLE) {
        heard->is_sample = item->boolean;
        return;
    }
    bool done = item->type <= JSON_LIST  ? hear_open(heard, item)
                : item->type == JSON_END ? hear_end(heard)
                                         : hear_single(heard, item);
    heard->failed = !done;
}

/* ---- what is handed out ---- */

static double number_of(const struct json_item *cell)
{
    return cell->type == JSON_NUMBER    ? cell->number
           : cell->type == JSON_INTEGER ? (double)cell->integer
           : cell->type == JSON_BOOL    ? cell->boolean
                                        : NAN;
}

static const char *string_of(const struct json_item *cell, struct arena *arena)
{
    if (cell->type == JSON_STRING || cell->type == JSON_NULL)
        return cell->string;
    if (cell->type == JSON_BOOL)
        return cell->boolean ? "true" : "false";
    return arena_format(arena, "%.15g", number_of(cell));
}

static char type_of(const struct heard_node *node)
{
    bool has[JSON_NULL + 1] = {false};
    for (int i = 0; i < node->cell_count; i++)
        has[node->cells[i].type] = true;
    has[node->sample] = has[node->sample] || node->cell_count == 0 || node->sample == JSON_STRING;
    bool whole = has[JSON_INTEGER] && !has[JSON_NUMBER] && !has[JSON_NULL] && !has[JSON_BOOL];
    bool flags = has[JSON_BOOL] && !has[JSON_NUMBER] && !has[JSON_NULL] && !has[JSON_INTEGER];
    return has[JSON_STRING] ? 's' : whole ? 'q' : flags ? '?' : 'd';
}

/* The elements, as callers get them. NULL: memory is out. */
static const void *elements_of(const struct heard_node *node, char type, struct arena *arena)
{
    size_t count = (size_t)node->cell_count;
    void *made = arena_alloc(arena, count, type == '?' ? sizeof(bool) : sizeof(int64_t));
    for (size_t i = 0; made && i < count; i++) {
        const struct json_item *cell = &node->cells[i];
        if (type == 's')
            ((const char **)made)[i] = string_of(cell, arena);
        else if (type == 'q')
            ((int64_t *)made)[i] = cell->integer;
        else if (type == '?')
            ((bool *)made)[i] = cell->boolean;
        else
            ((double *)made)[i] = number_of(cell);
    }
    return made;
}

/* Elements of each list, by their ends; 0: they are not alike. */
static int64_t columns_of(const int64_t *ends, int64_t count)
{
    int64_t columns = count > 0 ? ends[0] : 0;
    for (int64_t i = 0; i < count; i++)
        if (ends[i] != columns * (i + 1))
            return 0;
    return columns;
}

/* Of a list of lists. */
static int64_t columns_of_node(const struct heard_node *node)
{
    return *node->key ? 0 : columns_of(node->ends, node->end_count);
}

static void add_values(struct heard *heard, const struct heard_node *node)
{
    char type = type_of(node);
    const void *elements = elements_of(node, type, &heard->handle->arena);
    int64_t columns = node->is_list ? columns_of_node(node) : 0;
    int size = type == '?' ? 1 : 8;
    heard->failed = heard->failed || !elements;
    if (columns > 0)
        api_add_table(heard->handle, node->name, type, elements, node->cell_count / columns, columns);
    else if (node->is_list || node->list)
        api_add_column(heard->handle, node->name, type, elements, node->cell_count, (size_t)size);
    else
        api_add(heard->handle, node->name, (struct rh_array){.data = elements, .type = type});
}

/* Of a list in a list: how many elements there are up to the end of each. Rows of a table need none. */
static void add_ends(struct heard *heard, const struct heard_node *node)
{
    struct arena *arena = &heard->handle->arena;
    const char *name = arena_format(arena, "%s.ends", node->name);
    int64_t *ends = ARENA_ARRAY(arena, (size_t)node->end_count, int64_t);
    heard->failed = heard->failed || !name || !ends;
    if (heard->failed || columns_of_node(node) > 0 || api_find(heard->handle, name))
        return;
    memcpy(ends, node->ends, (size_t)node->end_count * sizeof *ends);
    api_add_column(heard->handle, name, 'q', ends, node->end_count, sizeof *ends);
}

/* The deepest lists are not deeper than the writer of JSON goes. */
static void add_all(struct heard *heard, struct heard_node *node)
{
    const struct heard_node *list = node->is_list && !node->first ? node : node->list;
    bool has_values = node->cell_count > 0 || node->sample != JSON_MAP || (node->is_list && !node->first);
    if (node->is_list && node->list && node->end_count < node->list->items)
        heard->failed = !add_end(heard, node, node->list->items - 1) || heard->failed;
    if (has_values && !api_find(heard->handle, node->name)) {
        heard->failed = (list && !fill(heard, node, list->items)) || heard->failed;
        add_values(heard, node);
    }
    if (node->is_list && node->list)
        add_ends(heard, node);
    for (struct heard_node *child = node->first; child; child = child->next)
        add_all(heard, child);
}

/* Values that have a second name: all whose path begins as the row's. The first row counts. Lists in a list
 * whose second name is not below another are a table, where they are alike. */
static const struct {
    const char *format, *path, *name;
} second_names[] = {ROWS_second_name};

/* Of a value in a list's list: how many there are up to the end of each. NULL: it is in none. */
static const struct api_value *ends_of(struct heard *heard, const char *name)
{
    const char *last = strrchr(name, '.');
    const char *ends = last ? arena_format(&heard->arena, "%.*s.ends", (int)(last - name), name) : NULL;
    heard->failed = heard->failed || (last && !ends);
    return api_find(heard->handle, ends);
}

static void add_second_name(struct heard *heard, const char *format, struct api_value value)
{
    rh_handle *handle = heard->handle;
    for (size_t i = 0; i < sizeof second_names / sizeof *second_names; i++) {
        size_t length = strlen(second_names[i].path);
        if (strcmp(second_names[i].format, format) != 0 ||
            strncmp(second_names[i].path, value.name, length) != 0)
            continue;
        const char *name = arena_format(&handle->arena, "%s%s", second_names[i].name, value.name + length);
        heard->failed = heard->failed || !name;
        const struct api_value *ends = name && !strchr(name, '.') ? ends_of(heard, value.name) : NULL;
        int64_t columns = ends ? columns_of(ends->array.data, ends->array.shape[0]) : 0;
        if (name && !api_find(handle, name) && columns > 0)
            api_add_table(handle, name, value.array.type, value.array.data, ends->array.shape[0], columns);
        else if (name && !api_find(handle, name))
            api_add(handle, name, value.array);
        return;
    }
}

static void add_second_names(struct heard *heard)
{
    const struct heard_node *format = heard->root->first;
    int count = heard->handle->count;
    if (format && strcmp(format->key, "format") == 0 && format->cell_count == 1)
        for (int i = 0; i < count; i++)
            add_second_name(heard, format->cells[0].string, heard->handle->values[i]);
}

void heard_end(struct heard *heard)
{
    for (struct heard_node *node = heard->root ? heard->root->first : NULL; node && !heard->failed;
         node = node->next)
        if (strcmp(node->key, "format") != 0)
            add_all(heard, node);
    if (heard->root && !heard->failed)
        add_second_names(heard);
    if (heard->handle)
        heard->handle->failed = heard->handle->failed || heard->failed;
    arena_release(&heard->arena);
    heard->root = NULL;
}
