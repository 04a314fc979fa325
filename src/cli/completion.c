#include "cli/completion.h"

#include "api/names.h"
#include "cli/command.h"
#include "cli/origins.h"

#include <string.h>

static size_t first_word_length(const char *name)
{
    return strcspn(name, " ");
}

/* Is command i the first one with its first word? "profile convert" and "profile show" make one entry. */
static bool is_new_word(size_t i)
{
    size_t length = first_word_length(commands[i]->name);
    for (size_t j = 0; j < i; j++)
        if (first_word_length(commands[j]->name) == length &&
            strncmp(commands[i]->name, commands[j]->name, length) == 0)
            return false;
    return true;
}

/* Is command i the first one of a group of two words? "trace" is one, too, that is a command by itself. */
static bool begins_group(size_t i)
{
    char word[64];
    size_t length = first_word_length(commands[i]->name);
    if (length >= sizeof word || !is_new_word(i))
        return false;
    memcpy(word, commands[i]->name, length);
    word[length] = '\0';
    return command_is_group(word);
}

/* The second words of a group, with blanks between them. */
static void write_second_words(struct text *out, const char *group, size_t length)
{
    const char *separator = "";
    for (size_t i = 0; commands[i]; i++) {
        const char *name = commands[i]->name;
        if (strncmp(name, group, length) != 0 || name[length] != ' ')
            continue;
        text_format(out, "%s%s", separator, name + length + 1);
        separator = " ";
    }
}

static void write_first_words(struct text *out)
{
    const char *separator = "";
    for (size_t i = 0; commands[i]; i++) {
        if (!is_new_word(i))
            continue;
        text_add(out, separator);
        text_add_bytes(out, commands[i]->name, first_word_length(commands[i]->name));
        separator = " ";
    }
}

/* Text inside single quotes; zsh also wants '[', ']' and ':' escaped inside its specifications. */
static void write_quoted(struct text *out, const char *text, const char *escaped)
{
    for (const char *at = text; *at; at++) {
        if (*at == '\'')
            text_add(out, "'\\''");
        else if (strchr(escaped, *at))
            text_format(out, "\\%c", *at);
        else
            text_add_bytes(out, *at == '\n' ? " " : at, 1);
    }
}

/* The words that `rehearse help` completes to are the commands themselves. */
static void write_operand_words(struct text *out, const struct command *command)
{
    const struct command_operands operands = command_operands(command);
    if (command == &command_help) {
        write_first_words(out);
        text_add(out, " ");
        origin_write_names(out, " ");
    } else if (operands.words)
        option_write_words(operands.words, " ", out);
    else
        option_operand_names(operands.name, out);
}

static void write_bash_command(struct text *out, const struct command *command)
{
    for (struct option_walk walk = command_options(command); option_next(&walk);) {
        const struct option_spec *spec = walk.spec;
        if (spec->kind == OPTION_FLAG)
            continue;
        text_format(out, "    '%s --%s'", command->name, spec->name);
        if (spec->letter)
            text_format(out, " | '%s -%c'", command->name, spec->letter);
        text_add(out, ") words='");
        if (spec->words)
            option_write_words(spec->words, " ", out);
        else
            option_names(spec, out);
        text_add(out, "' ;;\n");
    }
    text_format(out, "    '%s '*)\n        words='", command->name);
    write_operand_words(out, command);
    text_add(out, "'\n        [[ $cur == -* ]] && words='--help");
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        text_format(out, " --%s", walk.spec->name);
    text_add(out, "' ;;\n");
}

/* Where no word fits, bash falls back to file names by itself (-o default). */
void completion_write_bash(struct text *out)
{
    text_add(out, "# bash completion for rehearse; made by 'rehearse completion bash'\n"
                  "_rehearse()\n{\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local command=${COMP_WORDS[1]} words=''\n"
                  "    COMPREPLY=()\n"
                  "    # --option=value comes as three words\n"
                  "    [[ $cur == '=' ]] && cur=''\n"
                  "    [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                  "    if ((COMP_CWORD == 1)); then\n"
                  "        COMPREPLY=($(compgen -W '--help --version ");
    write_first_words(out);
    text_add(out, "' -- \"$cur\"))\n        return\n    fi\n"
                  "    case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        size_t length = first_word_length(commands[i]->name);
        if (!begins_group(i))
            continue;
        text_format(out, "    %.*s)\n        words='", (int)length, commands[i]->name);
        write_second_words(out, commands[i]->name, length);
        text_add(
            out,
            "'\n        if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then\n"
            "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n            return\n        fi\n"
            "        [[ \" $words \" == *\" ${COMP_WORDS[2]} \"* ]] && command+=\" ${COMP_WORDS[2]}\"\n"
            "        words='' ;;\n");
    }
    text_add(out, "    esac\n    case \"$command $prev\" in\n");
    for (int words = 2; words > 0;
         words--) /* the first pattern that fits counts: "trace show " before "trace " */
        for (size_t i = 0; commands[i]; i++)
            if ((strchr(commands[i]->name, ' ') ? 2 : 1) == words)
                write_bash_command(out, commands[i]);
    text_add(out, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                  "complete -o default -F _rehearse rehearse\n");
}

/* zsh's action that offers names and files. */
static void write_zsh_names(struct text *out, const struct text *names)
{
    text_format(out, "{compadd %s; _files}", names->data ? names->data : "");
}

static void write_zsh_option(struct text *out, const struct option_spec *spec)
{
    const char *equals = spec->kind == OPTION_FLAG ? "" : "=";
    struct text names = {0};
    text_add(out, " \\\n            ");
    if (spec->repeats && spec->letter)
        text_format(out, "'*'{-%c,--%s%s}'[", spec->letter, spec->name, equals);
    else if (spec->letter)
        text_format(out, "'(-%c --%s)'{-%c,--%s%s}'[", spec->letter, spec->name, spec->letter, spec->name,
                    equals);
    else
        text_format(out, "'%s--%s%s[", spec->repeats ? "*" : "", spec->name, equals);
    write_quoted(out, spec->help, "[]:\\");
    text_add(out, "]");
    if (spec->words) {
        text_format(out, ":%s:(", spec->argument);
        option_write_words(spec->words, " ", out);
        text_add(out, ")");
    } else if (option_names(spec, &names)) {
        text_format(out, ":%s:", spec->argument);
        write_zsh_names(out, &names);
    } else if (spec->kind != OPTION_FLAG) {
        text_format(out, ":%s:%s", spec->argument, spec->kind == OPTION_FILE ? "_files" : "");
    }
    text_add(out, "'");
    out->failed |= names.failed;
    text_release(&names);
}

static void write_zsh_command(struct text *out, const struct command *command)
{
    const struct command_operands operands = command_operands(command);
    struct text names = {0};
    text_format(out, "    '%s')\n        _arguments -S '(- *)'{-h,--help}'[print this help]'", command->name);
    for (struct option_walk walk = command_options(command); option_next(&walk);)
        write_zsh_option(out, walk.spec);
    if (operands.name) {
        text_format(out, " \\\n            '*:%s:", operands.name);
        if (command == &command_help || operands.words) {
            text_add(out, "(");
            write_operand_words(out, command);
            text_add(out, ")'");
        } else if (option_operand_names(operands.name, &names)) {
            write_zsh_names(out, &names);
            text_add(out, "'");
        } else {
            text_add(out, "_files'");
        }
    }
    text_add(out, " ;;\n");
    out->failed |= names.failed;
    text_release(&names);
}

void completion_write_zsh(struct text *out)
{
    text_add(out, "#compdef rehearse\n# made by 'rehearse completion zsh'\n"
                  "local command\nlocal -a names\n"
                  "if ((CURRENT == 2)); then\n    names=(\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!is_new_word(i))
            continue;
        text_format(out, "        '%.*s:", (int)first_word_length(commands[i]->name), commands[i]->name);
        write_quoted(out, commands[i]->summary, ":\\");
        text_add(out, "'\n");
    }
    text_add(out, "    )\n    _describe command names\n    return\nfi\n"
                  "command=$words[2]\ncase $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        size_t length = first_word_length(commands[i]->name);
        if (!begins_group(i))
            continue;
        text_format(out, "    %.*s)\n        names=(", (int)length, commands[i]->name);
        write_second_words(out, commands[i]->name, length);
        text_add(out, ")\n        if ((CURRENT == 3)) && [[ $words[3] != -* ]]; then\n            compadd -a "
                      "names\n            return\n"
                      "        fi\n        if [[ -n ${(M)names:#$words[3]} ]]; then\n            command+=\" "
                      "$words[3]\"\n"
                      "            shift words\n            ((CURRENT--))\n        fi ;;\n");
    }
    text_add(out, "esac\nshift words\n((CURRENT--))\ncase $command in\n");
    for (size_t i = 0; commands[i]; i++)
        write_zsh_command(out, commands[i]);
    text_add(out, "esac\n");
}

/* The condition under which a command's options are offered. */
static void write_fish_condition(struct text *out, const char *name)
{
    size_t length = first_word_length(name);
    text_format(out, "complete -c rehearse -n '__fish_seen_subcommand_from %.*s", (int)length, name);
    if (name[length]) {
        text_format(out, "; and __fish_seen_subcommand_from %s", name + length + 1);
    } else if (command_is_group(name)) {
        text_add(out, "; and not __fish_seen_subcommand_from ");
        write_second_words(out, name, length);
    }
    text_add(out, "'");
}

static void write_fish_names(struct text *out, const struct text *names)
{
    text_format(out, "F -a '%s'", names->data ? names->data : "");
}

static void write_fish_option(struct text *out, const struct option_spec *spec)
{
    struct text names = {0};
    if (spec->kind == OPTION_FILE) {
        text_add(out, " -rF");
    } else if (spec->words) {
        text_add(out, " -xa '");
        option_write_words(spec->words, " ", out);
        text_add(out, "'");
    } else if (option_names(spec, &names)) {
        text_add(out, " -r");
        write_fish_names(out, &names);
    } else if (spec->kind != OPTION_FLAG) {
        text_add(out, " -x");
    }
    out->failed |= names.failed;
    text_release(&names);
}

static void write_fish_command(struct text *out, const struct command *command)
{
    const struct command_operands operands = command_operands(command);
    struct text names = {0};
    for (struct option_walk walk = command_options(command); option_next(&walk);) {
        const struct option_spec *spec = walk.spec;
        write_fish_condition(out, command->name);
        text_format(out, " -l %s", spec->name);
        if (spec->letter)
            text_format(out, " -s %c", spec->letter);
        write_fish_option(out, spec);
        text_add(out, " -d '");
        write_quoted(out, spec->help, "");
        text_add(out, "'\n");
    }
    if (!operands.name)
        return;
    write_fish_condition(out, command->name);
    if (command == &command_help || operands.words) {
        text_add(out, " -fa '");
        write_operand_words(out, command);
        text_add(out, "'\n");
    } else if (option_operand_names(operands.name, &names)) {
        text_add(out, " -");
        write_fish_names(out, &names);
        text_add(out, "\n");
    } else {
        text_add(out, " -F\n");
    }
    out->failed |= names.failed;
    text_release(&names);
}

void completion_write_fish(struct text *out)
{
    text_add(out, "# fish completion for rehearse; made by 'rehearse completion fish'\n"
                  "complete -c rehearse -f\n"
                  "complete -c rehearse -s h -l help -d 'print help'\n"
                  "complete -c rehearse -n __fish_use_subcommand -l version -d 'print version'\n");
    for (size_t i = 0; commands[i]; i++) {
        const char *name = commands[i]->name;
        size_t length = first_word_length(name);
        if (is_new_word(i))
            text_format(out, "complete -c rehearse -n __fish_use_subcommand -a %.*s -d '", (int)length, name);
        if (begins_group(i)) {
            name[length] ? write_second_words(out, name, length)
                         : write_quoted(out, commands[i]->summary, "");
            text_format(out,
                        "'\ncomplete -c rehearse -n '__fish_seen_subcommand_from %.*s; and not "
                        "__fish_seen_subcommand_from ",
                        (int)length, name);
            write_second_words(out, name, length);
            text_add(out, "' -a '");
            write_second_words(out, name, length);
            text_add(out, "'\n");
        } else if (is_new_word(i)) {
            write_quoted(out, commands[i]->summary, "");
            text_add(out, "'\n");
        }
        write_fish_command(out, commands[i]);
    }
}
