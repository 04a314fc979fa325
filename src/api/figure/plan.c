/* rh_figure_plan: the stages of a plan, or where its iteration goes. */
#include "figure/plan.h"
#include "api/command.h"
#include "api/figure/options.h"
#include "api/figure/picture.h"
#include "api/plan/handle.h"
#include "figure/gnuplot.h"

struct drawing {
    const struct rh_figure_plan_request *asked;
    const struct plan *plan;
};

static bool draw(const void *context, const char *path, struct error *err)
{
    const struct drawing *drawing = context;
    const struct rh_figure_plan_request *asked = drawing->asked;
    const struct figure_plan_options options = {
        .style = figure_style_of(asked->style),
        .kind = (enum figure_plan_kind)option_index(figure_plan_kinds, asked->kind),
        .title = asked->title,
    };
    return figure_plan(path, drawing->plan, &options, err);
}

static bool load(const struct rh_figure_plan_request *asked, struct plan *plan, struct error *err)
{
    if (!asked->plan == !asked->from)
        return error_set(err, ERROR_USAGE, "figure plan: expected one plan, a file or one that was found");
    return asked->from ? api_plan_copy(asked->from, plan, err)
                       : plan_load_template(plan, asked->plan, (int)asked->nodes, err);
}

static rh_handle *draw_plan(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_figure_plan_request *asked = request;
    struct plan plan;
    (void)call;
    if ((asked->output && !figure_can_write(asked->output, err)) || !load(asked, &plan, err))
        return NULL;
    const struct drawing drawing = {asked, &plan};
    rh_handle *handle = picture_draw(draw, &drawing, asked->output, err);
    plan_release(&plan);
    return handle;
}

API_WHOLE_COMMAND(figure_plan, "figure plan", rh_figure_plan_request, .make = draw_plan);
