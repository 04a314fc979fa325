/* Functions that the writers of sections share. */
#include "report/parts.h"

#include "core/file.h"
#include "core/json.h"
#include "figure/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The texts of a part. */
static struct text *text_of(struct report_part *part, int i)
{
    struct text *const all[] = {&part->out, &part->asked, &part->says, &part->sure, &part->next, &part->data};
    return i < (int)(sizeof all / sizeof *all) ? all[i] : NULL;
}

void report_part_release(struct report_part *part)
{
    for (int i = 0; text_of(part, i); i++)
        text_release(text_of(part, i));
}

bool report_part_failed(struct report_part *part)
{
    bool failed = false;
    for (int i = 0; text_of(part, i); i++)
        failed |= text_of(part, i)->failed;
    return failed;
}

const struct doc_node *report_find(const struct doc_node *map, const char *keys)
{
    char key[64];
    size_t length = strcspn(keys, "/");
    snprintf(key, sizeof key, "%.*s", (int)length, keys);
    map = map && map->type == DOC_MAP ? doc_find(map, key) : NULL;
    return keys[length] ? report_find(map, keys + length + 1) : map;
}

double report_number(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = report_find(map, key);
    return node && node->type == DOC_NUMBER ? node->number : NAN;
}

const char *report_string(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = report_find(map, key);
    return node && node->type == DOC_STRING ? node->text : NULL;
}

bool report_flag(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = report_find(map, key);
    return node && node->type == DOC_BOOL && node->boolean;
}

const struct doc_node *report_list(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = report_find(map, key);
    return node && node->type == DOC_LIST && node->count > 0 ? node : NULL;
}

/* ---- tables ---- */

void report_table_begin(struct text *out, const char *caption, const struct report_column *columns)
{
    const char *titles[REPORT_MAX_COLUMNS + 1] = {NULL};
    for (int i = 0; columns[i].title; i++)
        titles[i] = columns[i].title;
    html_table(out, caption, titles);
}

void report_row(struct text *out, const struct report_column *columns, const struct doc_node *map,
                report_cell *add)
{
    text_add(out, "<tr>");
    for (; columns->title; columns++)
        if (columns->kind == HTML_END)
            add(out, columns, map);
        else
            html_cell(out, (struct html_cell){.kind = columns->kind,
                                              .text = report_string(map, columns->key),
                                              .number = report_number(map, columns->key)});
    text_add(out, "</tr>\n");
}

void report_more(struct text *out, int64_t count, int64_t shown, const char *noun)
{
    if (count > shown)
        html_element(out, "p", "soft", "And %" PRId64 " more %s in the file.", count - shown, noun);
}

void report_table(struct text *out, const char *caption, const struct report_column *columns,
                  const struct doc_node *list, const char *noun, report_cell *add)
{
    int rows = 0;
    if (!list)
        return;
    report_table_begin(out, caption, columns);
    for (const struct doc_node *map = list->first_child; map && rows < REPORT_MAX_ROWS;
         map = map->next, rows++)
        report_row(out, columns, map, add);
    html_table_end(out);
    report_more(out, list->count, REPORT_MAX_ROWS, noun);
}

/* ---- pictures ---- */

void report_figure(struct report_part *part, const char *draw, const struct text *json, const char *caption)
{
    char id[48];
    snprintf(id, sizeof id, "d%zu-%d", part->index, part->pictures++);
    html_data(&part->data, id, json);
    text_format(&part->out, "<figure class=\"draw\" data-draw=\"%s\" data-from=\"%s\">\n", draw, id);
    if (caption)
        html_element(&part->out, "figcaption", NULL, "%s", caption);
    text_add(&part->out, "<div class=\"static\">\n");
}

void report_figure_end(struct report_part *part)
{
    text_add(&part->out, "</div>\n</figure>\n");
}

void report_add_drawing(struct report_part *part, const struct report_drawing *drawing)
{
    report_figure(part, drawing->draw, &drawing->json, drawing->caption);
    text_add(&part->out, text_within(&drawing->table, &part->out));
    report_figure_end(part);
}

static void write_axis(struct json *json, const char *key, const char *title, const char *unit)
{
    json_open_flat(json, key, '{');
    json_string(json, "title", title);
    json_string(json, "unit", unit ? unit : "");
    json_bool(json, "log", false);
}

static void write_values(struct json *json, const char *key, const double *values, int count)
{
    json_open_flat(json, key, '[');
    for (int i = 0; i < count; i++)
        json_number(json, NULL, (double)(float)values[i]); /* for the eye: seven digits */
    json_close(json);
}

void report_draw_lines(struct report_drawing *drawing, const struct figure_sweep *lines)
{
    struct json json = {.out = &drawing->json};
    drawing->draw = "curve";
    drawing->caption = lines->title;
    json_open_flat(&json, NULL, '{');
    write_axis(&json, "y", lines->y_title, lines->y_unit);
    json_close(&json);
    write_axis(&json, "x", lines->x_title, lines->x_unit);
    if (lines->x)
        write_values(&json, "values", lines->x, lines->point_count);
    json_close(&json);
    json_open_flat(&json, "lines", '[');
    for (int i = 0; i < lines->line_count; i++) {
        const struct figure_line *line = &lines->lines[i];
        json_open_flat(&json, NULL, '{');
        json_string(&json, "name", line->title);
        if (line->x)
            write_values(&json, "x", line->x, line->count);
        write_values(&json, "y", line->values, line->x ? line->count : lines->point_count);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static void add_figure(struct report_part *part, const char *type, const char *data, size_t length,
                       const char *alternative)
{
    text_add(&part->out, "<figure class=\"wide\">\n");
    html_image(&part->out, type, data, length, alternative);
    text_add(&part->out, "</figure>\n");
}

static bool picture(struct report_part *part, const char *type, const char *magic, size_t magic_length,
                    struct error *err)
{
    char *data;
    size_t length;
    if (!file_read(part->full, REPORT_MAX_PICTURE, &data, &length, err))
        return false;
    bool ok = length >= magic_length &&
              (magic ? memcmp(data, magic, magic_length) == 0 : memmem(data, length, "<svg", 4) != NULL);
    if (ok)
        add_figure(part, type, data, length, part->path);
    else
        error_set(err, ERROR_INPUT, "%s: it is no %s picture", part->path, magic ? "PNG" : "SVG");
    free(data);
    return ok;
}

bool report_svg(struct report_part *part, struct error *err)
{
    return picture(part, "image/svg+xml", NULL, 4, err);
}

bool report_png(struct report_part *part, struct error *err)
{
    return picture(part, "image/png", "\x89PNG\r\n\x1a\n", 8, err);
}
