/* What runs a recipe, and what a recipe can call, know of each other. */
#ifndef GABBRO_REPRODUCE_RECIPE_HOST_H
#define GABBRO_REPRODUCE_RECIPE_HOST_H

#include "recipe.h"

#include <lua.h>

typedef struct repro_host {
    const repro_recipe_params *params; /* of the call */
    repro_graph *graph;                /* being filled */
    repro_table *table;                /* being filled */
    const char *name;                  /* of the recipe, in messages */
    size_t bytes;                      /* that Lua has */
    size_t instructions;               /* executed */
    bool on_request;                   /* what is declared now is left out of a plain run */
    gb_status status;                  /* of a failure that is not Lua's */
} repro_host;
/* The host of a state, which keeps it in its extra space. */
repro_host *repro_host_of(lua_State *L);
enum { REPRO_PLACE = 200 };
/* The line of the recipe that is being executed, also in a function that it calls: "FILE:LINE", or
 * "" where there is none. */
void repro_host_place(lua_State *L, char place[REPRO_PLACE]);
/* Checks a command whose words are known, before it is declared: its options would be refused when
 * its turn comes, which may be hours later. argv: [argc], then NULL; the first is the program. */
bool repro_host_check(lua_State *L, int argc, char **argv, gb_status *status);
/* Gives a state the words of the host, as global names. A C function, for a protected call. */
int repro_host_open(lua_State *L);

#endif
