/* Other papers than those that come with the program. */
#ifndef GABBRO_REPRODUCE_NEW_H
#define GABBRO_REPRODUCE_NEW_H

#include <gabbro/base.h>

/* Writes the skeleton of a paper into a folder (NULL: of the paper's name) that must not be there
 * yet, and prints its first file. GB_USAGE for a name of other than small letters and digits. */
bool repro_new_paper(const char *paper, const char *folder, gb_status *status);

#endif
