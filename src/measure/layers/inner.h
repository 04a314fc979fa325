/* Functions shared by the ways to measure layers. Private to this folder. */
#ifndef REHEARSE_MEASURE_LAYERS_INNER_H
#define REHEARSE_MEASURE_LAYERS_INNER_H

#include "measure/layers/layers.h"

/* Makes room for layers and begins to watch the machine. On failure *measured holds nothing. */
bool measured_begin(struct measured_layers *measured, int count, const struct sample_options *samples,
                    struct host_watch *watch, struct error *err);
bool measured_end(struct measured_layers *measured, const struct host_watch *watch, struct error *err);

/* Names a layer after its file and finds an earlier one with the same text. */
bool measured_name(struct measured_layers *measured, int number, const struct layer_file *files,
                   struct error *err);

/* Gives a layer the times of the one that it equals. */
void measured_copy(struct measured_layers *measured, int number);

/* Ends a pass that was timed: its seconds and notes. */
bool measured_take(struct measured_layers *measured, struct measured_pass *pass, struct error *err);

/* Sets a layer's bytes. */
void measured_size(struct measured_layer *layer, const struct layer_cost *cost);

#endif
