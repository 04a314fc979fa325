/* Fits a generation's calibration to measured runs. */
#ifndef REHEARSE_EVIDENCE_CALIBRATE_RUNS_H
#define REHEARSE_EVIDENCE_CALIBRATE_RUNS_H

#include "core/error.h"
#include "devices/calibration.h"
#include "evidence/validate.h"

struct runs_fit {
    struct calibration calibration; /* `fitted` lives in the validation's arena */
    struct error_score fitted;      /* of the calibration fitted to all runs */
    struct error_score
        left_out; /* of five calibrations, each on the fifth of the runs that it was not fitted to */
    int runs;
};

/* Fits to the scored runs of one device generation, starting from its known calibration. Parameters that the
 * runs do not determine stay near their values. ERROR_INFEASIBLE with fewer than ten runs. `source` is named
 * in the result. */
bool calibrate_runs(struct runs_fit *fit, struct validation *validation, const char *generation,
                    const char *source, struct error *err);

#endif
