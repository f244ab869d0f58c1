/* Windows: sums of bytes, by its own library (CNG). */
#include "windows_only.h"

#include <stdlib.h>

#include <bcrypt.h>

struct gb_os_sum {
    BCRYPT_ALG_HANDLE provider;
    BCRYPT_HASH_HANDLE hash;
    size_t length; /* of the sum, in bytes */
};

gb_os_sum *gb_os_sum_begin(gb_os_sum_kind kind)
{
    gb_os_sum *sum = calloc(1, sizeof *sum);
    errno = ENOMEM;
    if (!sum)
        return NULL;
    sum->length = kind == GB_OS_MD5 ? 16 : 32;
    if (BCryptOpenAlgorithmProvider(
            &sum->provider, kind == GB_OS_MD5 ? BCRYPT_MD5_ALGORITHM : BCRYPT_SHA256_ALGORITHM,
            NULL, 0) != 0 ||
        BCryptCreateHash(sum->provider, &sum->hash, NULL, 0, NULL, 0, 0) != 0) {
        gb_os_sum_drop(sum);
        errno = ENOSYS;
        return NULL;
    }
    return sum;
}

void gb_os_sum_add(gb_os_sum *sum, const void *bytes, size_t size)
{
    enum { MOST = 1 << 30 };
    for (const UCHAR *at = bytes; size;) {
        ULONG part = size < MOST ? (ULONG)size : MOST;
        BCryptHashData(sum->hash, (PUCHAR)(uintptr_t)at, part, 0);
        at += part, size -= part;
    }
}

size_t gb_os_sum_end(gb_os_sum *sum, unsigned char bytes[GB_OS_SUM_BYTES])
{
    size_t length = sum->length;
    BCryptFinishHash(sum->hash, bytes, (ULONG)length, 0);
    gb_os_sum_drop(sum);
    return length;
}

void gb_os_sum_drop(gb_os_sum *sum)
{
    if (!sum)
        return;
    if (sum->hash)
        BCryptDestroyHash(sum->hash);
    if (sum->provider)
        BCryptCloseAlgorithmProvider(sum->provider, 0);
    free(sum);
}

void gb_os_sha256(const void *bytes, size_t size, unsigned char sum[GB_OS_SUM_BYTES])
{
    gb_os_sum *begun = gb_os_sum_begin(GB_OS_SHA256);
    if (!begun)
        abort(); /* there is no Windows without it */
    gb_os_sum_add(begun, bytes, size);
    gb_os_sum_end(begun, sum);
}
