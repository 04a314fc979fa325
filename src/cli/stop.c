#include "cli/stop.h"

#include "core/clock.h"
#include "core/file_output.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static rh_stop *requested; /* NULL: nobody asked for it */
static atomic_int came;    /* the signal that stopped */
static atomic_llong came_ns;

#define ONE_WISH_NS 200000000 /* a hand takes longer for a second Ctrl-C */

/* Its default action is restored by then. */
static void die(int signal_number)
{
    file_output_abandon();
    raise(signal_number);
}

static void handle(int signal_number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal_number, &action, NULL);
}

static bool is_ignored(int signal_number)
{
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) != 0 || now.sa_handler == SIG_IGN;
}

void clean_on_signals(void)
{
    static const int deadly[] = {SIGINT,  SIGTERM, SIGHUP,  SIGPIPE,   SIGQUIT, SIGXCPU,
                                 SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (!is_ignored(deadly[i]))
            handle(deadly[i], die, (int)SA_RESETHAND);
}

/* 'timeout' sends its signal to the program and then to its group, which it is in: one wish, and no second one. */
static void stop_again(int signal_number)
{
    if (clock_nanoseconds() - atomic_load(&came_ns) < ONE_WISH_NS)
        return;
    handle(signal_number, SIG_DFL, 0);
    die(signal_number);
}

static void stop(int signal_number)
{
    atomic_store(&came, signal_number);
    atomic_store(&came_ns, clock_nanoseconds());
    rh_stop_request(requested);
    handle(signal_number, stop_again, SA_RESTART);
}

rh_stop *stop_on_signals(struct error *err)
{
    if (!requested)
        requested = rh_stop_new();
    if (!requested)
        return error_memory_null(err);
    handle(SIGINT, stop, SA_RESTART);
    handle(SIGTERM, stop, SA_RESTART);
    if (!is_ignored(SIGHUP)) /* nohup */
        handle(SIGHUP, stop, SA_RESTART);
    return requested;
}

void stop_die(void)
{
    int signal_number = atomic_load(&came);
    if (signal_number == 0)
        return;
    handle(signal_number, SIG_DFL, 0);
    raise(signal_number);
}
