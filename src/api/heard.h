/* The values of an answer are those of its JSON: what is written is heard, and callers ask for it by name.
 *
 *   {"a": {"b": 1}}                        a.b       a single value
 *   {"a": [1, 2]}                          a         a list
 *   {"a": [{"b": 1}, {"b": 2}]}            a.b       a list, with an element for each item of `a`
 *   {"a": [{"b": [1, 2]}, {"b": [3]}]}     a.b       the elements of all lists, one behind the other
 *                                          a.b.ends  how many there are up to the end of each: 2, 3
 *   {"a": [[1, 2], [3, 4]]}                a         a table; as above where the rows are not alike
 *
 * An empty list has the columns that its writer tells (fields_tell). Some values have a second name, without the maps
 * around them: `seconds.played` of a run is `played`, too.
 *
 * A list of whole numbers is one of numbers where some are fractions or unknown (NAN), a list of flags where some are
 * unknown; it is one of texts where any element is a text. */
#ifndef REHEARSE_API_HEARD_H
#define REHEARSE_API_HEARD_H

#include "api/value.h"

struct heard_node;

struct heard_place {
    struct heard_node *node;
    bool is_list;
};

/* Zero: nothing was heard. Its memory is the handle's. */
struct heard {
    rh_handle *handle;
    struct arena arena; /* until its end */
    struct heard_node *root;
    struct heard_place open[JSON_MAX_DEPTH + 1]; /* maps and lists */
    int depth;
    bool is_sample; /* what is heard has names and types alone */
    bool failed;
};

/* What json->listener needs; `context` is a struct heard. */
void heard_item(void *context, const struct json_item *item);

/* Adds to the handle what was heard, but for names that it has, and ends the answer. */
void heard_end(struct heard *heard);

#endif
