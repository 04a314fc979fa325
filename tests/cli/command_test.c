/* The command framework, with a table of commands of its own. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum colour { RED, GREEN, BLUE };

struct weigh_options {
    bool json;
    const char *name, *output;
    struct rh_list inputs;
    int64_t nodes;
    double factor, limit;
    struct option_range range;
    int colour;
    struct rh_list operands;
};

#define AT(field) offsetof(struct weigh_options, field)

static const char *const colours[] = {[RED] = "red", [GREEN] = "green", [BLUE] = "blue", NULL};

static const struct option_spec options[] = {
    {.name = "name",
     .letter = 'n',
     .kind = OPTION_TEXT,
     .at = AT(name),
     .argument = "NAME",
     .required = true,
     .help = "what it is called"},
    {.name = "input",
     .letter = 'i',
     .kind = OPTION_FILE,
     .at = AT(inputs),
     .argument = "FILE",
     .repeats = true,
     .help = "what to weigh"},
    {.name = "nodes",
     .kind = OPTION_INTEGER,
     .at = AT(nodes),
     .argument = "N",
     .initial = "3",
     .min = 1,
     .max = 100,
     .help = "how many nodes"},
    {.name = "factor",
     .kind = OPTION_NUMBER,
     .at = AT(factor),
     .argument = "X",
     .min = OPTION_POSITIVE,
     .help = "what to multiply by"},
    {.name = "limit",
     .kind = OPTION_QUANTITY,
     .at = AT(limit),
     .argument = "TIME",
     .unit = UNIT_TIME,
     .help = "when to stop"},
    {.name = "range",
     .kind = OPTION_RANGE,
     .at = AT(range),
     .argument = "A..B",
     .min = 1,
     .help = "from where to where"},
    {.name = "colour",
     .kind = OPTION_CHOICE,
     .at = AT(colour),
     .argument = "COLOUR",
     .initial = "green",
     .words = colours,
     .help = "the colour of a very long explanation that certainly does not fit on one line"},
    OPTION_JSON(struct weigh_options),
    OPTION_OUTPUT(struct weigh_options),
    OPTION_END,
};

static bool run_nothing(void *context, struct error *err)
{
    (void)context;
    (void)err;
    return true;
}

static const struct command weigh = {
    .name = "weigh",
    .summary = "weigh things",
    .description = "Weighs things.\n\n.Says how much\\.",
    .options = options,
    .options_size = sizeof(struct weigh_options),
    .operands = {.name = "THING", .help = "the thing", .min = 0, .max = 2, .at = AT(operands)},
    .run = run_nothing,
};

static const struct option_spec no_options[] = {OPTION_END};

static const struct command box_open = {.name = "box open",
                                        .summary = "open it",
                                        .description = "Opens.",
                                        .options = no_options,
                                        .run = run_nothing};
static const struct command box_close = {.name = "box close",
                                         .summary = "close it",
                                         .description = "Closes.",
                                         .options = no_options,
                                         .run = run_nothing};
static const struct command box_long = {.name = "box unwrap-and-look-inside",
                                        .summary = "say what is in it",
                                        .description = "Looks.",
                                        .options = no_options,
                                        .run = run_nothing};
const struct command command_help = {
    .name = "help", .summary = "help", .description = "Helps.", .options = no_options, .run = run_nothing};

const struct command *const commands[] = {&weigh, &box_open, &box_close, &box_long, &command_help, NULL};

/* ---- reading a command line ---- */

struct reading {
    struct weigh_options options;
    struct arena arena;
    struct error err;
    bool help, done;
};

static struct reading read_line(int argc, const char **argv)
{
    struct reading reading = {0};
    reading.done = command_parse(&weigh, argc, (char **)argv, &reading.options, &reading.arena, &reading.help,
                                 &reading.err);
    return reading;
}

#define READ(...)                                                                                            \
    read_line((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)),                           \
              (const char *[]){__VA_ARGS__})

static void assert_refused(struct reading reading, const char *message)
{
    arena_release(&reading.arena);
    assert_false(reading.done);
    assert_int_equal(reading.err.kind, ERROR_USAGE);
    assert_string_equal(reading.err.text, message);
}

static void reads_values_of_every_kind(void **state)
{
    (void)state;
    struct reading reading = READ("--name", "a", "--nodes=7", "--factor", "0.5", "--limit", "250 ms",
                                  "--range", "3..8", "--colour", "blue", "--json", "--output=x");
    assert_true(reading.done);
    assert_string_equal(reading.options.name, "a");
    assert_int_equal(reading.options.nodes, 7);
    assert_true(reading.options.factor == 0.5);
    assert_true(reading.options.limit == 0.25);
    assert_int_equal(reading.options.range.first, 3);
    assert_int_equal(reading.options.range.last, 8);
    assert_int_equal(reading.options.colour, BLUE);
    assert_true(reading.options.json);
    assert_string_equal(reading.options.output, "x");
    arena_release(&reading.arena);
}

static void defaults_are_read_like_values(void **state)
{
    (void)state;
    struct reading reading = READ("-n", "a");
    assert_true(reading.done);
    assert_int_equal(reading.options.nodes, 3);
    assert_int_equal(reading.options.colour, GREEN);
    assert_null(reading.options.output);
    arena_release(&reading.arena);
}

static void letters_take_values_with_and_without_blank(void **state)
{
    (void)state;
    struct reading reading = READ("-na", "-o", "-", "thing");
    assert_true(reading.done);
    assert_string_equal(reading.options.name, "a");
    assert_string_equal(reading.options.output, "-");
    assert_int_equal(reading.options.operands.count, 1);
    arena_release(&reading.arena);
}

static void repeated_options_and_operands_are_lists(void **state)
{
    (void)state;
    struct reading reading = READ("-i", "x", "one", "--name=a", "--input=y", "--", "--two");
    assert_true(reading.done);
    assert_int_equal(reading.options.inputs.count, 2);
    assert_string_equal(reading.options.inputs.items[1], "y");
    assert_int_equal(reading.options.operands.count, 2);
    assert_string_equal(reading.options.operands.items[1], "--two");
    arena_release(&reading.arena);
}

static void one_number_is_a_range(void **state)
{
    (void)state;
    struct reading reading = READ("-na", "--range", "5");
    assert_true(reading.done);
    assert_int_equal(reading.options.range.first, 5);
    assert_int_equal(reading.options.range.last, 5);
    arena_release(&reading.arena);
}

static void help_ends_the_reading(void **state)
{
    (void)state;
    struct reading reading = READ("--help", "--nonsense");
    assert_true(reading.done);
    assert_true(reading.help);
}

static void refuses_wrong_values(void **state)
{
    (void)state;
    assert_refused(READ("-na", "--nodes", "0"), "--nodes: expected a whole number from 1 to 100, found '0'");
    assert_refused(READ("-na", "--nodes", "101"),
                   "--nodes: expected a whole number from 1 to 100, found '101'");
    assert_refused(READ("-na", "--nodes", "2x"),
                   "--nodes: expected a whole number from 1 to 100, found '2x'");
    assert_refused(READ("-na", "--nodes", "99999999999999999999"),
                   "--nodes: expected a whole number from 1 to 100, found '99999999999999999999'");
    assert_refused(READ("-na", "--factor", "nan"), "--factor: expected a number above 0, found 'nan'");
    assert_refused(READ("-na", "--factor", "-1"), "--factor: expected a number above 0, found '-1'");
    assert_refused(READ("-na", "--factor", "0"), "--factor: expected a number above 0, found '0'");
    assert_refused(READ("-na", "--range", "8..3"),
                   "--range: expected a range such as 3..8 of whole numbers of at least 1, found '8..3'");
    assert_refused(READ("-na", "--output", ""), "--output: the name is empty");
    assert_refused(READ("-na", "--colour", "bleu"),
                   "--colour: expected one of red, green, blue; found 'bleu', did you mean 'blue'?");
}

static void refuses_wrong_options(void **state)
{
    (void)state;
    assert_refused(READ("--nodes", "2"), "weigh: '--name NAME' is missing");
    assert_refused(READ("--name"), "weigh: '--name' needs a value: --name NAME");
    assert_refused(READ("--name", "--json"), "weigh: '--name' needs a value: --name NAME");
    assert_refused(READ("--name=a", "--name=b"), "weigh: '--name' is given twice");
    assert_refused(READ("--json=1"), "weigh: '--json' takes no value");
    assert_refused(READ("--noeds=1"), "weigh: unknown option '--noeds', did you mean '--nodes'?");
    assert_refused(READ("-na", "1", "2", "3"), "weigh: unexpected '3', see 'rehearse help weigh'");
}

/* ---- finding a command ---- */

static void commands_of_two_words_are_found(void **state)
{
    (void)state;
    struct error err;
    int used;
    assert_ptr_equal(command_find(3, (const char *[]){"box", "close", "x"}, &used, &err), &box_close);
    assert_int_equal(used, 2);
    assert_ptr_equal(command_find(2, (const char *[]){"weigh", "x"}, &used, &err), &weigh);
    assert_int_equal(used, 1);
}

static void half_a_command_names_the_rest(void **state)
{
    (void)state;
    struct error err;
    int used;
    assert_null(command_find(1, (const char *[]){"box"}, &used, &err));
    assert_string_equal(err.text, "'box' must be followed by one of open, close, unwrap-and-look-inside");
    assert_null(command_find(2, (const char *[]){"box", "clsoe"}, &used, &err));
    assert_string_equal(err.text, "unknown command 'box clsoe', did you mean 'box close'?");
}

/* ---- what is written from the tables ---- */

static void assert_contains(struct text *text, const char *part)
{
    assert_false(text->failed);
    if (!strstr(text->data, part))
        fail_msg("'%s' is not in:\n%s", part, text->data);
}

static void usage_shows_every_option_within_80_columns(void **state)
{
    (void)state;
    struct text text = {0};
    usage_write(&weigh, &text);
    for (const struct option_spec *spec = options; spec->name; spec++) {
        assert_contains(&text, spec->name);
    }
    assert_contains(&text, "usage: rehearse weigh --name NAME [OPTION]… [THING]…\n");
    assert_contains(&text, "red, green, blue (default:");
    for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80 + 4); /* '…' is three bytes */
    text_release(&text);
}

static void list_keeps_every_name_apart_from_its_summary(void **state)
{
    (void)state;
    struct text text = {0};
    usage_write_all(&text);
    assert_contains(&text, "\n  weigh                       weigh things\n");
    assert_contains(&text, "\n  box unwrap-and-look-inside  say what is in it\n");
    text_release(&text);
}

static void manual_escapes_what_roff_would_act_on(void **state)
{
    (void)state;
    struct text text = {0};
    manual_write(&weigh, &text);
    assert_contains(&text, "\n\\&.Says how much\\e.\n");
    assert_contains(&text, "\\fB\\-n\\fR, \\fB\\-\\-name\\fR \\fINAME\\fR\n");
    text_release(&text);
}

static void markdown_has_a_row_per_option(void **state)
{
    (void)state;
    struct text text = {0};
    manual_write_markdown(&weigh, &text);
    assert_contains(&text, "| `-n`, `--name NAME` (required) | what it is called |\n");
    assert_contains(&text, "| `--nodes N` | how many nodes (default: 3) |\n");
    text_release(&text);
}

static void completion_knows_words_and_second_words(void **state)
{
    (void)state;
    struct text text = {0};
    completion_write_bash(&text);
    assert_contains(&text, "'--help --version weigh box help'");
    assert_contains(&text, "    box)\n        words='open close unwrap-and-look-inside'\n");
    assert_contains(&text, "'weigh --colour') words='red green blue' ;;");
    text_release(&text);
    completion_write_zsh(&text);
    assert_contains(&text, "'--colour=[the colour of a very long explanation");
    assert_contains(&text, ":COLOUR:(red green blue)'");
    assert_contains(&text, "'*'{-i,--input=}'[what to weigh]:FILE:_files'");
    text_release(&text);
    completion_write_fish(&text);
    assert_contains(&text, "-l colour -xa 'red green blue'");
    assert_contains(&text,
                    "not __fish_seen_subcommand_from open close unwrap-and-look-inside' -a 'open close "
                    "unwrap-and-look-inside'");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_values_of_every_kind),
        cmocka_unit_test(defaults_are_read_like_values),
        cmocka_unit_test(letters_take_values_with_and_without_blank),
        cmocka_unit_test(repeated_options_and_operands_are_lists),
        cmocka_unit_test(one_number_is_a_range),
        cmocka_unit_test(help_ends_the_reading),
        cmocka_unit_test(refuses_wrong_values),
        cmocka_unit_test(refuses_wrong_options),
        cmocka_unit_test(commands_of_two_words_are_found),
        cmocka_unit_test(half_a_command_names_the_rest),
        cmocka_unit_test(usage_shows_every_option_within_80_columns),
        cmocka_unit_test(list_keeps_every_name_apart_from_its_summary),
        cmocka_unit_test(manual_escapes_what_roff_would_act_on),
        cmocka_unit_test(markdown_has_a_row_per_option),
        cmocka_unit_test(completion_knows_words_and_second_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
