/* What a published run says in words: its software, precision and recomputation. */
#ifndef REHEARSE_EVIDENCE_RUN_WORDS_H
#define REHEARSE_EVIDENCE_RUN_WORDS_H

#include "evidence/validate.h"

struct run_words {
    const char *framework, *version, *date, *precision, *recompute, *notes,
        *assumed;      /* cells; "": not given */
    const char *place; /* the file of its source */
    bool given;        /* the table, or an option, names software */
};

/* Sets the run's software, and what is said about it. Software that nobody knows is `mixed`. Returns what stands for a
 * rank of LoRA and is none; NULL: nothing. */
const char *run_read_software(struct run *run, const struct run_words *words);

/* Sets the type of products, and the format of frozen weights. False: the precision is unknown. */
bool run_read_precision(struct run *run, const char *text);

/* Sets recomputation and its modules or blocks. False: it is unknown. */
bool run_read_recompute(struct run *run, const char *text);

/* Sets what software does by the kind of a run (perf, pretrain, sft, lora; "": not said) and the file of its source:
 * whether graphs launch its kernels, and how it packs documents. */
void run_read_habits(struct run *run, const char *kind, const char *place, const char *notes);

#endif
