#include "devices/software.h"

#include "core/text.h"

#include <stddef.h>
#include <string.h>

#define MAX_PASSES  1000.0 /* of bytes and passes, too */
#define MAX_RATE    10.0
#define MAX_SECONDS 100.0

static const struct field fields[] = {
    FIELD(struct software, attention_forward, FIELD_DOUBLE, 0, MAX_RATE),
    FIELD(struct software, attention_backward, FIELD_DOUBLE, 0, MAX_RATE),
    FIELD(struct software, block_forward, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, block_backward, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, middle, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, softmax_forward, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, softmax_backward, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, loss, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, loss_kept, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, loss_kept_split, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, optimizer, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, accumulate, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, tensor_shown, FIELD_DOUBLE, 0, 1),
    FIELD(struct software, tensor_overlapped, FIELD_DOUBLE, 0, 1),
    FIELD(struct software, expert_rate, FIELD_DOUBLE, 0, MAX_RATE),
    FIELD(struct software, narrow_rate, FIELD_DOUBLE, 0, MAX_RATE),
    FIELD(struct software, narrow_kept, FIELD_FLAG, 0, 1),
    FIELD(struct software, weighs_inside, FIELD_FLAG, 0, 1),
    FIELD(struct software, narrow_dispatch, FIELD_FLAG, 0, 1),
    FIELD(struct software, block_host, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, expert_host, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, expert_each, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, step_host, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, shard_host, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, state_each, FIELD_DOUBLE, 0, MAX_SECONDS),
    FIELD(struct software, data_shown, FIELD_DOUBLE, 0, 1),
    FIELD(struct software, gradient_bytes, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, parameter_bytes, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, stored_gradient_bytes, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, state_bytes, FIELD_DOUBLE, 0.01, MAX_PASSES),
    FIELD(struct software, unsharded_bytes, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, backward_working, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, matrix_working, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, step_bytes, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, runtime_share, FIELD_DOUBLE, 0, 1),
    FIELD(struct software, eager, FIELD_FLAG, 0, 1),
    FIELD(struct software, one_pass, FIELD_FLAG, 0, 1),
    FIELD(struct software, late_gradients, FIELD_FLAG, 0, 1),
    FIELD(struct software, keeps_inputs, FIELD_FLAG, 0, 1),
    FIELD(struct software, adapter_in, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, adapter_out, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, adapter_back_in, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, adapter_back_out, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, adapter_bytes, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, dequantize, FIELD_DOUBLE, 0, MAX_PASSES),
    FIELD(struct software, sequence_parallel, FIELD_FLAG, 0, 1),
    FIELD(struct software, sharded, FIELD_FLAG, 0, 1),
    FIELD(struct software, fully_sharded, FIELD_FLAG, 0, 1),
    FIELD(struct software, shows_shards, FIELD_FLAG, 0, 1),
    FIELD(struct software, gathers_matrices, FIELD_FLAG, 0, 1),
    FIELD(struct software, keeps_root, FIELD_FLAG, 0, 1),
    FIELD(struct software, keeps_gathered, FIELD_FLAG, 0, 1),
    FIELD(struct software, keeps_with_experts, FIELD_FLAG, 0, 1),
    FIELD(struct software, interleaves, FIELD_FLAG, 0, 1),
    FIELD(struct software, steps_together, FIELD_FLAG, 0, 1),
    FIELD(struct software, splits_local_batch, FIELD_FLAG, 0, 1),
    FIELD(struct software, send_blocks, FIELD_FLAG, 0, 1),
    FIELD(struct software, gathers_copied, FIELD_FLAG, 0, 1),
    FIELD(struct software, narrow_gathered, FIELD_FLAG, 0, 1),
    FIELD(struct software, caches_weights, FIELD_FLAG, 0, 1),
    FIELD(struct software, selective_kept, FIELD_DOUBLE, 0, 1),
    FIELD(struct software, selective, FIELD_DOUBLE, 0, 1),
    {.key = "attention", .type = FIELD_OTHER},
    {.key = "dispatch", .type = FIELD_OTHER},
    {.key = "some_blocks", .type = FIELD_OTHER},
    {.key = "offers", .type = FIELD_OTHER},
    {.key = "zero", .type = FIELD_OTHER},
    {.key = "zero_staged", .type = FIELD_OTHER},
    {.key = "schedules", .type = FIELD_OTHER},
    {.key = "techniques", .type = FIELD_OTHER},
};

/* Members that are words: one, or a set of bits. */
static const char *const attentions[] = {"unfused", "flash2", "flash3", NULL};
static const char *const offers[] = {"tensor", "pipeline", "chunks", "context", "expert", "layouts", NULL};
static const char *const stages[] = {"0", "1", "2", "3", NULL};

static const struct word_member {
    const char *key;
    size_t offset;
    const char *const *words; /* NULL: the values of a technique */
    enum technique_kind of;   /* TECHNIQUE_COUNT: names of techniques */
    bool is_set;              /* uint64_t, else an enum */
} word_members[] = {
    {"attention", offsetof(struct software, attention), attentions, 0, false},
    {"dispatch", offsetof(struct software, dispatch), NULL, TECHNIQUE_DISPATCH, false},
    {"some_blocks", offsetof(struct software, some_blocks), NULL, TECHNIQUE_METHOD, false},
    {"offers", offsetof(struct software, offers), offers, 0, true},
    {"zero", offsetof(struct software, zero), stages, 0, true},
    {"zero_staged", offsetof(struct software, zero_staged), stages, 0, true},
    {"schedules", offsetof(struct software, schedules), NULL, TECHNIQUE_SCHEDULE, true},
    {"techniques", offsetof(struct software, techniques), NULL, TECHNIQUE_COUNT, true},
};

static bool find_word(const struct word_member *member, const char *text, int *value, struct text *expected)
{
    if (member->of == TECHNIQUE_COUNT) {
        enum technique_kind kind;
        if (!technique_find(text, &kind)) {
            text_add(expected, "the name of a technique, as of --fix");
            return false;
        }
        *value = (int)kind;
        return true;
    }
    if (!member->words)
        return technique_read(text, member->of, value, expected);
    for (int i = 0; member->words[i]; i++) {
        if (strcmp(member->words[i], text) == 0) {
            *value = i;
            return true;
        }
        text_format(expected, "%s%s", i > 0 ? ", " : "", member->words[i]);
    }
    return false;
}

static bool read_word(struct table_reader *r, const struct doc_node *node, const struct word_member *member,
                      int *value)
{
    struct text expected = {0};
    bool is_word = node->type == DOC_STRING || node->type == DOC_NUMBER;
    bool found = find_word(member, is_word ? node->text : "", value, &expected);
    if (expected.failed)
        found = error_memory(r->err);
    else if (!found)
        doc_error(r->doc, node, r->err, "expected %s, found '%s'", expected.data, is_word ? node->text : "");
    text_release(&expected);
    return found;
}

static bool read_member(struct table_reader *r, const struct doc_node *node, const struct word_member *member,
                        void *at)
{
    int value = 0;
    uint64_t set = 0;
    if (!member->is_set) {
        if (!read_word(r, node, member, &value))
            return false;
        *(int *)at = value;
        return true;
    }
    if (!doc_is_list(r->doc, node, r->err))
        return false;
    for (const struct doc_node *word = node->first_child; word; word = word->next) {
        if (!read_word(r, word, member, &value))
            return false;
        set |= UINT64_C(1) << value;
    }
    *(uint64_t *)at = set;
    return true;
}

static bool read_software(struct table_reader *r, const struct doc_node *map, void *entry)
{
    struct software *software = entry;
    for (size_t i = 0; i < sizeof word_members / sizeof *word_members; i++) {
        const struct word_member *member = &word_members[i];
        const struct doc_node *node = doc_find(map, member->key);
        if (node && !read_member(r, node, member, (char *)entry + member->offset))
            return false;
    }
    if (r->table == r->known)
        software->like = NULL; /* a built-in one's numbers are its own, whoever has the same */
    if (software->zero != 0)
        return true;
    const struct doc_node *zero = doc_need(r->doc, map, "zero", r->err);
    return zero && doc_error(r->doc, zero, r->err, "expected at least one stage");
}

const struct table_kind software_kind = {
    .format = "rehearse-software/1",
    .noun = "software",
    .list = "software",
    .parts = TABLE_TITLED | TABLE_ALIASED | TABLE_SOURCED | TABLE_FITTED | TABLE_LIKE | TABLE_SINGLE,
    .max_entries = SOFTWARE_MAX,
    .size = sizeof(struct software),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
    .read = read_software,
};

const char *software_family(const struct software *software)
{
    return software->like ? software->like : software->name;
}

bool software_splits_norms(const struct software *software, int sequence)
{
    return sequence == SWITCH_USUAL ? software->sequence_parallel : sequence == SWITCH_ON;
}

enum attention_kind software_attention(const struct software *software, int fused)
{
    if (fused == SWITCH_OFF)
        return ATTENTION_UNFUSED;
    return fused == SWITCH_ON && software->attention == ATTENTION_UNFUSED ? ATTENTION_FLASH2
                                                                          : software->attention;
}
