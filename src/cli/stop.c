#include "cli/stop.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stopped, true);
}

const atomic_bool *stop_on_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stopped;
}
