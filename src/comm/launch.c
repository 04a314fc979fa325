/* The number of processes that a launcher started, and the module that connects them. */
#include "comm/internal.h"
#include "comm/load.h"
#include "comm/module.h"
#include "core/features.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#define MODULE "rehearse-mpi.so"

/* Variables of launchers: Open MPI's mpirun; MPICH's, and srun --mpi=pmi2; srun alone. SLURM_NTASKS is no
 * sign of several processes, as a batch script has it, too. */
static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

int comm_launched(void)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = getenv(counts[i]);
        char *end;
        long count = text ? strtol(text, &end, 10) : 0;
        if (count > 0 && *end == 0 && count <= INT_MAX)
            return (int)count;
    }
    return 1;
}

#ifdef REHEARSE_HAVE_MPI

/* With global symbols: libmpi looks up its own parts among them. */
static void *open_module(struct error *err)
{
    static const struct module_place place = {
        .file = MODULE,
        .variable = "REHEARSE_MPI_MODULE",
        .from_bin = REHEARSE_MPI_MODULE_FROM_BIN,
        .flags = RTLD_NOW | RTLD_GLOBAL,
    };
    char why[800];
    void *module = module_load(&place, why, sizeof why);
    if (!module)
        error_set(err, ERROR_FAILED, "started as one of %d processes, but cannot load MPI: %s",
                  comm_launched(), why);
    return module;
}

const struct comm_calls *comm_load_module(struct error *err)
{
    void *module = open_module(err);
    if (!module)
        return NULL;
    const struct comm_calls *calls = dlsym(module, COMM_MODULE_SYMBOL);
    if (calls && calls->version == COMM_MODULE_VERSION)
        return calls;
    error_set(err, ERROR_FAILED, "%s belongs to another version of rehearse", MODULE);
    return NULL;
}

#else

const struct comm_calls *comm_load_module(struct error *err)
{
    error_set(err, ERROR_FAILED,
              "started as one of %d processes, but this rehearse was built without MPI: start one",
              comm_launched());
    return NULL;
}

#endif
