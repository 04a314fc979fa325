/* validate [TABLE]: the worst prediction of a table of measured runs; without one, of the published runs.
 *
 *     run: */
#include <rehearse.h>

#include <math.h>
#include <stdio.h>

static const void *element(const struct rh_array *array, int64_t at)
{
    return (const char *)array->data + at * array->stride[0];
}

int main(int argc, char **argv)
{
    struct rh_validate_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array id, errors, scored, reason;
    int64_t worst = -1;
    request.table = argc > 1 ? argv[1] : NULL;
    rh_report *report = rh_validate(&request, NULL, &error);
    if (!report)
        return fprintf(stderr, "%s\n", error.text), error.code;
    rh_get(report, "runs.id", &id);
    rh_get(report, "runs.error", &errors);
    rh_get(report, "runs.scored", &scored);
    rh_get(report, "runs.reason", &reason);
    for (int64_t i = 0; i < errors.shape[0]; i++) {
        const double *value = (const double *)element(&errors, i);
        if (*(const bool *)element(&scored, i) && !*(const char *const *)element(&reason, i) &&
            (worst < 0 || fabs(*value) > fabs(*(const double *)element(&errors, worst))))
            worst = i;
    }
    printf("%g of %g runs, median error %.1f %%\n", rh_number(report, "modelled"), rh_number(report, "rows"),
           100 * rh_number(report, "median_error"));
    if (worst >= 0)
        printf("the worst, %s: %+.1f %%\n", *(const char *const *)element(&id, worst),
               100 * *(const double *)element(&errors, worst));
    rh_free(report);
    return 0;
}
