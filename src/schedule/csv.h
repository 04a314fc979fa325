/* The schedule CSV of PyTorch (torch.distributed.pipelining): which actions each rank of a pipeline does in which
 * order.
 *
 *     0F0,0F1,,1I0,(0F2;1B1)OVERLAP_F_B,0SEND_F2
 *
 * A row is a rank and has no fixed length. A cell is empty (a step in which the rank idles) or holds an action: stage,
 * kind, micro-batch. UNSHARD, RESHARD and REDUCE_GRAD need no micro-batch. A pair in parentheses overlaps. Ranks,
 * cells, stages and micro-batches count from 0, here and in messages. Stages form one chain.
 *
 * BW or I in any cell tells the two generations of letters (action.h) apart. A file with neither has the
 * older letters if it has W, since a whole pass leaves no weight gradient to do, and otherwise the newer ones.
 *
 * What is read keeps empty cells, communication, letters and line ends, so that it is written back byte for byte. */
#ifndef REHEARSE_SCHEDULE_CSV_H
#define REHEARSE_SCHEDULE_CSV_H

#include "core/text.h"
#include "schedule/action.h"

#define SCHEDULE_CSV_MAX_BYTES   ((size_t)256 << 20)
#define SCHEDULE_CSV_MAX_ACTIONS (1 << 24) /* empty cells count */

extern const char *const schedule_letter_names[]; /* "newer", "older"; ends with NULL */

struct schedule_csv {
    const char *path; /* for messages; lives as long as the schedule */
    int ranks;
    enum schedule_letters letters;
    bool carriage_returns; /* lines end in CR LF, as Python's csv module writes them */
    bool unended;          /* the last line has no end */
    size_t *first;         /* actions first[r] .. first[r + 1] - 1 are those of rank r */
    size_t first_capacity;
    struct pass *actions;
    size_t count, capacity; /* of actions */
};

/* Reads a file, or text; `path` is for messages. On failure *csv holds nothing; on success the caller ends it with
 * schedule_csv_release. Only the form is checked. */
bool schedule_csv_load(struct schedule_csv *csv, const char *path, struct error *err);
bool schedule_csv_parse(struct schedule_csv *csv, const char *path, const char *data, size_t length,
                        struct error *err);
void schedule_csv_release(struct schedule_csv *csv);

void schedule_csv_write(const struct schedule_csv *csv, struct text *out);

/* Checks the actions by the checker of orders (check.h). In a file without communication a pass waits for the pass on
 * the other rank. ERROR_INPUT names rank, cell and action. */
bool schedule_csv_check(const struct schedule_csv *csv, struct error *err);

/* Checks the actions and makes the order of their passes, which the caller ends with pass_order_release, also after a
 * failure. Empty cells and communication are not in it. */
bool schedule_csv_order(const struct schedule_csv *csv, struct pass_order *order, struct error *err);

struct schedule_csv_form {
    enum schedule_letters letters;
    /* The order is written as PyTorch's runtime takes it: with SEND and RECV, and with a weight gradient that directly
     * follows its input gradient joined to a whole backward pass. */
    bool with_sends;
};

/* Makes the actions of an order; ends as schedule_csv_parse. ERROR_INPUT: its stages form several chains, or it has too
 * many passes. With sends, the order must be complete and without circles, or ERROR_INPUT is returned. */
bool schedule_csv_of_order(struct schedule_csv *csv, const struct pass_order *order,
                           const struct schedule_csv_form *form, struct error *err);

/* For the files of csv*.c: */

/* Returns the rank of an action, by its index. */
int schedule_csv_rank_of(const struct schedule_csv *csv, size_t action);

#endif
