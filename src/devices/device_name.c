#include "devices/tables.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS   12
#define WORD_LENGTH 32

/* The maximum difference of a size in a name (in units of 1000 or 1024, with or without reserved memory) from the
 * table's. */
#define SIZE_SPREAD 0.12

/* A name, taken apart. */
struct words {
    int count; /* -1: too many, or too long */
    char text[MAX_WORDS][WORD_LENGTH];
};

static bool is_any_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Words that every name of a vendor may have or not; CTS is a cooler. */
static bool says_nothing(const char *word)
{
    static const char *const vendors[] = {"nvidia", "amd", "instinct", "tesla", "geforce", "gpu", "cts"};
    return is_any_of(word, vendors, sizeof vendors / sizeof *vendors);
}

/* GB of "80gb"; 0: it is another word. */
static double size_of(const char *word)
{
    char *end;
    long size = strtol(word, &end, 10);
    return end > word && (strcmp(end, "gb") == 0 || strcmp(end, "gib") == 0) ? (double)size : 0.0;
}

static bool is_memory_kind(const char *word)
{
    static const char *const kinds[] = {"hbm", "hbm2", "hbm2e", "hbm3", "hbm3e"};
    return is_any_of(word, kinds, sizeof kinds / sizeof *kinds);
}

static void add_word(struct words *words, const char *word)
{
    char *last = words->count > 0 ? words->text[words->count - 1] : NULL;
    bool unit = strcmp(word, "gb") == 0 || strcmp(word, "gib") == 0;
    if (unit && last && strspn(last, "0123456789") == strlen(last) && strlen(last) < 8) { /* "80 GB" */
        snprintf(last + strlen(last), WORD_LENGTH - strlen(last), "%s", word);
        return;
    }
    if (says_nothing(word))
        return;
    if (words->count == MAX_WORDS) {
        words->count = -1;
        return;
    }
    /* SXM2 of V100, SXM4 of A100: the device says it already */
    bool numbered = strncmp(word, "sxm", 3) == 0 && strlen(word) == 4 && isdigit((unsigned char)word[3]);
    snprintf(words->text[words->count++], WORD_LENGTH, "%s", numbered ? "sxm" : word);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct words words_of(const char *name)
{
    static const char between[] = " -_/,";
    struct words words = {0};
    while (words.count >= 0 && *(name += strspn(name, between)) != '\0') {
        size_t length = strcspn(name, between);
        char word[WORD_LENGTH] = "";
        if (length >= sizeof word) {
            words.count = -1;
            return words;
        }
        for (size_t i = 0; i < length; i++)
            word[i] = (char)tolower((unsigned char)name[i]);
        add_word(&words, word);
        name += length;
    }
    if (words.count > 0)
        qsort(words.text, (size_t)words.count, sizeof *words.text, compare_words);
    return words;
}

static bool same_words(const struct words *words, const char *name)
{
    struct words other = words_of(name);
    if (other.count != words->count || words->count <= 0)
        return false;
    for (int i = 0; i < words->count; i++)
        if (strcmp(words->text[i], other.text[i]) != 0)
            return false;
    return true;
}

static bool goes_by(const struct cost_device *device, const struct words *words)
{
    if (same_words(words, device->name) || same_words(words, device->title))
        return true;
    for (int i = 0; i < device->alias_count; i++)
        if (same_words(words, device->aliases[i]))
            return true;
    return false;
}

/* Finds a known device, or the user's device that replaces it. */
static const struct cost_device *find(const struct tables *tables, const struct words *words)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    for (int i = 0; i < table->count; i++)
        if (goes_by(&table->devices[i], words))
            return tables_device(tables, table->devices[i].name);
    return NULL;
}

/* Returns the words without those of memory. *size is the size of memory that they give; 0: none. */
static struct words without_memory(const struct words *words, double *size)
{
    struct words rest = {0};
    *size = 0.0;
    for (int i = 0; i < words->count; i++) {
        double here = size_of(words->text[i]);
        if (here > 0.0)
            *size = here;
        else if (!is_memory_kind(words->text[i]))
            snprintf(rest.text[rest.count++], WORD_LENGTH, "%s", words->text[i]);
    }
    return rest;
}

static const struct cost_device *find_words(const struct tables *tables, const char *name)
{
    const struct cost_device *device = tables_device(tables, name);
    struct words words = words_of(name);
    if (device || words.count <= 0)
        return device;
    device = find(tables, &words);
    if (device)
        return device;
    double size;
    struct words rest = without_memory(&words, &size);
    device = rest.count < words.count ? find(tables, &rest) : NULL;
    double memory = device ? (double)device->memory : 0.0;
    bool fits = size == 0.0 ||
                (size * 0x1p30 >= (1.0 - SIZE_SPREAD) * memory && size * 1e9 <= (1.0 + SIZE_SPREAD) * memory);
    return fits ? device : NULL;
}

const struct cost_device *device_named(const struct tables *tables, const char *text)
{
    char name[128];
    if (strlen(text) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%s", text);
    char *bracket = strstr(name, " (");
    const struct cost_device *whole = find_words(tables, name);
    if (whole || !bracket)
        return whole;
    *bracket = '\0';
    const struct cost_device *device = find_words(tables, name);
    char *inner = bracket + 2, *end = strchr(inner, ')');
    if (end)
        *end = '\0';
    return device ? device : find_words(tables, inner);
}
