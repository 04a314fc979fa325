/* Scripts that write the configuration of their software into a here document, and then start it. */
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include <ctype.h>
#include <string.h>

/* Returns whether a text has the option as a word of its own; options in quotes are several. */
static bool holds_option(const char *text, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = text; (at = strstr(at, "--")) != NULL; at += 2) {
        char name[64];
        size_t own = strcspn(at + 2, "= \t\n");
        if ((at > text && !isspace((unsigned char)at[-1])) || own != length || own >= sizeof name)
            continue;
        memcpy(name, at + 2, own);
        name[own] = '\0';
        if (launch_same_name(name, option))
            return true;
    }
    return false;
}

bool launch_command_has(const struct shell_words *command, const char *option)
{
    for (int i = 0; i < command->count; i++)
        if (holds_option(command->items[i].text, option))
            return true;
    return false;
}

bool launch_has_option(const struct shell *shell, const char *option)
{
    for (int i = 0; i < shell->command_count; i++)
        if (launch_command_has(&shell->commands[i], option))
            return true;
    return false;
}

/* Returns a text without what stands before its first line: blanks, comments, and marks of lines. */
static const char *content(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text == SHELL_LINE && strchr(text, SHELL_END))
            text = strchr(text, SHELL_END) + 1;
        else if (*text == '#')
            text += strcspn(text, "\n");
        else
            return text;
    }
}

const struct shell_document *launch_find_document(const struct shell *shell, const char *begin,
                                                  const char *const *keys)
{
    for (int i = 0; i < shell->document_count; i++) {
        const char *text = shell->documents[i].text;
        bool all = text_starts_with(content(text), begin);
        for (const char *const *key = keys; all && *key; key++)
            all = strstr(text, *key) != NULL;
        if (all)
            return &shell->documents[i];
    }
    return NULL;
}

/* A value that is a variable without quotes is no value at all. */
static bool refuse_unknown(const struct shell_document *document, const struct shell_unknown *unknown,
                           struct error *err)
{
    if (unknown->name)
        return error_set(err, ERROR_USAGE,
                         "%s: %s is not set (%s:%d), and the configuration in the script needs it: add --set "
                         "%s=VALUE",
                         document->path, unknown->name, unknown->path, unknown->line, unknown->name);
    return error_set(err, ERROR_USAGE,
                     "%s: the output of %.100s (%s:%d) is unknown, and the configuration in the script needs "
                     "it: write it there",
                     document->path, unknown->text, unknown->path, unknown->line);
}

bool launch_parse_document(struct shell *shell, const struct shell_document *document, enum doc_syntax syntax,
                           struct doc *doc, struct error *err)
{
    struct text text = {0};
    const char *plain = shell_plain(&shell->arena, document->text);
    for (int line = 1; line < document->line; line++)
        text_add(&text, "\n");
    text_add(&text, plain ? plain : "");
    bool ok = (plain && !text.failed) || error_memory(err);
    if (ok && !doc_parse(doc, syntax, document->path, text.data ? text.data : "", text.length, err)) {
        const struct shell_unknown *unknown = shell_unknown_in(shell, plain);
        ok = unknown && !error_is_memory(err) && refuse_unknown(document, unknown, err);
    }
    text_release(&text);
    return ok;
}
