/* The number of processes that a launcher started, and the module that connects them. */
#include "comm/internal.h"
#include "comm/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Gets the folder of the program, with the final slash. */
static bool program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    slash[1] = 0;
    return true;
}

/* Opens a module with global symbols: libmpi looks up its own parts among them. */
static void *open_at(const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return access(path, F_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

static void *open_module(struct error *err)
{
    char folder[PATH_MAX];
    const char *given = getenv("REHEARSE_MPI_MODULE");
    void *module = NULL;
    dlerror();
    if (given && *given)
        module = dlopen(given, RTLD_NOW | RTLD_GLOBAL);
    else if (program_folder(folder) && !(module = open_at(folder, MODULE)))
        module = open_at(folder, REHEARSE_MPI_MODULE_FROM_BIN);
    if (module)
        return module;
    const char *why = dlerror(); /* NULL: there was no file to open */
    error_set(err, ERROR_FAILED, "started as one of %d processes, but cannot load MPI: %s", comm_launched(),
              why ? why : MODULE " is neither beside the program nor in " REHEARSE_MPI_MODULE_FROM_BIN);
    return NULL;
}

const struct comm_calls *comm_load_module(struct error *err)
{
    void *module = open_module(err);
    if (!module)
        return NULL;
    const struct comm_calls *calls = dlsym(module, COMM_MODULE_SYMBOL);
    if (calls && calls->version == COMM_MODULE_VERSION)
        return calls;
    error_set(err, ERROR_FAILED, "%s is of another version of rehearse", MODULE);
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
