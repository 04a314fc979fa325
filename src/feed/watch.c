#include "feed/watch.h"

void watch_write(struct watch *watch, const struct watch_view *view)
{
    if (watch)
        watch->show(watch->context, view);
}
