/* Laws: what must hold for every question, whichever it is. A case is a random question, drawn from its seed alone, and a law
 * that asks it again in another way.
 *
 *     REHEARSE_LAWS_CASES=20000    how many cases
 *     REHEARSE_LAWS_SEED=17        that case alone
 *     REHEARSE_LAWS_KEEP=FOLDER    where its files stay, so that the printed command lines can be typed again
 *
 * A law that does not hold yet stands in the table of exceptions (laws_test.c), with its reason. */
#ifndef REHEARSE_TESTS_LAWS_LAWS_H
#define REHEARSE_TESTS_LAWS_LAWS_H

#include "ask.h"
#include "world.h"

#define LAWS_SAME 1e-9 /* relative: times that differ by less are equal */

struct law_case {
    struct random_source random;
    const char *folder; /* of its files */
    struct question question;
    struct answer answer;
    struct world world; /* of a question about layers */
    FILE *log;          /* the questions asked, for a failure */
    char why[2048];     /* set by law_broken */
};

struct law {
    const char *name;
    /* Returns whether it holds, or has nothing to say about this case. */
    bool (*holds)(struct law_case *kase);
};

struct family {
    const char *name;
    int share; /* of the cases: so many of 100 */
    int laws_per_case;
    void (*draw)(struct law_case *kase); /* sets the question, and writes its files */
    const struct law *laws;              /* ended by a NULL name */
};

extern const struct family family_pipeline, family_fleet, family_templates, family_dapple, family_job,
    family_mixed, family_schedule;

/* Asks, and notes the question. */
struct answer law_ask(struct law_case *kase, const struct question *question, int threads);

/* Sets kase->why, and returns false. */
bool law_broken(struct law_case *kase, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* FOLDER/name, in a text of the case's own that lives until the next case. */
const char *law_path(struct law_case *kase, const char *name);

bool law_near(double a, double b);

/* Laws of several families. */
bool law_threads(struct law_case *kase);   /* 1, 2 and 7 threads */
bool law_forms(struct law_case *kase);     /* text = JSON = library */
bool law_checked(struct law_case *kase);   /* check-plan has the plan's time, and finds none that is better */
bool law_simulated(struct law_case *kase); /* the simulator prints the formula of the plan it plays */
bool law_repeated(struct law_case *kase);  /* a plan that is read is written as it was */

/* Those of every plan. */
#define LAWS_OF_PLANS                                                                                        \
    {"threads", law_threads}, {"forms", law_forms}, {"repeated", law_repeated}, {"check-plan", law_checked}, \
    {                                                                                                        \
        "simulate", law_simulated                                                                            \
    }

/* The other question has the same answer, `factor` times as long. */
bool law_equal(struct law_case *kase, const struct question *other, double factor);
bool law_equal_in(struct law_case *kase, const struct world *other, double factor, bool shuffle);

/* The question about another world, which has all of this one and more, is not answered by a longer time. */
bool law_no_worse_in(struct law_case *kase, const struct world *other, const char *what);
bool law_no_worse(struct law_case *kase, const struct question *other, const char *what);

#endif
