# What tests of builds for other systems share (POSIX sh, to be sourced behind tests/checks.sh).
# $here is this folder, from the root.
# shellcheck shell=sh

# Builds for cross/NAME.ini with the libraries in ROOT. The folder is kept: so is the file of constants in it, which
# Meson reads again when its own files have changed.
cross_build() # NAME FOLDER ROOT "OPTIONS OF MESON" [TARGET...]
{
    cross_name=$1 cross_folder=$2 cross_root=$3 cross_options=$4
    shift 4
    cross_sources=$(readlink -f "$here/../..")
    mkdir -p "$cross_folder"
    printf "[constants]\nroot = '%s'\n" "$cross_root" >"$cross_folder/root.ini"
    # shellcheck disable=SC2086,SC2154 # a list of words; of those who source this
    { [ -f "$cross_folder/build.ninja" ] || meson setup --cross-file "$cross_folder/root.ini" \
        --cross-file "$cross_sources/cross/$cross_name.ini" "$cross_folder" "$cross_sources" --buildtype=release -Dwerror=false \
        -Dmpi=disabled $cross_options; } >said 2>&1 && ninja -C "$cross_folder" "$@" >>said 2>&1
    expect 'it is built' [ $? = 0 ] || tail said
}

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

# What does not compute on a device is the same on both.
same_texts() # SYSTEM GABBRO THIS-SYSTEM THIS-GABBRO
{
    small_beir 60 beir
    texts_of "$4" here >right
    texts_of "$2" there >left
    expect 'files are compared' [ "$(wc -l <right)" -gt 10 ]
    trust "files of a collection, its vocabulary, tokens and BM25 that differ on $1" "$3" "$(diff right left | grep -c '^[<>]')" 0
}

# Nor, on drivers that compute alike, what is trained: two rows of a table with few steps.
same_table() # SYSTEM GABBRO THIS-SYSTEM THIS-GABBRO
{
    system=$1 there=$2 this_system=$3 here_made_by=$4
    set --
    for change in $tiny_settings; do
        set -- "$@" --set "$change"
    done
    "$here_made_by" reproduce table1 --rows bm25,cotmae-query-r1 --store store-here --out out-here "$@" >table 2>said
    expect 'two rows of table1 are computed here' [ $? = 0 ] || tail said
    "$there" reproduce table1 --rows bm25,cotmae-query-r1 --store store-there --out out-there "$@" >table 2>said
    expect 'and there' [ $? = 0 ] || tail said
    table_numbers out-here/table.json >right
    table_numbers out-there/table.json >left
    trust "lines of table.json that differ on $system, but for times" "$this_system ($(wc -l <right) lines)" "$(diff left right | grep -c '^[<>]')" 0
}
