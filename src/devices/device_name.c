#include "devices/device_name.h"
#include "core/text.h"
#include "devices/product_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_any_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Words that a name may have or not: vendors, their brands, and the board that all devices of a name have (OAM). CTS is
 * a cooler. */
static bool says_nothing(const char *word)
{
    static const char *const vendors[] = {"nvidia",  "amd", "instinct", "tesla",
                                          "geforce", "gpu", "cts",      "oam"};
    return is_any_of(word, vendors, sizeof vendors / sizeof *vendors);
}

static bool is_memory_kind(const char *word)
{
    static const char *const kinds[] = {"hbm", "hbm2", "hbm2e", "hbm3", "hbm3e"};
    return is_any_of(word, kinds, sizeof kinds / sizeof *kinds);
}

static bool is_size_unit(const char *word)
{
    static const char *const units[] = {"g", "gb", "gib"};
    return is_any_of(word, units, sizeof units / sizeof *units);
}

static bool has_digit(const char *word)
{
    return word[strcspn(word, "0123456789")] != '\0';
}

/* Of the product's words so far. */
static bool has_number(const struct product_name *words)
{
    for (int i = 0; i < words->count; i++)
        if (has_digit(words->text[i]))
            return true;
    return false;
}

/* GB of "80gb", and of the "80" after a product's own number; 0: it is another word. */
static double size_of(const struct product_name *words, const char *word)
{
    char *end;
    long size = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : 0;
    return size > 0 && (is_size_unit(end) || (*end == '\0' && has_number(words))) ? (double)size : 0.0;
}

static void add_product_word(struct product_name *words, const char *word)
{
    char *last = words->count > 0 ? words->text[words->count - 1] : NULL;
    /* "v 100" is "v100" */
    bool joined = last && strlen(last) <= 2 && !has_digit(last) && isdigit((unsigned char)*word) &&
                  strlen(last) + strlen(word) < PRODUCT_WORD;
    if (joined)
        snprintf(last + strlen(last), PRODUCT_WORD - strlen(last), "%s", word);
    else if (words->count < PRODUCT_MAX_WORDS)
        snprintf(words->text[words->count++], PRODUCT_WORD, "%s", word);
    else
        words->valid = false;
}

static void add_word(struct product_name *words, const char *word)
{
    double size = size_of(words, word);
    if (size > 0.0) {
        words->valid = words->valid && words->size == 0.0;
        words->size = size;
    } else if (words->size > 0.0 && is_size_unit(word)) {
        return; /* "80 GB" */
    } else if (is_memory_kind(word)) {
        snprintf(words->kind, sizeof words->kind, "%s", word);
    } else if (strcmp(word, "pcie") == 0) {
        words->pcie = true;
    } else if (strncmp(word, "sxm", 3) == 0 && strspn(word + 3, "0123456789") == strlen(word + 3)) {
        words->sxm = true; /* SXM2 of V100, SXM4 of A100: the device says it already */
    } else if (!says_nothing(word)) {
        add_product_word(words, word);
    }
}

static struct product_name product_name_read(const char *name)
{
    static const char between[] = " -_/,";
    struct product_name words = {.valid = true};
    while (words.valid && *(name += strspn(name, between)) != '\0') {
        size_t length = strcspn(name, between);
        char word[PRODUCT_WORD] = "";
        if (length >= sizeof word) {
            words.valid = false;
            return words;
        }
        for (size_t i = 0; i < length; i++)
            word[i] = (char)tolower((unsigned char)name[i]);
        add_word(&words, word);
        name += length;
    }
    words.valid = words.valid && words.count > 0;
    return words;
}

/* The product's words without blanks: "rtx 4090" is "rtx4090". */
static void join(const struct product_name *words, char *joined)
{
    *joined = '\0';
    for (int i = 0; i < words->count; i++) {
        size_t length = strlen(words->text[i]);
        memcpy(joined, words->text[i], length + 1);
        joined += length;
    }
}

static bool product_name_same(const struct product_name *a, const struct product_name *b)
{
    char products[2][PRODUCT_MAX_WORDS * PRODUCT_WORD];
    if (!a->valid || !b->valid || a->pcie != b->pcie || a->sxm != b->sxm || a->size != b->size ||
        strcmp(a->kind, b->kind) != 0)
        return false;
    join(a, products[0]);
    join(b, products[1]);
    return strcmp(products[0], products[1]) == 0;
}

/* ---- names that are misspelt ---- */

/* All words but those of memory. */
static int spelt_words(const struct product_name *words, const char *spelt[PRODUCT_MAX_WORDS + 2])
{
    int count = 0;
    for (int i = 0; i < words->count; i++)
        spelt[count++] = words->text[i];
    if (words->pcie)
        spelt[count++] = "pcie";
    if (words->sxm)
        spelt[count++] = "sxm";
    return count;
}

/* A number is never a slip: "a6000ti" and "rtx-3080" are other products than those of the table. */
static bool may_be_word(const char *word, const char *other)
{
    return strcmp(word, other) == 0 ||
           (!has_digit(word) && !has_digit(other) && text_nearest(word, &other, 1));
}

bool product_may_mean(const char *name, const char *known)
{
    const char *spelt[2][PRODUCT_MAX_WORDS + 2];
    const struct product_name words[2] = {product_name_read(name), product_name_read(known)};
    if (!words[0].valid || !words[1].valid ||
        (words[0].size != words[1].size && words[0].size > 0.0 && words[1].size > 0.0))
        return false;
    int count = spelt_words(&words[0], spelt[0]);
    if (spelt_words(&words[1], spelt[1]) != count)
        return false;
    for (int i = 0; i < count; i++)
        if (!may_be_word(spelt[0][i], spelt[1][i]))
            return false;
    return true;
}

/* The share of the table's memory that a name's size in GiB is at least, as some memory is reserved; in units of 1000
 * it is at most all of it. */
#define MIN_SIZE 0.88
#define MAX_SIZE 1.005

static bool is_called(const struct product_name *product, const char *name)
{
    struct product_name other = product_name_read(name);
    return product_name_same(product, &other);
}

static const struct cost_device *find_in(const struct table *table, const struct product_name *product)
{
    for (int i = 0; table && i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        bool found = is_called(product, device->name) || is_called(product, device->title);
        for (int a = 0; !found && a < device->alias_count; a++)
            found = is_called(product, device->aliases[a]);
        if (found)
            return device;
    }
    return NULL;
}

/* Finds a user's device, or a known one, or the user's that replaces that. */
static const struct cost_device *find(const struct table *added, const struct table *known,
                                      const struct product_name *product)
{
    const struct cost_device *device = find_in(added, product);
    if (device)
        return device;
    device = find_in(known, product);
    const struct cost_device *own = device ? table_find(added, device->name) : NULL;
    return own ? own : device;
}

/* A name that is not known with its kind of memory, or with its size, may be without. */
static const struct cost_device *find_product(const struct table *added, const struct table *known,
                                              const char *name)
{
    struct product_name product = product_name_read(name);
    double size = product.size;
    if (!product.valid)
        return NULL;
    const struct cost_device *device = find(added, known, &product);
    if (!device && *product.kind) {
        *product.kind = '\0';
        device = find(added, known, &product);
    }
    if (device || size == 0.0)
        return device;
    product.size = 0.0;
    device = find(added, known, &product);
    double memory = device ? (double)device->memory : 0.0;
    return size * 0x1p30 >= MIN_SIZE * memory && size * 1e9 <= MAX_SIZE * memory ? device : NULL;
}

const struct cost_device *device_named(const struct table *added, const struct table *known, const char *text)
{
    char name[128];
    if (strlen(text) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%s", text);
    char *bracket = strstr(name, " (");
    const struct cost_device *whole = find_product(added, known, name);
    if (whole || !bracket)
        return whole;
    *bracket = '\0';
    const struct cost_device *device = find_product(added, known, name);
    char *inner = bracket + 2, *end = strchr(inner, ')');
    if (end)
        *end = '\0';
    return device ? device : find_product(added, known, inner);
}
