#!/bin/sh
# Builds the libraries of Gabbro for Windows by mingw-w64: from Debian's sources, static, with no more than is needed.
#   windows-libraries.sh FOLDER [LIBRARY...]      all by default
# They are installed below FOLDER, in the form that cross/windows.ini takes. Needs apt-get (not root), a C and a C++
# compiler, cmake, meson and what windows.sh names; a library that is there is not built again. JOBS is how many
# compilers run at a time (as many as there are processors). GABBRO_DEBIAN_MIRROR is whence Debian's sources come.
set -eu
mkdir -p "$1"
top=$(cd "$1" && pwd)
shift
host=x86_64-w64-mingw32
jobs=${JOBS:-$(nproc)}
mkdir -p "$top/src" "$top/bin" "$top/apt/lists/partial" "$top/apt/cache/archives/partial"
export PKG_CONFIG_LIBDIR="$top/lib/pkgconfig" CFLAGS="${CFLAGS:--O2} -D__USE_MINGW_ANSI_STDIO=1" CXXFLAGS="${CXXFLAGS:--O2}"

fetch() # PACKAGE: unpacks its source as src/PACKAGE
{
    [ ! -d "$top/src/$1" ] || return 0
    [ -f "$top/apt/sources.list" ] || {
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
            "${GABBRO_DEBIAN_MIRROR:-http://deb.debian.org/debian} bookworm main" >"$top/apt/sources.list"
        apt update
    }
    (cd "$top/src" && apt source --download-only --tar-only "$1")
    mkdir "$top/src/$1.new"
    tar -C "$top/src/$1.new" --strip-components=1 -xf "$(echo "$top/src/$1"_*.orig.tar.*[a-z2])"
    mv "$top/src/$1.new" "$top/src/$1"
}

apt() # COMMAND...: apt-get that leaves this system's lists alone
{
    apt-get -q -o Dir::Etc::sourcelist="$top/apt/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$top/apt/lists" -o Dir::Cache="$top/apt/cache" -o APT::Sandbox::User=root "$@"
}

by_cmake() # PACKAGE [FOLDER OF ITS CMakeLists.txt] OPTION...
{
    source=$top/src/$1 build=$top/src/$1/build-windows
    shift
    case ${1:--} in -*) ;; *) source=$source/$1 && shift ;; esac
    cmake -S "$source" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$top/windows.cmake" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$top" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF "$@"
    cmake --build "$build" -j "$jobs"
    cmake --install "$build"
}

by_configure() # PACKAGE OPTION...
{
    cd "$top/src/$1"
    shift
    ./configure --host=$host CC=$host-gcc-posix --prefix="$top" --disable-shared --enable-static "$@"
    make -j "$jobs"
    make install
}

to_library() # NAME COMPILER OPTION...: of the sources, one a line on standard input, in this folder
{
    name=$1
    shift
    xargs -P "$jobs" -I{} "$@" -w -c {}
    $host-ar rcs "$top/lib/lib$name.a" ./*.o
}

zlib()
{
    cp /usr/$host/include/zlib.h /usr/$host/include/zconf.h "$top/include/"
    cp /usr/$host/lib/libz.a "$top/lib/"
    write_pc zlib 1.2.13 -lz
}

utf8proc() { fetch utf8proc && by_cmake utf8proc && write_pc libutf8proc 2.8.0 -lutf8proc -DUTF8PROC_STATIC; }

jansson() { fetch jansson && by_cmake jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF; }

libzstd()
{
    fetch libzstd
    by_cmake libzstd build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_TESTS=OFF \
        -DZSTD_LEGACY_SUPPORT=OFF
}

# No encryption and no other compression: Gabbro unpacks tar and zip, and gzip itself.
libarchive()
{
    fetch libarchive
    by_configure libarchive --disable-bsdtar --disable-bsdcpio --disable-bsdcat --without-openssl --without-xml2 --without-expat \
        --without-bz2lib --without-lzma --without-zstd --without-lz4 --without-libb2 --without-iconv --without-nettle \
        --without-cng --disable-acl --disable-xattr CPPFLAGS="-I$top/include" LDFLAGS="-L$top/lib"
    write_pc libarchive 3.6.2 '-larchive -lz' -DLIBARCHIVE_STATIC
}

lua()
{
    fetch lua5.4
    make -C "$top/src/lua5.4/src" -j "$jobs" CC="$host-gcc $CFLAGS" AR="$host-ar rcu" RANLIB=$host-ranlib SYSCFLAGS= SYSLIBS= liblua.a
    (cd "$top/src/lua5.4/src" && cp lua.h luaconf.h lualib.h lauxlib.h "$top/include/" && cp liblua.a "$top/lib/liblua5.4.a")
    write_pc lua5.4 5.4.4 -llua5.4
}

# The common library, whose data are a file of the sources that becomes a part of the library as it is, and of the other
# library the regular expressions.
icu()
{
    fetch icu
    cd "$top/src/icu/source/common"
    printf '.globl icudt72_dat\n.section .rdata,"dr"\n.balign 16\nicudt72_dat: .incbin "../data/in/icudt72l.dat"\n' >data.s
    printf '%s\n' data.s *.cpp |
        to_library icuuc $host-g++-posix $CXXFLAGS -std=c++11 -I. -DU_COMMON_IMPLEMENTATION -DU_STATIC_IMPLEMENTATION
    cp -r unicode "$top/include/"
    write_pc icu-uc 72.1 '-licuuc -lstdc++' -DU_STATIC_IMPLEMENTATION
    cd ../i18n
    printf '%s.cpp\n' regexcmp regeximp regexst regextxt rematch repattrn ucln_in uregex uregexc |
        to_library icui18n $host-g++-posix $CXXFLAGS -std=c++11 -I. -I../common -DU_I18N_IMPLEMENTATION -DU_STATIC_IMPLEMENTATION
    cp -r unicode "$top/include/"
    write_pc icu-i18n 72.1 '-licui18n -licuuc -lstdc++' -DU_STATIC_IMPLEMENTATION
}

# Pictures of tables and curves, by SVG and PNG, with the fonts of Windows.
cairo()
{
    png
    pixman
    fetch cairo
    cd "$top/src/cairo/src"
    features='SVG_SURFACE PNG_FUNCTIONS WIN32_SURFACE WIN32_FONT IMAGE_SURFACE RECORDING_SURFACE MIME_SURFACE
        OBSERVER_SURFACE USER_FONT'
    # shellcheck disable=SC2086 # lists of words
    { echo '#define CAIRO_FEATURES_H' && printf '#define CAIRO_HAS_%s 1\n' $features; } >cairo-features.h
    # shellcheck disable=SC2086
    { printf 'CAIRO_HAS_%s=1\n' $features && printf 'include Makefile.win32.features\nall: ; @echo $(enabled_cairo_sources)\n'; } |
        make -s -f - | tr ' ' '\n' | to_library cairo $host-gcc-posix $CFLAGS -I. -I"$top/include" -DCAIRO_WIN32_STATIC_BUILD \
        -DHAVE_STDINT_H -DHAVE_UINT64_T -DHAVE_CXX11_ATOMIC_PRIMITIVES -DSIZEOF_VOID_P=8 -DSIZEOF_INT=4 -DSIZEOF_LONG=4 \
        -DSIZEOF_LONG_LONG=8 -D_WIN32_WINNT=0x0600
    mkdir -p "$top/include/cairo"
    cp cairo.h cairo-deprecated.h cairo-features.h cairo-svg.h ../cairo-version.h "$top/include/cairo/"
    write_pc cairo-svg 1.16.0 '-lcairo -lpixman-1 -lpng16 -lz -lgdi32 -lmsimg32 -luser32' \
        "-I$top/include/cairo -DCAIRO_WIN32_STATIC_BUILD"
}

png()
{
    fetch libpng1.6
    cd "$top/src/libpng1.6"
    cp scripts/pnglibconf.h.prebuilt pnglibconf.h
    find . -maxdepth 1 -name 'png*.c' ! -name pngtest.c |
        to_library png16 $host-gcc-posix $CFLAGS -I. -I"$top/include" -DPNG_INTEL_SSE_OPT=0
    cp png.h pngconf.h pnglibconf.h "$top/include/"
}

pixman()
{
    fetch pixman
    cd "$top/src/pixman/pixman"
    sed 's/@PIXMAN_VERSION_MAJOR@/0/; s/@PIXMAN_VERSION_MINOR@/42/; s/@PIXMAN_VERSION_MICRO@/2/' pixman-version.h.in >pixman-version.h
    printf 'include Makefile.sources\nall: ; @echo $(libpixman_sources)\n' | make -s -f - | tr ' ' '\n' |
        to_library pixman-1 $host-gcc-posix $CFLAGS -I. -DPACKAGE=pixman-1 -DPACKAGE_VERSION='"0.42.2"' -DPACKAGE_BUGREPORT='""' \
        -DTLS=__thread -DTOOLCHAIN_SUPPORTS_ATTRIBUTE_CONSTRUCTOR
    cp pixman.h pixman-version.h "$top/include/"
}

# TLS is that of Windows.
libcurl()
{
    fetch curl
    by_cmake curl -DCURL_USE_SCHANNEL=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DHTTP_ONLY=ON -DBUILD_CURL_EXE=OFF \
        -DBUILD_TESTING=OFF -DUSE_LIBIDN2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DENABLE_MANUAL=OFF
    sed -i 's/^Cflags:.*/& -DCURL_STATICLIB/' "$top/lib/pkgconfig/libcurl.pc"
}

# Headers alone.
cglm()
{
    cp -r /usr/include/cglm "$top/include/"
    write_pc cglm 0.8.8 ''
}

# The loader comes with the driver of a GPU; what it offers is what its header declares.
vulkan()
{
    cp -r /usr/include/vulkan /usr/include/vk_video "$top/include/"
    { echo 'LIBRARY vulkan-1.dll' && echo EXPORTS && grep -ho 'VKAPI_CALL vk[A-Za-z0-9]*(' /usr/include/vulkan/vulkan_core.h |
        sed 's/.* \(.*\)(/\1/'; } >"$top/src/vulkan-1.def"
    $host-dlltool -d "$top/src/vulkan-1.def" -l "$top/lib/libvulkan-1.a"
    write_pc vulkan 1.3.239 -lvulkan-1
}

write_pc() # NAME VERSION LIBRARIES [FLAGS]
{
    printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L%s/lib %s\nCflags: -I%s/include %s\n' "$1" "$1" "$2" "$top" "$3" \
        "$top" "${4:-}" >"$top/lib/pkgconfig/$1.pc"
}

cat >"$top/windows.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER $host-gcc-posix)
set(CMAKE_CXX_COMPILER $host-g++-posix)
set(CMAKE_RC_COMPILER $host-windres)
set(CMAKE_FIND_ROOT_PATH "$top")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
EOF
mkdir -p "$top/include" "$top/lib/pkgconfig" "$top/done"
[ $# != 0 ] || set -- zlib utf8proc jansson libzstd cglm vulkan lua libarchive libcurl icu cairo
for library; do
    [ -f "$top/done/$library" ] && continue
    set +e
    (set -e; $library) >"$top/$library.log" 2>&1 </dev/null
    status=$?
    set -e
    if [ $status != 0 ]; then
        echo "$library was not built: see $top/$library.log" >&2
        exit 1
    fi
    touch "$top/done/$library"
    echo "$library is built"
done
