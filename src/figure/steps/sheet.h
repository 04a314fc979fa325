/* Shared by the pictures of steps: the list of configurations, and their axes, titles and legends. */
#ifndef REHEARSE_FIGURE_STEPS_SHEET_H
#define REHEARSE_FIGURE_STEPS_SHEET_H

#include "figure/steps/steps.h"

#define SHEET_FAR 50 /* factor from the minimum to the maximum above which an axis is logarithmic */

struct steps_sheet {
    const struct steps *steps;
    const struct steps_model *model;
    const char *path;
    const char *subject; /* common to all panels; NULL: each names its own */
    int event;           /* -1: not chosen */
    const struct figure_style *style;
    struct figure_page page;
    int gpu_count, batch_count;
    int64_t *gpus, *batches; /* ascending */
};

/* Returns the group of a configuration, NULL if there is none. */
const struct steps_group *sheet_group(const struct steps_sheet *sheet, int gpu, int batch);

/* "32k": powers of 2^10 as DLRM's users write them. */
struct sheet_text {
    char text[32];
};
struct sheet_text sheet_batch(int64_t batch);
struct sheet_text sheet_gpus(int64_t gpus);

/* Returns an event's name in pictures. */
const char *sheet_event_title(const struct steps *steps, int event);

/* Panels in a grid, below a title. The legend is right of them where the style has legends. */
struct sheet_grid {
    int columns, rows;
    double left, top, right, bottom; /* room around a panel */
    double panel_width, panel_height;
    double head, legend, foot; /* of the page: above, right of and below all */
};
struct sheet_grid sheet_grid(const struct steps_sheet *sheet, int panels, int columns, double panel_height);

/* Panels below each other that share an axis of configurations. */
struct sheet_grid sheet_rows(const struct steps_sheet *sheet, int panels, double panel_height);

/* The page for this grid, with the title. */
bool sheet_begin(struct steps_sheet *sheet, const struct sheet_grid *grid, struct error *err);
/* second: a line below the title, where the grid has room for it; NULL: none. */
void sheet_panel(struct steps_sheet *sheet, const struct sheet_grid *grid, int index, const char *title,
                 const char *second);
/* Place of the legend, right of the panels. */
void sheet_key(struct steps_sheet *sheet, const struct sheet_grid *grid);

/* The y axis of seconds: logarithmic where values reach far, if `logs` allows it. */
void sheet_seconds_axis(struct steps_sheet *sheet, double min, double max, bool logs);

/* Returns the place of a configuration on an x axis: equal numbers of GPUs side by side, then a gap. */
double sheet_place(const struct steps_sheet *sheet, const struct steps_group *group);
void sheet_configuration_axis(struct steps_sheet *sheet, const struct sheet_grid *grid, bool numbers);

bool sheet_draw_breakdown(struct steps_sheet *sheet, struct error *err);
bool sheet_draw_violins(struct steps_sheet *sheet, struct error *err);
bool sheet_draw_histograms(struct steps_sheet *sheet, struct error *err);

#endif
