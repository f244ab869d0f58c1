/* Where the program is built without libmicrohttpd. */
#include <gabbro/serve.h>

bool gb_serve(const gb_serve_params *params, gb_status *status)
{
    (void)params;
    return gb_fail(status, GB_USAGE, "serve", "install libmicrohttpd and build again",
                   "the program was built without libmicrohttpd");
}
