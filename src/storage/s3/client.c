/* Requests of S3 over libcurl: signed, sent, repeated if that may help, explained if it did not. */
#include "core/clock.h"
#include "core/random.h"
#include "storage/s3/s3.h"

#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPARE   64
#define FIRST_PAUSE 0.1 /* s before the second attempt, doubled for each after that */
#define MAX_PAUSE   20.0
#define STOP_PERIOD 0.05 /* s between two looks at whether we are to stop */
#define GRACE       0.15 /* s that a request may take after that, so that a server that answers lets us clear up */

struct s3_client {
    struct s3_config *config;
    CURLM *multi;
    CURL *spare[MAX_SPARE];
    int spare_count;
    struct s3_call *flying, *pausing, *finished;
    uint64_t random; /* of pauses, so that clients do not come back together */
    struct s3_client *next;
};

static void client_free(struct s3_client *client)
{
    for (int i = 0; i < client->spare_count; i++)
        curl_easy_cleanup(client->spare[i]);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    free(client);
}

static struct s3_client *client_new(struct s3_config *config, struct error *err)
{
    struct s3_client *client = calloc(1, sizeof *client);
    if (client) {
        client->config = config;
        client->multi = curl_multi_init();
        client->random = (uint64_t)(clock_now() * 1e9) ^ (uintptr_t)client;
    }
    if (!client || !client->multi) {
        free(client);
        return error_memory_null(err);
    }
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)STORAGE_MAX_QUEUE_DEPTH);
    return client;
}

struct s3_client *s3_client_take(struct s3_config *config, struct error *err)
{
    pthread_mutex_lock(&config->lock);
    struct s3_client *client = config->idle;
    if (client)
        config->idle = client->next;
    pthread_mutex_unlock(&config->lock);
    return client ? client : client_new(config, err);
}

void s3_client_give(struct s3_client *client)
{
    struct s3_config *config = client->config;
    s3_abandon(client);
    pthread_mutex_lock(&config->lock);
    client->next = config->idle;
    config->idle = client;
    pthread_mutex_unlock(&config->lock);
}

void s3_client_free_idle(struct s3_config *config)
{
    while (config->idle) {
        struct s3_client *client = config->idle;
        config->idle = client->next;
        client_free(client);
    }
}

const struct s3_config *s3_client_config(const struct s3_client *client)
{
    return client->config;
}

static void push(struct s3_call **list, struct s3_call *call)
{
    call->next = *list;
    *list = call;
}

static void take_out(struct s3_call **list, const struct s3_call *call)
{
    while (*list != call)
        list = &(*list)->next;
    *list = call->next;
}

/* Frees the remains of the attempt before. */
static void call_reset(struct s3_call *call)
{
    curl_slist_free_all(call->headers);
    text_release(&call->answer);
    call->headers = NULL;
    call->done = 0;
    call->refused = NULL;
    call->status = 0;
    call->size = -1;
    call->etag[0] = call->code[0] = call->elsewhere[0] = call->curl_error[0] = 0;
}

static bool send_call(struct s3_client *client, struct s3_call *call)
{
    call_reset(call);
    call->attempts++;
    call->easy = client->spare_count > 0 ? client->spare[--client->spare_count] : curl_easy_init();
    return call->easy && s3_prepare(client->config, call) &&
           curl_multi_add_handle(client->multi, call->easy) == CURLM_OK;
}

/* Keeps the handle for reuse; its connection stays open. */
static void release_easy(struct s3_client *client, struct s3_call *call)
{
    if (!call->easy)
        return;
    curl_multi_remove_handle(client->multi, call->easy);
    curl_easy_reset(call->easy);
    if (client->spare_count < MAX_SPARE)
        client->spare[client->spare_count++] = call->easy;
    else
        curl_easy_cleanup(call->easy);
    call->easy = NULL;
}

static void launch(struct s3_client *client, struct s3_call *call)
{
    if (send_call(client, call)) {
        push(&client->flying, call);
        return;
    }
    release_easy(client, call);
    call->ok = error_memory(&call->err);
    push(&client->finished, call);
}

void s3_start(struct s3_client *client, struct s3_call *call)
{
    call->attempts = 0;
    call->received = 0;
    call->end_at = 0;
    launch(client, call);
}

/* Returns half of the pause and a random part of the other half. */
static double pause_of(struct s3_client *client, int attempts)
{
    double pause = fmin(MAX_PAUSE, ldexp(FIRST_PAUSE, attempts - 1 < 16 ? attempts - 1 : 16));
    return pause * (0.5 + 0.5 * random_uniform(&client->random));
}

static bool is_stopped(const struct s3_client *client)
{
    return client->config->stop && atomic_load(client->config->stop);
}

static void finish(struct s3_client *client, struct s3_call *call, CURLcode code)
{
    bool again = false;
    call->ok = s3_judge(client->config, call, code, &again);
    if (call->ok || strcmp(call->code, "NoSuchKey") == 0)
        client->config->answered = true;
    take_out(&client->flying, call);
    release_easy(client, call);
    if (again && call->attempts < client->config->attempts && !is_stopped(client)) {
        call->retry_at = clock_now() + pause_of(client, call->attempts);
        push(&client->pausing, call);
    } else {
        push(&client->finished, call);
    }
}

/* ---- Driving ---- */

/* Repeats the calls that have paused long enough; returns the seconds until the next is due, at most 1. */
static double wake(struct s3_client *client)
{
    double now = clock_now(), soonest = 1;
    struct s3_call *next;
    for (struct s3_call *call = client->pausing; call; call = next) {
        next = call->next;
        if (call->retry_at <= now) {
            take_out(&client->pausing, call);
            launch(client, call);
        } else {
            soonest = fmin(soonest, call->retry_at - now);
        }
    }
    return soonest;
}

/* Ends the calls of a list that have outlived `stop` by `grace` seconds. */
static void end_late(struct s3_client *client, struct s3_call **list, double grace)
{
    double now = clock_now();
    struct s3_call *next;
    for (struct s3_call *call = *list; call; call = next) {
        next = call->next;
        if (call->end_at == 0)
            call->end_at = now + grace;
        if (now < call->end_at)
            continue;
        call->ok = s3_judge_stopped(client->config, call);
        take_out(list, call);
        release_easy(client, call);
        push(&client->finished, call);
    }
}

void s3_pump(struct s3_client *client)
{
    int running, left;
    curl_multi_perform(client->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));) {
        char *call = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        finish(client, (struct s3_call *)(void *)call, code);
    }
}

struct s3_call *s3_wait(struct s3_client *client)
{
    while (!client->finished && (client->flying || client->pausing)) {
        if (is_stopped(client)) {
            end_late(client, &client->pausing, 0);
            end_late(client, &client->flying, GRACE);
        }
        double soonest = wake(client);
        if (client->config->stop)
            soonest = fmin(soonest, STOP_PERIOD);
        s3_pump(client);
        if (!client->finished)
            curl_multi_poll(client->multi, NULL, 0, (int)ceil(soonest * 1000), NULL);
    }
    struct s3_call *call = client->finished;
    if (call)
        client->finished = call->next;
    return call;
}

void s3_abandon(struct s3_client *client)
{
    for (struct s3_call *call = client->flying; call; call = call->next)
        release_easy(client, call);
    client->flying = client->pausing = client->finished = NULL;
}

bool s3_run(struct s3_client *client, struct s3_call *call, struct error *err)
{
    s3_start(client, call);
    s3_wait(client);
    if (!call->ok)
        *err = call->err;
    return call->ok;
}

void s3_call_release(struct s3_call *call)
{
    curl_slist_free_all(call->headers);
    text_release(&call->answer);
    text_release(&call->query);
    call->headers = NULL;
}
