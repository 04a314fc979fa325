/* Names of products as drivers, frameworks and planners write them: the product's words in order, with or without
 * blanks, and in any order the form factor, the size and the kind of memory. Words of vendors are left out. */
#ifndef REHEARSE_DEVICES_PRODUCT_NAME_H
#define REHEARSE_DEVICES_PRODUCT_NAME_H

#include <stdbool.h>

#define PRODUCT_MAX_WORDS 12
#define PRODUCT_WORD      32 /* characters */

struct product_name {
    bool valid; /* false: no words, too many, one too long, or two sizes */
    int count;
    char text[PRODUCT_MAX_WORDS][PRODUCT_WORD]; /* "rtx", "a6000" */
    bool pcie, sxm;
    double size;             /* GB of memory; 0: not given */
    char kind[PRODUCT_WORD]; /* of memory: "hbm2e" */
};

/* Returns whether `name` may be a misspelling of a known name of the same product: words differ only by a slip that
 * leaves every number as it is. */
bool product_may_mean(const char *name, const char *known);

#endif
