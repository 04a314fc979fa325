/* stop: calls that end when an alarm rings. rh_stop_request may be called from a signal handler.
 *
 *     run: */
#include <rehearse.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static rh_stop *stop;

static void ring(int signal_number)
{
    (void)signal_number;
    rh_stop_request(stop);
}

int main(void)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    int done = 0;
    stop = rh_stop_new();
    if (!stop)
        return RH_FAILED;
    signal(SIGALRM, ring);
    alarm(1);
    request.model = "gpt2-xl";
    request.devices = "h100";
    call.stop = stop;
    for (;;) {
        rh_profile *profile = rh_cost(&request, &call, &error);
        if (!profile)
            break;
        rh_free(profile);
        done++;
    }
    printf("%s after some models were priced: %s\n", error.text, done > 0 ? "yes" : "no");
    rh_stop_free(stop);
    return error.code == RH_STOPPED ? 0 : error.code;
}
