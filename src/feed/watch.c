#include "feed/watch.h"

bool watch_init(struct watch *watch)
{
    *watch = (struct watch){0};
    return pthread_mutex_init(&watch->lock, NULL) == 0;
}

void watch_release(struct watch *watch)
{
    pthread_mutex_destroy(&watch->lock);
}

struct watch_view watch_read(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    struct watch_view view = watch->view;
    pthread_mutex_unlock(&watch->lock);
    return view;
}

void watch_write(struct watch *watch, const struct watch_view *view)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->view = *view;
    pthread_mutex_unlock(&watch->lock);
}
