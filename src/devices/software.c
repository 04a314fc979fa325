#include "devices/software.h"

#include "core/text.h"

#include <stddef.h>
#include <string.h>

#define MAX_PASSES  1000.0 /* of bytes and passes, too */
#define MAX_RATE    10.0
#define MAX_SECONDS 100.0

static const struct field fields[] = {
#define X(type, name, text, min, max) FIELD(struct software, name, FIELD_##type, min, max),
    SOFTWARE_MEMBERS(X)
#undef X
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
