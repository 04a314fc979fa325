/* Values of arguments: numbers, switches and words, as the tables of data/software say which a setting takes. */
#include "launch/read/read.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_NUMBER INT64_C(1000000000)

/* ---- texts ---- */

static bool is_one_of(const char *value, const char *const *words)
{
    while (*words && strcasecmp(value, *words) != 0)
        words++;
    return *words;
}

bool launch_is_off(const char *value)
{
    static const char *const off[] = {"",  "0",  "0.0", "null", "none", "false",
                                      "~", "no", "off", "f",    "n",    NULL};
    return value && is_one_of(value, off);
}

/* Returns whether a value says yes: "true", "1", "on", …, or none at all, as a switch has it. */
static bool is_true(const char *value)
{
    static const char *const on[] = {"1", "1.0", "true", "yes", "on", "t", "y", NULL};
    return !value || is_one_of(value, on);
}

bool launch_number(const char *text, int64_t min, int64_t *value)
{
    char digits[32], *end;
    size_t length = 0;
    for (; *text && length + 1 < sizeof digits; text++)
        if (*text != '_')
            digits[length++] = *text;
    digits[length] = '\0';
    errno = 0;
    double number = strtod(digits, &end);
    if (*text || end == digits || errno != 0 || !(number >= (double)min && number <= (double)MAX_NUMBER))
        return false;
    bool whole =
        *end == '\0' && strspn(digits, "0123456789.eE+-") == length && number == (double)(int64_t)number;
    if (whole)
        *value = (int64_t)number;
    return whole;
}

/* ---- rules ---- */

static struct launch_value *value_at(struct launch_options *options, const struct launch_rule *rule)
{
    return (struct launch_value *)(void *)((char *)options + rule->at);
}

/* No value, as YAML, JSON and Python write it. */
static bool is_none(const char *value)
{
    static const char *const none[] = {"null", "none", "~", NULL};
    return value && is_one_of(value, none);
}

/* Does a word of a rule stand for a value? */
static bool is_word(const char *word, size_t length, const char *value, size_t size)
{
    bool any = length > 0 && word[length - 1] == '*';
    length -= any;
    return (any ? size >= length : size == length) && strncasecmp(word, value, length) == 0;
}

static bool is_other(const struct launch_rule *rule, const char *value)
{
    bool found = false;
    for (const char *word = rule->others; word && value && *word && !found;) {
        size_t length = strcspn(word, "|");
        found = is_word(word, length, value, strlen(value));
        word += length + (word[length] != '\0');
    }
    return found;
}

/* Is a row one of a rule's words? */
static bool is_row(const struct launch_rule *rule, const struct launch_rule *row,
                   const struct launch_rule *end)
{
    return row < end && row->kind == RULE_WORD && launch_same_name(row->name, rule->name);
}

/* Says what a rule expects instead of the value. Returns false. */
static bool refuse_value(const struct launch_rule *rule, const struct launch_rule *end,
                         const struct launch_argument *argument, struct error *err)
{
    struct text expected = {0};
    if (rule->kind == RULE_NUMBER || rule->kind == RULE_COUNT)
        text_format(&expected, "a whole number from %d to %" PRId64, rule->kind == RULE_NUMBER, MAX_NUMBER);
    else if (rule->kind != RULE_WORD)
        text_add(&expected, rule->kind == RULE_SHARE     ? "a number from 0 to 1"
                            : rule->kind == RULE_REAL    ? "a number above 0"
                            : rule->kind == RULE_WHOLE   ? "a whole number"
                            : rule->kind == RULE_DECIMAL ? "a number"
                                                         : "true or false");
    for (const struct launch_rule *row = rule; is_row(rule, row, end); row++)
        if (row == rule || row->word != row[-1].word)
            text_format(&expected, "%s%s", row > rule ? ", " : "one of ", row->word);
    for (const char *word = rule->others; word && *word; word += *word == '|') {
        text_format(&expected, "%s%.*s", expected.length > 0 ? " or " : "", (int)strcspn(word, "|"), word);
        word += strcspn(word, "|");
    }
    bool lists = rule->kind == RULE_NUMBER && argument->value && strchr(argument->value, ' ');
    launch_refuse(
        argument, err, "expected %s, found '%s'%s", expected.data ? expected.data : "",
        argument->value ? argument->value : "",
        lists ? ": a value for each layer (such as a pyramid MoE's numbers of experts) is not priced" : "");
    bool failed = expected.failed;
    text_release(&expected);
    return failed ? error_memory(err) : false;
}

/* Is a word a number of any sign? Options of commands take no fraction for a whole one, not even 2.0. */
static bool is_signed(const struct launch_rule *rule, const struct launch_argument *argument, const char *at,
                      size_t length)
{
    static const char *const odd[] = {"inf", "-inf", "nan", NULL};
    static const char *const truths[] = {"true", "false", NULL}; /* 1 and 0 of YAML */
    char word[64];
    size_t used = 0;
    double real;
    for (size_t i = 0; i < length && used + 1 < sizeof word; i++)
        if (at[i] != '_')
            word[used++] = at[i];
    word[used] = '\0';
    bool shell = argument->name[0] == '-' && strspn(word, "+-0123456789") < used;
    return is_other(rule, word) || (argument->name[0] != '-' && is_one_of(word, truths)) ||
           (rule->kind == RULE_DECIMAL && is_one_of(word, odd)) ||
           (text_real(word, &real) &&
            (rule->kind == RULE_DECIMAL || (!shell && fabs(real) < 1e19 && real == floor(real))));
}

/* Reads a word, or the words of a list, of a setting that sets nothing. */
static bool fits_each(const struct launch_rule *rule, const struct launch_argument *argument)
{
    static const char between[] = " ,[]()'\"";
    for (const char *at = argument->value; *at;) {
        at += rule->is_list ? strspn(at, between) : 0;
        size_t length = rule->is_list ? strcspn(at, between) : strlen(at);
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        if (length > 0 &&
            (length >= sizeof word ||
             !(rule->kind == RULE_WORD ? is_other(rule, word) : is_signed(rule, argument, word, length))))
            return false;
        at += length;
    }
    return true;
}

static bool read_number(struct launch_options *options, const struct launch_rule *rule,
                        const struct launch_argument *argument)
{
    int64_t number;
    double real;
    if (rule->kind == RULE_SHARE || rule->kind == RULE_REAL || rule->kind == RULE_DECIMAL)
        return text_real(argument->value, &real) && (rule->kind == RULE_SHARE  ? real >= 0 && real <= 1
                                                     : rule->kind == RULE_REAL ? real > 0
                                                                               : true);
    const char *colon = rule->is_typed ? strrchr(argument->value, ':') : NULL;
    int64_t min = rule->kind == RULE_WHOLE ? -MAX_NUMBER : rule->kind == RULE_NUMBER;
    if (!launch_number(colon ? colon + 1 : argument->value, min, &number))
        return false;
    if (rule->at)
        launch_set(value_at(options, rule), argument, number);
    if (rule->at && number < 0)
        value_at(options, rule)->given = false;
    return true;
}

/* Options of scripts that set something are switches without a value. */
static bool read_switch(struct launch_options *options, const struct launch_rule *rule,
                        const struct launch_argument *argument)
{
    bool shell = (rule->at || !rule->name) && argument->name[0] == '-' && argument->value;
    bool on = shell ? strcasecmp(argument->value, "true") == 0 : is_true(argument->value);
    if (!on && !launch_is_off(argument->value))
        return false;
    if (rule->at && (on || rule->kind == RULE_BOOL))
        launch_set(value_at(options, rule), argument, on ? rule->value : !rule->value);
    return true;
}

/* Reads the word, or the words of a list: "a b", "[a, b]". */
static bool read_words(struct launch_options *options, const struct launch_rule *rule,
                       const struct launch_rule *end, const struct launch_argument *argument)
{
    static const char between[] = " ,[]'\"";
    const char *at = argument->value;
    do {
        at += rule->is_list ? strspn(at, between) : 0;
        size_t length = rule->is_list ? strcspn(at, between) : strlen(at);
        const struct launch_rule *row = rule;
        while (is_row(rule, row, end) && !is_word(row->word, strlen(row->word), at, length))
            row++;
        if (!is_row(rule, row, end) && (length > 0 || !rule->is_list))
            return is_none(argument->value);
        for (const char *word = row->word; is_row(rule, row, end) && row->word == word; row++)
            if (row->at)
                launch_set(value_at(options, row), argument, row->value);
        at += length;
    } while (*at);
    return true;
}

bool launch_read_value(struct launch_options *options, const struct launch_rule *rule,
                       const struct launch_rule *end, const struct launch_argument *argument,
                       struct error *err)
{
    const char *value = argument->value;
    bool toggles = rule->kind == RULE_SWITCH || rule->kind == RULE_BOOL;
    if (argument->shape > (rule->kind == RULE_CODE ? SHAPE_NESTED : rule->is_list ? SHAPE_LIST : SHAPE_VALUE))
        return launch_refuse(argument, err, "expected %s, found a %s", rule->is_list ? "words" : "one value",
                             argument->shape == SHAPE_MAP      ? "map"
                             : argument->shape == SHAPE_NESTED ? "list of lists or maps"
                                                               : "list");
    /* a command's option that takes one; YAML without one says null */
    if (!value && !toggles && (!rule->name || (rule->kind >= RULE_NAME && argument->name[0] == '-')))
        return launch_refuse(argument, err, "expected a value");
    if (rule->kind >= RULE_NAME) {
        if (rule->at && !is_none(value) && value && *value)
            *(const char **)(void *)((char *)options + rule->at) = value;
        return true;
    }
    bool empty = !value || !*value;
    if (empty && value && rule->kind == RULE_WORD && read_words(options, rule, end, argument))
        return true;
    if (!toggles && !rule->is_list && empty && rule->name)
        return launch_refuse(argument, err, "expected a value");
    if (is_other(rule, value)) {
        if (rule->at)
            value_at(options, rule)->given = false;
        return true;
    }
    if (!toggles && !rule->name)
        return is_none(value) || fits_each(rule, argument) || refuse_value(rule, end, argument, err);
    if (!toggles && rule->kind != RULE_WORD && (!value || is_none(value)))
        return true;
    if (toggles                   ? read_switch(options, rule, argument)
        : rule->kind == RULE_WORD ? !value || read_words(options, rule, end, argument)
                                  : read_number(options, rule, argument))
        return true;
    if (toggles && (rule->at || !rule->name) && argument->name[0] == '-')
        return launch_refuse(argument, err, "takes no value, found '%s'", value);
    return refuse_value(rule, end, argument, err);
}
