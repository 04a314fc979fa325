#include "report/report.h"
#include "core/doc.h"
#include "core/file.h"
#include "report/folder.h"
#include "report/page.h"
#include "report/parts.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 200 /* files of no kind that are named one by one */

static const char *const group_titles[REPORT_GROUPS] = {
    "Plans",
    "Sweeps",
    "Costs and profiles",
    "Predicted and measured",
    "Data sets",
    "Storage runs",
    "Traces",
    "Comparisons",
    "Steps",
    "Figures",
    "Inputs",
};

/* A file on its way into the page. */
struct item {
    const struct folder_file *file;
    const struct report_kind *kind;
    const char *problem;
    struct report_part part; /* empty with a problem */
};

/* The page at work. */
struct builder {
    const struct report_options *options;
    struct report *report;
    struct folder folder;
    struct item *items;
    size_t *order;     /* indexes of items by group, in each as the folder has them */
    const char *links; /* from the page's folder to this one: "" or "../runs/" */
    size_t shown, bytes;
    bool has_planner;
};

/* ---- one file ---- */

static bool unknown_document(const struct doc *doc, struct error *err)
{
    const struct doc_node *map = doc->root->type == DOC_LIST ? doc->root->first_child : doc->root;
    const char *format = report_string(map, "format");
    if (format)
        return error_set(err, ERROR_INPUT, "unknown format '%s'", format);
    return error_set(err, ERROR_INPUT, "not a document that rehearse writes: no 'format'");
}

/* Sets item->kind first, so that a fault in the content leaves it known. */
static bool write_document(struct item *item, struct report_part *part, struct error *err)
{
    struct doc doc;
    char *data;
    size_t length;
    if (!file_read(part->full, DOC_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = doc_parse(&doc, doc_syntax_of(part->path), part->path, data, length, err);
    free(data);
    if (!ok)
        return false;
    part->doc = &doc;
    item->kind = report_kind_of_doc(&doc);
    ok = item->kind ? !item->kind->write || (item->kind->write(part, err) && report_tell(part, err))
                    : unknown_document(&doc, err);
    part->doc = NULL;
    doc_release(&doc);
    return ok;
}

static bool write_file(struct item *item, struct report_part *part, struct error *err)
{
    item->kind = report_kind_of_ending(part->path);
    if (item->kind)
        return !item->kind->write || item->kind->write(part, err);
    if (text_ends_with(part->path, "/"))
        return error_set(err, ERROR_INPUT, "a folder two levels down: not read");
    return !doc_is_name(part->path) || write_document(item, part, err);
}

/* Copies a message without the path of the folder, on which the page does not depend, and without the path of the file,
 * which stands before it anyway. */
static const char *shorten(const struct builder *builder, const char *path, const char *message)
{
    struct text text = {0};
    const char *folder = builder->options->folder, *copy = NULL;
    size_t length = strlen(folder), name = strlen(path);
    while (*message)
        if (strncmp(message, folder, length) == 0 && message[length] == '/')
            message += length + 1;
        else
            text_add_bytes(&text, message++, 1);
    if (text.data && !text.failed) {
        bool named = strncmp(text.data, path, name) == 0 && strncmp(text.data + name, ": ", 2) == 0;
        copy = arena_string(&builder->report->arena, text.data + (named ? name + 2 : 0));
    }
    text_release(&text);
    return copy;
}

static bool fits(struct builder *builder, const struct report_part *part, struct error *err)
{
    size_t length = part->out.length + part->data.length;
    if (length == 0)
        return true;
    if (builder->shown == REPORT_MAX_SECTIONS)
        return error_set(err, ERROR_INPUT, "not shown: the page has %d files already", REPORT_MAX_SECTIONS);
    if (length > REPORT_MAX_PAGE - builder->bytes)
        return error_set(err, ERROR_INPUT, "not shown: the page would exceed %zu MiB", REPORT_MAX_PAGE >> 20);
    builder->shown++;
    builder->bytes += length;
    return true;
}

/* Writes the section of one file; a fault of the file becomes the item's problem. False: out of memory. */
static bool take(struct builder *builder, struct item *item, struct error *err)
{
    struct report_part *part = &item->part;
    struct error why;
    *part = (struct report_part){.path = item->file->path,
                                 .index = (size_t)(item - builder->items),
                                 .file = item->file->path,
                                 .has_planner = builder->has_planner};
    if (item->file->reason) {
        item->problem = shorten(builder, part->path, item->file->reason);
        return item->problem || error_memory(err);
    }
    part->full = arena_format(&builder->report->arena, "%s/%s", builder->options->folder, part->path);
    if (!part->full)
        return error_memory(err);
    bool ok = write_file(item, part, &why) && fits(builder, part, &why);
    bool failed = report_part_failed(part) || (!ok && error_is_memory(&why));
    if (!ok && !failed) {
        item->problem = shorten(builder, part->path, why.text);
        failed = !item->problem;
    }
    builder->has_planner |= ok && part->has_planner;
    if (!ok)
        report_part_release(part);
    return !failed || error_memory(err);
}

/* ---- the page ---- */

static enum report_group group_of(const struct item *item)
{
    return item->kind && item->part.out.length > 0 ? item->kind->group : REPORT_LINKED;
}

static void add_link(const struct builder *builder, const char *path, struct text *page)
{
    text_add(page, "<a href=\"");
    html_address(page, builder->links);
    html_address(page, path);
    text_add(page, "\">");
    html_text(page, path);
    text_add(page, "</a>");
}

/* Whether the item at a place of the order is the first of its group. */
static bool begins_group(const struct builder *builder, size_t place)
{
    return place == 0 || group_of(&builder->items[builder->order[place]]) !=
                             group_of(&builder->items[builder->order[place - 1]]);
}

static void write_contents(const struct builder *builder, struct text *page)
{
    bool open = false;
    text_add(page, "<nav aria-label=\"Contents\">\n<ol>\n<li><a href=\"#answers\">Answers</a></li>\n");
    for (size_t place = 0; place < builder->folder.count; place++) {
        const struct item *item = &builder->items[builder->order[place]];
        enum report_group group = group_of(item);
        if (group == REPORT_LINKED)
            break;
        if (begins_group(builder, place))
            text_format(page, "%s<li><a href=\"#g%d\">%s</a><ol>\n", open ? "</ol></li>\n" : "", (int)group,
                        group_titles[group]);
        open = true;
        text_format(page, "<li><a href=\"#f%zu\">", builder->order[place]);
        html_text(page, item->file->path);
        text_add(page, "</a></li>\n");
    }
    text_format(page, "%s<li><a href=\"#files\">Files</a></li>\n</ol>\n</nav>\n<main>\n",
                open ? "</ol></li>\n" : "");
}

/* The answers of all sections that have one. */
static void write_answers(const struct builder *builder, struct text *page)
{
    static const char *const titles[] = {"<file", "<what", "<asked", "<answer", "<how sure", NULL};
    bool any = false;
    for (size_t place = 0; place < builder->folder.count; place++) {
        size_t i = builder->order[place];
        const struct item *item = &builder->items[i];
        const struct report_part *part = &item->part;
        if (item->problem || part->asked.length + part->says.length == 0)
            continue;
        if (!any)
            html_table(page, NULL, titles);
        any = true;
        text_format(page, "<tr><th scope=\"row\"><a href=\"#f%zu\">", i);
        html_text(page, item->file->path);
        text_add(page, "</a></th>");
        html_cell(page, cell_text(item->kind->name));
        html_cell(page, cell_text(part->asked.data));
        html_cell(page, cell_text(part->says.data));
        html_cell(page, cell_text(part->sure.data));
        text_add(page, "</tr>\n");
    }
    if (any)
        html_table_end(page);
}

static void write_file_row(const struct builder *builder, size_t i, struct text *page)
{
    const struct item *item = &builder->items[i];
    text_add(page, "<tr><th scope=\"row\">");
    add_link(builder, item->file->path, page);
    text_add(page, "</th>");
    html_cell(page, cell_text(item->kind ? item->kind->name : "other"));
    html_cell(page, cell_number(HTML_BYTES, (double)item->file->size));
    text_add(page, "</tr>\n");
}

/* Files in the order of the page; files that were not understood have a table of their own. */
static void write_files(const struct builder *builder, struct text *page)
{
    static const char *const titles[] = {"<file", "<what", ">size", NULL};
    size_t others = 0;
    double bytes = 0;
    html_table(page, NULL, titles);
    for (size_t place = 0; place < builder->folder.count; place++) {
        const struct item *item = &builder->items[builder->order[place]];
        if (item->problem)
            continue;
        if (item->kind || others++ < MAX_LINES)
            write_file_row(builder, builder->order[place], page);
        else
            bytes += (double)item->file->size;
    }
    html_table_end(page);
    if (others > MAX_LINES) {
        struct unit_texts texts = {0};
        html_element(page, "p", "soft", "And %zu files of unknown kinds, %s.", others - MAX_LINES,
                     unit_text(&texts, bytes, UNIT_BYTES));
    }
}

static size_t count_problems(const struct builder *builder)
{
    size_t count = 0;
    for (size_t i = 0; i < builder->folder.count; i++)
        count += builder->items[i].problem != NULL;
    return count;
}

static void write_problems(const struct builder *builder, struct text *page)
{
    static const char *const titles[] = {"<file", "<why", NULL};
    if (count_problems(builder) == 0)
        return;
    text_add(page, "<section class=\"problems\" id=\"problems\">\n<h3>Not recognised or not read</h3>\n");
    html_table(page, NULL, titles);
    for (size_t i = 0; i < builder->folder.count; i++) {
        const struct item *item = &builder->items[i];
        if (!item->problem)
            continue;
        text_add(page, "<tr><th scope=\"row\">");
        add_link(builder, item->file->path, page);
        text_add(page, "</th>");
        html_cell(page, cell_text(item->problem));
        text_add(page, "</tr>\n");
    }
    html_table_end(page);
    text_add(page, "</section>\n");
}

static void write_section(const struct builder *builder, size_t i, struct text *page)
{
    const struct item *item = &builder->items[i];
    text_format(page, "<section id=\"f%zu\">\n", i);
    text_add(page, "<h3>");
    add_link(builder, item->file->path, page);
    text_add(page, " <span class=\"kind\">");
    html_text(page, item->kind->name);
    text_add(page, "</span></h3>\n");
    report_verdict(&item->part, page);
    text_add_bytes(page, item->part.out.data, item->part.out.length);
    text_add(page, "</section>\n");
}

static const char *title_of(const struct builder *builder, char *folder)
{
    if (builder->options->title)
        return builder->options->title;
    return realpath(builder->options->folder, folder) ? basename(folder) : builder->options->folder;
}

static void write_page(const struct builder *builder, struct text *page)
{
    char folder[PATH_MAX];
    const char *title = title_of(builder, folder);
    size_t problems = count_problems(builder);
    report_page_begin(page, title, "frame");
    write_contents(builder, page);
    html_element(page, "h1", NULL, "%s", title);
    html_element(page, "p", "soft", "%zu files, of which %zu are shown and %zu only linked%s",
                 builder->folder.count, builder->shown, builder->folder.count - builder->shown - problems,
                 problems > 0 ? "; the others could not be recognised or read:" : ".");
    write_problems(builder, page);
    text_add(page, "<section id=\"answers\">\n");
    write_answers(builder, page);
    text_add(page, "</section>\n");
    for (size_t place = 0; place < builder->folder.count; place++) {
        size_t i = builder->order[place];
        enum report_group group = group_of(&builder->items[i]);
        if (group == REPORT_LINKED)
            break;
        if (begins_group(builder, place))
            text_format(page, "<h2 id=\"g%d\">%s</h2>\n", (int)group, group_titles[group]);
        write_section(builder, i, page);
    }
    text_add(page, "<section id=\"files\">\n<h2>Files</h2>\n");
    write_files(builder, page);
    text_add(page, "</section>\n");
    report_page_close(page, "Links lead to the files beside this page; the page itself needs nothing else.");
    for (size_t i = 0; i < builder->folder.count; i++)
        text_add(page, text_within(&builder->items[i].part.data, page));
    if (builder->has_planner)
        report_page_planner(page);
    report_page_end(page);
}

/* ---- all of it ---- */

/* The way from the folder `from` to the folder `to`, both absolute, with a '/' at the end where it is not empty. */
static void relative_way(const char *from, const char *to, struct text *way)
{
    size_t same = 0, i = 0;
    for (; from[i] && from[i] == to[i]; i++)
        if (from[i] == '/')
            same = i;
    if ((!from[i] || from[i] == '/') && (!to[i] || to[i] == '/'))
        same = i;
    for (const char *rest = from + same; *rest; rest++)
        if (*rest == '/' && rest[1])
            text_add(way, "../");
    to += same;
    to += *to == '/';
    if (*to)
        text_format(way, "%s/", to);
}

static bool find_links(struct builder *builder, struct error *err)
{
    char folder[PATH_MAX], page[PATH_MAX];
    struct text way = {0};
    builder->links = "";
    if (!builder->options->output || strcmp(builder->options->output, "-") == 0)
        return true;
    char *copy = strdup(builder->options->output);
    if (!copy)
        return error_memory(err);
    errno = 0;
    bool known = realpath(dirname(copy), page) && realpath(builder->options->folder, folder);
    free(copy);
    if (!known)
        return errno != ENOMEM || error_memory(err); /* that the page cannot be written is told when it is */
    relative_way(page, folder, &way);
    builder->links = way.failed ? NULL : arena_string(&builder->report->arena, way.data ? way.data : "");
    text_release(&way);
    return builder->links || error_memory(err);
}

/* Lists the entries in the order of the page. */
static bool list_entries(struct builder *builder, struct error *err)
{
    struct report *report = builder->report;
    report->entries = ARENA_ARRAY(&report->arena, builder->folder.count, struct report_entry);
    for (size_t i = 0; report->entries && i < builder->folder.count; i++) {
        const struct item *item = &builder->items[builder->order[i]];
        const char *path = arena_string(&report->arena, item->file->path);
        if (!path)
            break;
        report->entries[report->count++] =
            (struct report_entry){path, item->kind ? item->kind->name : NULL, item->problem};
    }
    return report->count == builder->folder.count || error_memory(err);
}

static void sort_items(struct builder *builder)
{
    size_t count = 0;
    for (int group = 0; group <= REPORT_LINKED; group++)
        for (size_t i = 0; i < builder->folder.count; i++)
            if ((int)group_of(&builder->items[i]) == group)
                builder->order[count++] = i;
}

static bool write_sections(struct builder *builder, struct error *err)
{
    const char *path = builder->options->folder;
    size_t count = builder->folder.count;
    bool understood = false;
    if (count == 0)
        return error_set(err, ERROR_INPUT, "%s: this folder contains nothing to report", path);
    builder->items = ARENA_ARRAY(&builder->report->arena, count, struct item);
    builder->order = ARENA_ARRAY(&builder->report->arena, count, size_t);
    if (!builder->items || !builder->order)
        return error_memory(err);
    if (!find_links(builder, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        builder->items[i].file = &builder->folder.files[i];
        if (!take(builder, &builder->items[i], err))
            return false;
        understood |= builder->items[i].kind != NULL;
    }
    const struct item *first = &builder->items[0];
    if (!understood)
        return error_set(err, ERROR_INPUT, "%s: none of the %zu files can be reported: %s%s%s", path, count,
                         first->file->path, first->problem ? ": " : "", first->problem ? first->problem : "");
    sort_items(builder);
    write_page(builder, &builder->report->page);
    return (!builder->report->page.failed || error_memory(err)) && list_entries(builder, err);
}

bool report_make(struct report *report, const struct report_options *options, struct error *err)
{
    struct builder builder = {.options = options, .report = report};
    memset(report, 0, sizeof *report);
    if (!folder_read(&builder.folder, options->folder, options->output, err))
        return false;
    bool ok = write_sections(&builder, err);
    for (size_t i = 0; builder.items && i < builder.folder.count; i++)
        report_part_release(&builder.items[i].part);
    folder_release(&builder.folder);
    if (!ok)
        report_release(report);
    return ok;
}

void report_release(struct report *report)
{
    text_release(&report->page);
    arena_release(&report->arena);
    memset(report, 0, sizeof *report);
}
