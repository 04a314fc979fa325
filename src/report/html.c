#include "report/html.h"
#include "plan/budget.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NONE "\xe2\x80\x93" /* U+2013: there is none */

static const char *escape_of(char byte)
{
    static const char *const escapes[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    return escapes[(unsigned char)byte];
}

static void add_escaped(struct text *out, const char *bytes, size_t length)
{
    size_t from = 0;
    for (size_t i = 0; i < length; i++) {
        const char *escape = escape_of(bytes[i]);
        if (!escape)
            continue;
        text_add_bytes(out, bytes + from, i - from);
        text_add(out, escape);
        from = i + 1;
    }
    text_add_bytes(out, bytes + from, length - from);
}

void html_text(struct text *out, const char *string)
{
    struct text plain = {0};
    text_add_printable(&plain, string, strlen(string), "\n\t");
    if (plain.failed)
        out->failed = true;
    else if (plain.data)
        add_escaped(out, plain.data, plain.length);
    text_release(&plain);
}

static void add_vformat(struct text *out, const char *format, va_list args)
{
    struct text plain = {0};
    text_vformat(&plain, format, args);
    if (plain.failed)
        out->failed = true;
    else if (plain.data)
        html_text(out, plain.data);
    text_release(&plain);
}

void html_format(struct text *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_vformat(out, format, args);
    va_end(args);
}

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte && strchr("-._~/", byte));
}

void html_address(struct text *out, const char *path)
{
    for (; *path; path++)
        if (is_plain(*path))
            text_add_bytes(out, path, 1);
        else
            text_format(out, "%%%02X", (unsigned char)*path);
}

static void open_element(struct text *out, const char *name, const char *class)
{
    text_format(out, "<%s", name);
    if (class)
        text_format(out, " class=\"%s\"", class);
    text_add(out, ">");
}

void html_element(struct text *out, const char *name, const char *class, const char *format, ...)
{
    va_list args;
    open_element(out, name, class);
    va_start(args, format);
    add_vformat(out, format, args);
    va_end(args);
    text_format(out, "</%s>\n", name);
}

void html_base64(struct text *out, const unsigned char *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        const char quad[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                              left > 1 ? digits[bits >> 6 & 63] : '=', left > 2 ? digits[bits & 63] : '='};
        text_add_bytes(out, quad, 4);
    }
}

void html_image(struct text *out, const char *type, const char *data, size_t length, const char *alternative)
{
    text_format(out, "<img src=\"data:%s;base64,", type);
    html_base64(out, (const unsigned char *)data, length);
    text_add(out, "\" alt=\"");
    html_text(out, alternative);
    text_add(out, "\">\n");
}

void html_data(struct text *out, const char *id, const struct text *json)
{
    text_format(out, "<script type=\"application/json\" class=\"data\" id=\"%s\">", id);
    for (const char *at = json->data; at && *at;) {
        size_t length = strcspn(at, "<");
        text_add_bytes(out, at, length);
        at += length;
        text_add(out, *at ? "\\u003c" : "");
        at += *at != '\0';
    }
    text_add(out, "</script>\n");
    out->failed |= json->failed;
}

/* ---- tables ---- */

/* Ends a tag with the tip of a title, "low TAB share of …", if it has one; and adds the title. */
static void add_title(struct text *out, const char *title)
{
    int length = (int)strcspn(title, "\t");
    if (title[length]) {
        text_add(out, " title=\"");
        html_text(out, title + length + 1);
        text_add(out, "\"");
    }
    text_add(out, ">");
    html_format(out, "%.*s", length, title);
}

void html_table(struct text *out, const char *caption, const char *const *titles)
{
    // Wide tables are scrolled on small windows, with the keyboard as well.
    text_add(out, "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"");
    html_text(out, caption ? caption : "Table");
    text_add(out, "\"><table>\n");
    if (caption) {
        text_add(out, "<caption>");
        html_text(out, caption);
        text_add(out, "</caption>\n");
    }
    text_add(out, "<thead><tr>");
    for (; *titles; titles++) {
        text_add(out, **titles == '>' ? "<th scope=\"col\" class=\"n\"" : "<th scope=\"col\"");
        add_title(out, *titles + 1);
        text_add(out, "</th>");
    }
    text_add(out, "</tr></thead>\n<tbody>\n");
}

void html_table_end(struct text *out)
{
    text_add(out, "</tbody></table></div>\n");
}

void html_number(struct text *out, enum html_kind kind, double value)
{
    char grouped[48];
    struct unit_texts texts = {0};
    bool long_time = kind == HTML_TIME && fabs(value) >= 1e4;
    if (kind == HTML_EXACT) /* what rounding leaves of 0 is 0 */
        value = round(1e8 * value) / 1e8;
    if (kind == HTML_MONEY)
        budget_print_dollars(value, out);
    else if (kind == HTML_SHARE)
        text_format(out, fabs(value) < 1e9 ? "%.1f %%" : "%.3g %%", 100 * value);
    else if (kind > HTML_SHARE)
        text_add(out,
                 unit_text(&texts, value, long_time ? UNIT_DURATION : (enum unit_kind)(kind - HTML_BYTES)));
    else if (fabs(value) >= 1e18 || (kind == HTML_GENERAL && fabs(value) < 1e4))
        text_format(out, "%.4g", value);
    else
        text_add(out, html_grouped(grouped, value));
}

void html_cell(struct text *out, struct html_cell cell)
{
    bool is_number = cell.kind > HTML_BARS, is_head = cell.kind == HTML_HEAD;
    text_add(out, is_head                  ? "<th scope=\"row\">"
                  : is_number              ? "<td class=\"n\">"
                  : cell.kind == HTML_BARS ? "<td class=\"bars\">"
                                           : "<td>");
    if (cell.kind == HTML_BARS)
        html_bar(out, cell.parts, cell.part_count, cell.number);
    else if (is_number && isfinite(cell.number))
        html_number(out, cell.kind, cell.number);
    else
        html_text(out, cell.text ? cell.text : NONE);
    text_add(out, is_head ? "</th>" : "</td>");
}

void html_row(struct text *out, const struct html_cell *cells)
{
    text_add(out, "<tr>");
    for (; cells->kind != HTML_END; cells++)
        html_cell(out, *cells);
    text_add(out, "</tr>\n");
}

char *html_grouped(char buffer[48], double value)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(value) < 1e18 ? fabs(value) : 1e18), at = 0;
    if (value <= -0.5)
        buffer[at++] = '-';
    for (int i = 0; i < length; i++) {
        buffer[at++] = digits[i];
        if ((length - 1 - i) % 3 == 0 && i + 1 < length)
            buffer[at++] = ',';
    }
    buffer[at] = '\0';
    return buffer;
}

/* ---- key numbers ---- */

void html_facts(struct text *out)
{
    text_add(out, "<dl class=\"facts\">\n");
}

void html_facts_end(struct text *out)
{
    text_add(out, "</dl>\n");
}

static void begin_fact(struct text *out, const char *name)
{
    text_add(out, "<div><dt");
    add_title(out, name);
    text_add(out, "</dt><dd>");
}

void html_fact(struct text *out, const char *name, const char *format, ...)
{
    va_list args;
    begin_fact(out, name);
    va_start(args, format);
    add_vformat(out, format, args);
    va_end(args);
    text_add(out, "</dd></div>\n");
}

void html_fact_quantity(struct text *out, const char *name, double value, enum unit_kind kind)
{
    struct unit_texts texts = {0};
    if (isfinite(value))
        html_fact(out, name, "%s", unit_text(&texts, value, kind));
}

void html_fact_share(struct text *out, const char *name, double value)
{
    if (isfinite(value))
        html_fact(out, name, "%.1f %%", 100 * value);
}

/* ---- bars ---- */

#define BAR_WIDTH 100.0 /* of the drawing; the page stretches it */

static void describe_bar(struct text *out, const struct html_part *parts, int count, double whole)
{
    const char *comma = "";
    for (int i = 0; i < count; i++)
        if (parts[i].value > 0) {
            html_format(out, "%s%s %.1f %%", comma, parts[i].name, 100 * parts[i].value / whole);
            comma = ", ";
        }
}

void html_bar(struct text *out, const struct html_part *parts, int count, double whole)
{
    double from = 0;
    if (!isfinite(whole) || whole <= 0)
        return;
    text_add(out, "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" "
                  "aria-label=\"");
    describe_bar(out, parts, count, whole);
    text_add(out, "\">");
    for (int i = 0; i < count; i++) {
        double width = parts[i].value > 0 ? fmin(BAR_WIDTH * parts[i].value / whole, BAR_WIDTH - from) : 0;
        if (!isfinite(width) || width <= 0)
            continue;
        text_format(out, "<rect x=\"%.3f\" width=\"%.3f\" height=\"10\" class=\"c%d\"/>", from, width,
                    parts[i].colour % (HTML_IDLE + 1));
        from += width;
    }
    text_add(out, "</svg>");
}

void html_legend(struct text *out, const struct html_part *parts, int count, double whole)
{
    text_add(out, "<ul class=\"legend\">");
    for (int i = 0; i < count; i++) {
        if (whole > 0 && !(parts[i].value > 0))
            continue;
        text_format(out,
                    "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" "
                    "class=\"c%d\"/></svg>",
                    parts[i].colour % (HTML_IDLE + 1));
        html_text(out, parts[i].name);
        if (whole > 0)
            html_format(out, " %.1f %%", 100 * parts[i].value / whole);
        text_add(out, "</li>");
    }
    text_add(out, "</ul>\n");
}

void html_bar_and_legend(struct text *out, const struct html_part *parts, int count, double whole)
{
    text_add(out, "<p>");
    html_bar(out, parts, count, whole);
    text_add(out, "</p>");
    html_legend(out, parts, count, whole);
}
