/* The server's own API: /search finds passages of the index. */
#include "http.h"

static json_t *passages_of(const serve_job *job, const serve_site *site, uint32_t query)
{
    json_t *passages = json_array();
    for (uint32_t i = 0; i < job->k; i++) {
        const gabbro_hit *hit = &job->hits[(size_t)query * job->k + i];
        if (hit->row == GABBRO_NO_ROW)
            break;
        json_t *passage = gb_library_passage(site->index, *hit);
        if (!job->with_texts) {
            json_object_del(passage, "title");
            json_object_del(passage, "text");
        }
        json_array_append_new(passages, passage);
    }
    return passages;
}

static void write_passages(serve_job *job, const serve_site *site)
{
    json_t *json = job->single ? json_pack("{s:o}", "passages", passages_of(job, site, 0))
                               : json_pack("{s:[]}", "results");
    for (uint32_t i = 0; i < job->count && !job->single; i++)
        json_array_append_new(json_object_get(json, "results"),
                              json_pack("{s:o}", "passages", passages_of(job, site, i)));
    serve_answer(job, json);
}

bool serve_search_read(serve_job *job, const serve_site *site)
{
    job->write = write_passages;
    job->cut = job->with_texts = true;
    job->kind = GABBRO_QUERY;
    job->k = 10;
    if (!site->index)
        return serve_fail(job, SERVE_WRONG_MODEL,
                          "there is no index: gabbro serve MODEL --index DIR");
    return serve_get_number(job, "k", 1, 1000, &job->k) &&
           serve_get_flag(job, "texts", &job->with_texts) &&
           serve_get_texts(job, "query", site->how->max_texts);
}
