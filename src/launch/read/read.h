/* Readers of launch descriptions: one per software, over one interface. Private to src/launch.
 *
 * How to add one: a file with a function that says whether a source is of the software, one that adds the source's
 * arguments, a table of its settings (software.c), and a function for what no rule can say, all named in a struct
 * launch_reader; and a row in read.c. */
#ifndef REHEARSE_LAUNCH_READ_READ_H
#define REHEARSE_LAUNCH_READ_READ_H

#include "core/doc.h"
#include "launch/launch.h"
#include "launch/shell/shell.h"

/* A file. One of the two is there. */
struct launch_source {
    const char *path;
    const struct launch_input *input;
    struct shell *shell;
    struct doc *doc;
};

enum launch_rule_kind {
    RULE_NUMBER,     /* a whole number of at least 1 */
    RULE_COUNT,      /* one of at least 0 */
    RULE_SHARE,      /* a number from 0 to 1 */
    RULE_REAL,       /* a number above 0 */
    RULE_WHOLE,      /* a whole number of any sign */
    RULE_DECIMAL,    /* a number */
    RULE_SWITCH,     /* without a value, or true: `value` is set; false: nothing */
    RULE_BOOL,       /* true: `value`, false: its opposite */
    RULE_WORD,       /* the value is `word`: `value` is set; rows of one name follow each other */
    RULE_NAME,       /* a name, of which the software takes any: at a const char * */
    RULE_CODE,       /* judged by the reader's own function */
    RULE_FILE,       /* a path: what it lacks does not matter */
    RULE_IDLE,       /* without effect */
    RULE_UNMODELLED, /* `word` says why, unless it is switched off: "false", "0", "none", "null" or empty */
    RULE_REFUSED,    /* likewise: nothing is priced with it, unless the model is named */
};

/* A rule for the arguments of a name; '-' and '_' are alike, leading ones do not count, and an asterisk at the end
 * stands for any rest. The first rule that fits counts. */
struct launch_rule {
    const char *name;
    enum launch_rule_kind kind;
    size_t
        at; /* of a struct launch_value in struct launch_options, or of a text; 0: a reader's own function reads it */
    const char *word; /* RULE_WORD: an asterisk at its end stands for any rest */
    int64_t value;
    const char *others; /* "auto|-1": values that set nothing; NULL: none */
    bool is_list;       /* several values may stand there */
    bool is_typed;      /* RULE_NUMBER: names may stand before it, "gpu:h100:8" */
    const struct doc_node
        *usual; /* RULE_UNMODELLED: the value, or a list of them, that counts as off; NULL: the usual */
    const struct launch_rule *takes; /* of a setting that is not read: which values it takes; NULL: any */
};

struct launch_rules {
    const char *table;               /* one of data/software */
    const struct launch_rules *next; /* for names that the table lacks */
    const struct launch_rule *rules; /* of a table itself (launch_table) */
    size_t count;
};

struct launch_reader {
    const char *name;
    bool (*knows)(const struct launch_source *source);
    /* adds the arguments, and all that the rules do not say */
    bool (*read)(struct launch_options *options, struct launch_source *source, struct error *err);
    /* defaults of the software, once all files are read; NULL: none */
    void (*complete)(struct launch_options *options);
};

extern const struct launch_reader megatron_reader, mlperf_reader, bridge_reader, torchtitan_reader,
    deepspeed_reader, neox_reader, nemo_reader, nanotron_reader, maxtext_reader, axolotl_reader,
    factory_reader, foundry_reader, primus_reader, rollouts_reader, trainer_reader;

/* Recipes in Python (recipe.c), which are known by what they import. */
extern const struct launch_reader recipe_bridge_reader, recipe_nemo_reader, recipe_titan_reader;

/* Reads a function of a Python file: that of --set function=NAME, or the only one that makes a configuration. */
bool recipe_read(struct launch_options *options, const struct launch_input *input, const char *data,
                 size_t length, struct error *err);

/* Sets what NeMo's and Megatron-Bridge's own names say, for arguments from `first` on (nemo.c). */
bool launch_read_nemo(struct launch_options *options, int first, bool bridge, const struct shell *shell,
                      struct error *err);

/* The rules of Megatron-Core's own names, which other software uses too. */
extern const struct launch_rules megatron_rules;

/* ---- tables of data/software (software.c) ---- */

/* Returns the table's own rules, by its file's name; NULL: there is none, or no memory. The first: the names of all,
 * ended by NULL. */
const char *launch_table_name(size_t index);
const struct launch_rules *launch_table(const char *name);

/* Returns the rule for a setting, of the table or of those that it names, and the end of its table's rules; NULL: none.
 * The second seeks the name that may have been meant. */
const struct launch_rule *launch_table_rule(const char *name, const char *setting,
                                            const struct launch_rule **end);
void launch_table_nearest(const char *name, struct text_nearest *nearest);

/* Returns whether the table has settings below this name, as "zero_optimization" has some. */
bool launch_table_has_below(const char *name, const char *setting);

/* ---- scripts whose settings are in a here document ---- */

/* Returns whether a command has this option; "config-file" and "config_file" are alike. The second: any command. */
bool launch_command_has(const struct shell_words *command, const char *option);
bool launch_has_option(const struct shell *shell, const char *option);

/* Returns the first here document that begins with `begin`, if it is given, and holds all `keys`, ended by NULL; or
 * NULL. */
const struct shell_document *launch_find_document(const struct shell *shell, const char *begin,
                                                  const char *const *keys);

/* Parses it; lines are those of the script. The caller releases *doc. */
bool launch_parse_document(struct shell *shell, const struct shell_document *document, enum doc_syntax syntax,
                           struct doc *doc, struct error *err);

/* Adds the options of the command that has `option`: its launcher's, which `launch_launcher_rules` know, and those
 * behind the program; *launcher: one that starts one node unless it is told otherwise, or NULL. The second reads nodes
 * and devices of a job from them, once the rules have been applied, and from #SBATCH lines. */
extern const struct launch_rules launch_launcher_rules;
bool launch_add_command(struct launch_options *options, struct shell *shell, const char *option,
                        const char **launcher);
bool launch_read_nodes(struct launch_options *options, struct shell *shell, const char *launcher,
                       struct error *err);

/* Sets a number from `min` on, that behind the last colon of an argument ("8", "h100:8", "gpu:h100:8"), unless it is
 * given. */
void launch_set_count(const struct launch_options *options, const char *name, int64_t min,
                      struct launch_value *value);

/* Adds the launcher's options of one command, whose program stands at `program`; and what torchrun's words say. */
bool launch_add_launcher(struct launch_options *options, const struct shell_words *words, int program,
                         const char **launcher);
bool launch_read_torchrun(struct launch_options *options, struct error *err);

/* Returns whether a command has one of the arguments of which each training by Megatron's names has some. */
bool launch_has_megatron_sizes(const struct shell *shell);

/* Appends the blocks of a list, '0' or '1' each: "([0]*3+[1]*58)". False: it is no such list (megatron_settle.c). */
bool launch_pattern(const char *list, struct text *blocks);

/* ---- what --set gives ---- */

/* Notes that something asks for this name. The second: for the variables of a script that its text names; the third:
 * for settings of files that are no scripts, those of the arguments from `first` on. */
void launch_ask(struct launch_options *options, const char *name);
void launch_ask_shell(struct launch_options *options, const struct shell *shell);
void launch_ask_settings(struct launch_options *options, int first);

/* ---- arguments ---- */

/* Adds an argument. NULL: out of memory. */
struct launch_argument *launch_add(struct launch_options *options, const char *name, const char *value,
                                   const char *path, int line);

/* Adds all values of a document as arguments with names such as "training.seq_len"; lists as "a b", maps in them as
 * "datasets[0].path". Maps below `prefix` only, whose name is left out; NULL: all. A key that is there twice is
 * noted. */
bool launch_add_doc(struct launch_options *options, const struct doc *doc, const char *prefix,
                    struct error *err);

/* Replaces references such as "${model.hidden_size}" in the values of arguments from `first` on; those that are not
 * known stay. `given`: NAME=VALUE of variables; `whole`: what names may begin with that the arguments' names lack, or
 * NULL. False: out of memory. The second does so for one text, and returns it; NULL: out of memory. */
bool launch_resolve(struct launch_options *options, const char *const *given, const char *whole, int first);
const char *launch_resolve_text(struct launch_options *options, const char *const *given, const char *text);

/* Of arguments that several files of one description have, the last counts: those from `first` to `own` that are there
 * again become idle. */
void launch_supersede(struct launch_options *options, int first, int own);

/* Applies rules to the arguments from `first` on. A mark of the shell in a value that matters is something missing. */
bool launch_apply_rules(struct launch_options *options, const struct launch_rules *rules, int first,
                        const struct shell *shell, struct error *err);

/* Adds a document's arguments, and applies a table's rules to them. */
bool launch_read_doc(struct launch_options *options, const struct doc *doc, const char *table,
                     struct error *err);

/* Returns whether a rule for this name sets a value. */
bool launch_has_rule(const struct launch_rules *rules, const char *name);

/* Reads a value that the rule sets, or that the reader's own function reads; one that is none of the rule's is
 * ERROR_INPUT at its place. `end`: of the table's rules. */
bool launch_read_value(struct launch_options *options, const struct launch_rule *rule,
                       const struct launch_rule *end, const struct launch_argument *argument,
                       struct error *err);

/* Returns whether a value says no: "false", "0", "none", empty, …. */
bool launch_is_off(const char *value);

/* Returns the last argument of this name, or NULL; the second returns its text if it is there and not switched off. */
struct launch_argument *launch_argument(const struct launch_options *options, const char *name);
const char *launch_text(const struct launch_options *options, const char *name);
bool launch_is_on(const struct launch_options *options, const char *name);

/* Says that an argument has an effect that is not priced, if it is there and not switched off. */
void launch_unmodelled(struct launch_options *options, const char *name, const char *why);

/* Sets a value unless it is given already. */
void launch_default(struct launch_value *value, int64_t to);
void launch_set(struct launch_value *value, const struct launch_argument *by, int64_t to);

/* Names are compared without leading dashes, letter by letter. The last: an asterisk of the rule stands for any
 * rest. */
const char *launch_bare_name(const char *name);
char launch_letter(char c);
bool launch_same_name(const char *a, const char *b);
uint32_t launch_hash(const char *name); /* the same of names that are the same */
bool launch_name_fits(const char *rule, const char *name);

/* Sets ERROR_INPUT at an argument. Returns false. */
bool launch_refuse(const struct launch_argument *argument, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a whole number from `min` on, with underscores between its digits. */
bool launch_number(const char *text, int64_t min, int64_t *value);

/* Reads that of an argument, from 1 on. False: there is none. */
bool launch_whole(const struct launch_options *options, const char *name, int64_t *value);

/* Marks what an argument's value lacks. True: it lacks nothing. */
bool launch_is_known(struct launch_options *options, const struct shell *shell,
                     const struct launch_argument *argument, const char *name);

/* Returns the path of a file below the folder of `path`, or below one of those above it; NULL: it is not there. */
const char *launch_find_above(struct launch_options *options, const char *path, const char *relative);

/* Finds a device type in a text such as a file's name: "config_DGXH100_64x8.sh". NULL: none. */
const char *launch_device_in(const char *text);

/* Sets the stages from a layout of Megatron-Core. */
bool launch_read_layout(struct launch_options *options, const struct launch_argument *argument,
                        struct error *err);

/* Reads blocks of several kinds, and gives them to a model that has its other numbers. */
bool launch_settle_blocks(struct launch_options *options, struct error *err);
void launch_set_blocks(struct launch_options *options, struct architecture *model);

/* Sets the vocabulary of a known tokenizer: by the name of a model in an argument, "256k" in a name, or the class of
 * the tokenizer. It is padded unless the padding is given. */
void launch_settle_vocabulary(struct launch_options *options, const char *tokenizer);

/* Returns the usual name of a model that a recipe calls "llama31_405b", or the text itself. */
const char *launch_recipe_model(struct launch_options *options, const char *text);

/* Reads the optimizer that an argument names; what is not priced of it is said. The second: by another argument, `rank`
 * being that of GaLore's and APOLLO's projections. */
void launch_settle_optimizer(struct launch_options *options, const char *name);

/* Reads which matrices have LoRA's adapters, from an argument that lists their names; others are listed as not
 * modelled. */
void launch_settle_targets(struct launch_options *options, const char *name);
void launch_set_optimizer(struct launch_options *options, struct launch_argument *by, const char *name,
                          int64_t rank);

/* Post-training with rollouts: an error that says what its training step is. Returns false. */
bool launch_refuse_rollouts(struct launch_options *options, const char *path, const char *method,
                            struct error *err);

/* Refuses a training script of Megatron's whose model is not modelled, and one none of whose arguments are known. The
 * second settles what Megatron-DeepSpeed means by its own names. */
bool launch_judge_program(struct launch_options *options, const char *path, const char *script,
                          struct error *err);
void launch_settle_deepspeed(struct launch_options *options);

/* Sets what Megatron-LM does only where an option asks for it, and what an option of other software switches off. */
void launch_settle_habits(struct launch_options *options);

/* Reads what Megatron's names say together: recomputation, sharding, layers of experts, precision. */
bool launch_settle_megatron(struct launch_options *options, struct error *err);

/* torchtitan's rules and defaults, for software that has its names. */
extern const struct launch_rules torchtitan_rules;

/* Reads what several arguments say together. `doc`: the file, or NULL. */
bool torchtitan_settle(struct launch_options *options, const struct doc *doc, struct error *err);

/* Sets the stages of a pipeline from the blocks of each of its parts, a multiple of the stages. False: out of
 * memory. */
bool torchtitan_set_parts(struct launch_options *options, const int *parts, int count);
void torchtitan_complete(struct launch_options *options);

#endif
