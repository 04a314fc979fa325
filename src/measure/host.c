#include "measure/host.h"

#include "core/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NOTICED 0.05 /* share of the cores' time that is worth a warning */

/* ---- facts ---- */

static void read_processor(char *name, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    *name = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (value && text_starts_with(line, "model name")) {
            value += strspn(value, ": \t");
            snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
    if (file)
        fclose(file);
}

void host_read_facts(struct host_facts *facts)
{
    struct utsname system;
    time_t now = time(NULL);
    struct tm calendar;
    memset(facts, 0, sizeof *facts);
    if (uname(&system) == 0) {
        snprintf(facts->name, sizeof facts->name, "%s", system.nodename);
        snprintf(facts->system, sizeof facts->system, "%.40s %.60s %.40s", system.sysname, system.release,
                 system.machine);
    }
    read_processor(facts->processor, sizeof facts->processor);
    if (gmtime_r(&now, &calendar))
        strftime(facts->date, sizeof facts->date, "%Y-%m-%dT%H:%M:%SZ", &calendar);
}

/* ---- cores ---- */

bool host_cores(cpu_set_t *cores, struct error *err)
{
    CPU_ZERO(cores);
    return sched_getaffinity(0, sizeof *cores, cores) == 0 ||
           error_set(err, ERROR_FAILED, "cannot read which cores may be used: %s", strerror(errno));
}

bool host_read_cores(cpu_set_t *cores, const char *list, struct error *err)
{
    cpu_set_t allowed;
    CPU_ZERO(cores);
    if (!host_cores(&allowed, err))
        return false;
    for (const char *at = list;; at++) {
        char *end;
        errno = 0;
        long first = strtol(at, &end, 10), last = first;
        bool read = *at >= '0' && *at <= '9';
        if (read && *end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            read = *at >= '0' && *at <= '9';
        }
        if (!read || (*end && *end != ',') || first > last || last >= CPU_SETSIZE)
            return error_set(err, ERROR_USAGE, "--cores: expected numbers of cores such as 0,2-3; found '%s'",
                             list);
        for (long core = first; core <= last; core++) {
            if (!CPU_ISSET((size_t)core, &allowed))
                return error_set(err, ERROR_USAGE, "--cores: core %ld is not there, or not for this process",
                                 core);
            CPU_SET((size_t)core, cores);
        }
        if (!*end)
            return true;
        at = end;
    }
}

bool host_pin(const cpu_set_t *cores, struct error *err)
{
    return sched_setaffinity(0, sizeof *cores, cores) == 0 ||
           error_set(err, ERROR_FAILED, "cannot pin the process to the cores of --cores: %s",
                     strerror(errno));
}

void host_write_cores(const cpu_set_t *cores, struct text *out)
{
    size_t before = out->length;
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, cores))
            continue;
        size_t last = core;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cores))
            last++;
        text_format(out, "%s%zu", out->length > before ? "," : "", core);
        if (last > core)
            text_format(out, "-%zu", last);
        core = last;
    }
}

/* ---- what else happened ---- */

/* Reads the busy and stolen ticks of the cores. */
static void read_ticks(const cpu_set_t *cores, double *busy, double *stolen)
{
    char line[512];
    double second = (double)sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "re");
    *busy = *stolen = 0.0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned core;
        double user, nice, system, idle, waiting, hard, soft, taken;
        if (sscanf(line, "cpu%u %lf %lf %lf %lf %lf %lf %lf %lf", &core, &user, &nice, &system, &idle,
                   &waiting, &hard, &soft, &taken) != 9 ||
            core >= CPU_SETSIZE || !CPU_ISSET(core, cores))
            continue;
        *busy += (user + nice + system + hard + soft) / second;
        *stolen += taken / second;
    }
    if (file)
        fclose(file);
}

static int64_t read_throttled(const cpu_set_t *cores)
{
    int64_t sum = -1;
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        char path[96];
        int64_t count;
        if (!CPU_ISSET(core, cores))
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/thermal_throttle/core_throttle_count",
                 core);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%" SCNd64, &count) == 1)
            sum = (sum < 0 ? 0 : sum) + count;
        if (file)
            fclose(file);
    }
    return sum;
}

void host_watch_begin(struct host_watch *watch, const cpu_set_t *cores)
{
    watch->cores = *cores;
    watch->start = clock_now();
    watch->own = clock_processor();
    read_ticks(cores, &watch->busy, &watch->stolen);
    watch->throttled = read_throttled(cores);
}

void host_watch_end(const struct host_watch *watch, struct host_load *load)
{
    double busy, stolen, all = (clock_now() - watch->start) * CPU_COUNT(&watch->cores);
    double own = clock_processor() - watch->own;
    int64_t throttled = read_throttled(&watch->cores);
    read_ticks(&watch->cores, &busy, &stolen);
    load->own = own / all;
    load->stolen = fmin(1.0, (stolen - watch->stolen) / all);
    load->other = fmin(1.0, fmax(0.0, (busy - watch->busy - own) / all));
    load->throttled = throttled < 0 || watch->throttled < 0 ? -1 : throttled - watch->throttled;
}

void host_load_print(const struct host_load *load, struct text *out)
{
    size_t before = out->length;
    if (load->other > NOTICED)
        text_format(out, "other processes took %.0f %% of the cores' time", 100.0 * load->other);
    if (load->stolen > NOTICED)
        text_format(out, "%sother virtual machines took %.0f %%", out->length > before ? "; " : "",
                    100.0 * load->stolen);
    if (load->throttled > 0)
        text_format(out, "%sthe processor was throttled %" PRId64 " times", out->length > before ? "; " : "",
                    load->throttled);
}

int64_t host_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}
