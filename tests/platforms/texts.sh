# What is made of texts alone, to be compared between systems (POSIX sh, to be sourced behind tests/checks.sh).
# shellcheck shell=sh

# Sums of the files of a collection in the folder beir, its vocabulary, tokens and a run of BM25, as a program makes them
# in a store; without records of when and where.
texts_of() # GABBRO STORE
{
    gabbro=$1 GABBRO_STORE=$work/$2
    collection=$(made collection --from beir --keep-splits)
    vocabulary=$(made vocabulary --collection "$collection" --size 100)
    tokens=$(made tokenize --collection "$collection" --vocabulary "$vocabulary")
    run=$(made bm25-run --collection "$collection" --split test)
    for folder in "$collection" "$vocabulary" "$tokens" "$run"; do
        (cd "${folder#Z:}" && find . -type f ! -name '*.json' -exec sha256sum {} + | LC_ALL=C sort -k 2)
    done
}
