/* What the files of language models share. */
#ifndef NN_LANGUAGE_H
#define NN_LANGUAGE_H

#include <gabbro/language.h>

#define LANGUAGE_CACHE "cache." /* begins the names of parameters that are a cache */

#endif
