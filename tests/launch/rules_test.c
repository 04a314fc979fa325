/* The table of what Megatron-LM refuses at its start: each rule takes the arguments just inside, and refuses those just outside
 * with its own words. scripts/check-launch megatron-rules asks Megatron-LM about the same arguments. */
#include "core/doc.h"
#include "launch/launch.h"
#include "launch/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEVICES 16

static struct doc table;

static int load(void **state)
{
    (void)state;
    char path[1024];
    struct error err;
    snprintf(path, sizeof path, "%s/data/software/megatron-lm-rules.yaml", getenv("REHEARSE_SOURCE_ROOT"));
    if (!doc_load(&table, path, &err))
        fail_msg("%s", err.text);
    return 0;
}

static int release(void **state)
{
    (void)state;
    doc_release(&table);
    return 0;
}

static const char *text_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node ? node->text : NULL;
}

/* Adds the arguments of a base, without those that "@NAME" leaves out, and a rule's. */
static int write_arguments(const struct doc_node *rule, const char *own, struct text *out)
{
    static const char *const left_out[][2] = {
        {"@nobf16", "--bf16"}, {"@nogemm", "--moe-grouped-gemm"}, {"@bias", "--disable-bias-linear"}};
    const char *base = text_of(rule, "base");
    char copy[2048], *end = NULL;
    int devices = DEVICES;
    snprintf(copy, sizeof copy, "%s", text_of(doc_find(table.root, "bases"), base ? base : "dense"));
    text_add(out, "torchrun pretrain_gpt.py");
    for (char *word = strtok_r(copy, " ", &end); word; word = strtok_r(NULL, " ", &end)) {
        bool out_of_it = false;
        for (size_t i = 0; i < 3; i++)
            out_of_it |= strstr(own, left_out[i][0]) && strcmp(word, left_out[i][1]) == 0;
        if (!out_of_it)
            text_format(out, " %s", word);
    }
    snprintf(copy, sizeof copy, "%s", own);
    for (char *word = strtok_r(copy, " ", &end); word; word = strtok_r(NULL, " ", &end))
        if (strcmp(word, "--world") == 0)
            devices = atoi(strtok_r(NULL, " ", &end));
        else if (word[0] != '@')
            text_format(out, " %s", word);
    text_add(out, "\n");
    return devices;
}

/* Are the arguments taken, by the reader and by the table? */
static bool is_taken(const struct doc_node *rule, const char *own, struct error *err)
{
    struct text script = {0};
    struct launch_options options = {0};
    int devices = write_arguments(rule, own, &script);
    const struct launch_input input = {
        .path = "run.sh", .data = script.data, .length = script.length, .is_alone = true};
    bool ok = launch_read(&options, &input, err);
    if (ok) {
        ok = launch_check(&options, devices, err);
        launch_options_release(&options);
    }
    text_release(&script);
    return ok;
}

/* Returns the longest part of a sentence between the values in it. */
static const char *plain_part(const char *said, char part[256])
{
    size_t longest = 0;
    for (const char *at = said; *at; at += strcspn(at, "}"), at += *at == '}') {
        size_t length = strcspn(at, "{");
        if (length > longest && length < 256) {
            longest = length;
            snprintf(part, 256, "%.*s", (int)length, at);
        }
        at += length;
    }
    return part;
}

static void each_rule_has_an_inside_and_an_outside(void **state)
{
    (void)state;
    int rules = 0, own = 0;
    for (const struct doc_node *rule = doc_find(table.root, "rules")->first_child; rule; rule = rule->next) {
        const char *in = text_of(rule, "in"), *out = text_of(rule, "out"), *said = text_of(rule, "says");
        struct error err;
        char part[256] = "";
        assert_true(in && out && said && text_of(rule, "needs") && text_of(rule, "at"));
        if (!is_taken(rule, in, &err))
            fail_msg("%s: inside: %s", said, err.text);
        if (is_taken(rule, out, &err))
            fail_msg("%s: taken outside", said);
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_int_equal(strncmp(err.text, "run.sh:", 7), 0); /* without a line: something is missing */
        own += strstr(err.text, plain_part(said, part)) != NULL;
        rules++;
    }
    /* the reader itself refuses some of them */
    assert_true(rules > 170 && own > rules * 9 / 10);
}

static void what_is_not_known_breaks_no_rule(void **state)
{
    (void)state;
    static const char script[] = "torchrun pretrain_gpt.py --num-layers $LAYERS --hidden-size $HIDDEN "
                                 "--num-attention-heads 16 --pipeline-model-parallel-size $PP --seq-length "
                                 "8192 --max-position-embeddings $POSITIONS --overlap-param-gather "
                                 "--overlap-grad-reduce --use-distributed-optimizer\n";
    const struct launch_input input = {
        .path = "run.sh", .data = script, .length = strlen(script), .is_alone = true};
    struct launch_options options = {0};
    struct error err;
    assert_true(launch_read(&options, &input, &err));
    if (!launch_check(&options, 0, &err))
        fail_msg("%s", err.text);
    launch_options_release(&options);
}

/* Only a command that shows all its arguments lacks one. */
static void what_is_elsewhere_is_not_missing(void **state)
{
    (void)state;
    static const char *const scripts[][2] = {{"pretrain_gpt.py", ""},
                                             {"pretrain_gpt.py", "--micro-batch-size 1"},
                                             {"pretrain_gpt.py", "\"$@\""},
                                             {"pretrain_gpt.py", "${1:-}"},
                                             {"pretrain_gpt.py", "--of-a-fork"},
                                             {"train_own.py", ""}};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct launch_options options = {0};
        struct error err;
        struct text script = {0};
        text_format(
            &script,
            "torchrun %s --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
            "--max-position-embeddings 1024 --global-batch-size 8 %s\n",
            scripts[i][0], scripts[i][1]);
        const struct launch_input input = {
            .path = "run.sh", .data = script.data, .length = script.length, .is_alone = true};
        assert_true(launch_read(&options, &input, &err));
        assert_int_equal(launch_check(&options, 8, &err), i > 0);
        if (i == 0)
            assert_string_equal(err.text, "run.sh: --micro-batch-size is missing");
        launch_options_release(&options);
        text_release(&script);
    }
}

/* Arguments of another program are not Megatron-LM's. */
static void other_programs_are_not_judged(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 1024 --overlap-param-gather\n",
        "deepspeed pretrain_gpt.py --num-layers 8 --hidden-size 1024 --overlap-param-gather --deepspeed\n"};
    for (int i = 0; i < 2; i++) {
        const struct launch_input input = {
            .path = "run.sh", .data = scripts[i], .length = strlen(scripts[i]), .is_alone = true};
        struct launch_options options = {0};
        struct error err;
        assert_true(launch_read(&options, &input, &err));
        assert_int_equal(launch_check(&options, 8, &err), i == 1);
        if (i == 0)
            assert_string_equal(err.text,
                                "run.sh:1: --overlap-param-gather gathers what ranks share: it needs "
                                "--use-distributed-optimizer or --use-megatron-fsdp");
        launch_options_release(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_has_an_inside_and_an_outside),
        cmocka_unit_test(what_is_not_known_breaks_no_rule),
        cmocka_unit_test(what_is_elsewhere_is_not_missing),
        cmocka_unit_test(other_programs_are_not_judged),
    };
    return cmocka_run_group_tests(tests, load, release);
}
