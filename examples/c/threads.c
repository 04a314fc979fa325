/* threads MODEL...: one thread for each model. Requests are read during the call alone, handles by anyone.
 *
 *     run: gpt2-xl llama-3-8b llama-3-70b */
#include <rehearse.h>

#include <pthread.h>
#include <stdio.h>

#define MAX_MODELS 16

struct work {
    const char *model;
    rh_profile *profile;
    struct rh_error error;
};

static void *price(void *context)
{
    struct work *work = (struct work *)context;
    struct rh_cost_request request = RH_INIT(request);
    request.model = work->model;
    request.devices = "h100";
    work->profile = rh_cost(&request, NULL, &work->error);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MAX_MODELS];
    struct work work[MAX_MODELS];
    int count = argc - 1 < MAX_MODELS ? argc - 1 : MAX_MODELS, failed = 0;
    for (int i = 0; i < count; i++) {
        work[i].model = argv[i + 1];
        if (pthread_create(&threads[i], NULL, price, &work[i]) != 0)
            return RH_FAILED;
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (work[i].profile)
            printf("%-16s %4g layers\n", work[i].model, rh_number(work[i].profile, "layers"));
        else
            failed = printf("%-16s %s\n", work[i].model, work[i].error.text);
        rh_free(work[i].profile);
    }
    return failed ? RH_FAILED : 0;
}
