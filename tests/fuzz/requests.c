/* Bodies of requests to the server, in all its APIs, and the answers that are made of them. The
 * first byte chooses the API and what is served. */
#include "fuzz.h"

#include "../../src/serve/http.h"
#include "../../src/serve/job.c"
#include "../../src/serve/openai.c"
#include "../../src/serve/tei.c"
#include "../../src/serve/search_api.c"

/* In the place of libgabbro's: nothing is computed here. */
const char *gabbro_version(void)
{
    return "0";
}

const char *gabbro_model_pooling(const gabbro_model *model)
{
    (void)model;
    return "mean";
}

json_t *gb_library_passage(const gabbro_index *index, gabbro_hit hit)
{
    (void)index;
    return json_pack("{s:i, s:s}", "row", (int)hit.row, "text", "x");
}

/* What the queue would compute, of a model with vectors of four numbers. */
static void compute(serve_job *job, const serve_site *site)
{
    job->vectors = calloc((size_t)job->count * 4 + 1, sizeof *job->vectors);
    job->tokens = calloc((size_t)job->count + 1, sizeof *job->tokens);
    job->hits = calloc((size_t)job->count * job->k + 1, sizeof *job->hits);
    if (!job->vectors || !job->tokens || !job->hits)
        abort();
    for (uint32_t i = 0; i < job->count * job->k; i++)
        job->hits[i].row = i % 3 ? i : GABBRO_NO_ROW;
    job->write(job, site);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static serve_read_fn *const reads[] = {serve_openai_read, serve_tei_embed_read,
                                           serve_tei_rerank_read, serve_search_read};
    static const serve_api apis[] = {SERVE_OPENAI, SERVE_TEI, SERVE_TEI, SERVE_OWN};
    const gb_serve_params how = {.max_texts = 8, .queue = 4};
    if (!size)
        return 0;
    uint32_t which = data[0] & 3;
    const serve_site site = {.how = &how,
                             .name = "some/model",
                             .width = data[0] & 4 ? 0 : 4,
                             .max_tokens = 16,
                             .index = data[0] & 8 ? NULL : (gabbro_index *)&how};
    gb_status status = {0};
    serve_job *job = calloc(1, sizeof *job);
    if (!job)
        abort();
    job->api = apis[which];
    job->request = gb_json_parse((const char *)data + 1, size - 1, 0, "the body", &status);
    fuzz_check(job->request, &status);
    if (job->request && reads[which](job, &site))
        compute(job, &site);
    if (job->request) {
        json_t *answer =
            job->body.data ? json_loadb(job->body.data, job->body.length, 0, NULL) : NULL;
        if (!job->status || !answer)
            abort();
        json_decref(answer);
    }
    serve_job_free(job);
    return 0;
}
