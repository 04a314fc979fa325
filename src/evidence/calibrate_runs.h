/* Fitting a generation's calibration to measured runs. */
#ifndef REHEARSE_EVIDENCE_CALIBRATE_RUNS_H
#define REHEARSE_EVIDENCE_CALIBRATE_RUNS_H

#include "core/error.h"
#include "devices/calibration.h"
#include "evidence/validate.h"

struct runs_fit {
    struct calibration calibration; /* `fitted` lives in the validation's arena */
    struct validation_score fitted; /* of the runs, with the calibration fitted to them, */
    struct validation_score
        left_out; /* and each with one fitted to the others, a fifth of them left out at a time */
    int runs;
};

/* Fits to the scored runs of one device generation, starting from what is known of it. Parameters that the runs say
 * nothing about stay near where they are. ERROR_INFEASIBLE when there are fewer than ten runs. `source` is named in
 * the result. */
bool calibrate_runs(struct runs_fit *fit, struct validation *validation, const char *generation,
                    const char *source, struct error *err);

#endif
