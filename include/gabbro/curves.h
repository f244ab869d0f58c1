/* A measure against a number, several seeds, as a figure. Stands on base and plot. */
#ifndef GABBRO_CURVES_H
#define GABBRO_CURVES_H

#include <gabbro/base.h>

/* Draws the results of a figure's script: JSON lines. The first says what is shown,
 *   {"figure": "llm/fig3", "title": ..., "x": "<label>", "log_x": true, "measure": "dev:MRR@10",
 *    "y": "<label>"}
 * the others are points, or levels (dashed lines) where they have no "x":
 *   {"series": "curriculum", "x": 200, "seed": 42, "evaluation": "<folder with metrics.json>"}
 * Writes figure.svg, figure.png, figure.tsv (series, x, seeds, mean, interval), figure.json and
 * figure.html into out_dir: means over seeds with 95% t-intervals. */
bool gb_curves_write(const char *path, const char *out_dir, gb_status *status);

#endif
