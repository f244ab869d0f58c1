/* Linux and macOS: sums of bytes, by libcrypto. */
#include "gabbro/os.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

/* A gb_os_sum is the context of libcrypto. */
static EVP_MD_CTX *context_of(gb_os_sum *sum)
{
    return (EVP_MD_CTX *)sum;
}

void gb_os_sha256(const void *bytes, size_t size, unsigned char sum[GB_OS_SUM_BYTES])
{
    SHA256(size ? bytes : "", size, sum);
}

gb_os_sum *gb_os_sum_begin(gb_os_sum_kind kind)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    errno = ENOMEM;
    if (context &&
        !EVP_DigestInit_ex(context, kind == GB_OS_MD5 ? EVP_md5() : EVP_sha256(), NULL)) {
        EVP_MD_CTX_free(context);
        context = NULL;
        errno = ENOSYS;
    }
    return (gb_os_sum *)context;
}

void gb_os_sum_add(gb_os_sum *sum, const void *bytes, size_t size)
{
    EVP_DigestUpdate(context_of(sum), bytes, size);
}

size_t gb_os_sum_end(gb_os_sum *sum, unsigned char bytes[GB_OS_SUM_BYTES])
{
    unsigned length = 0;
    EVP_DigestFinal_ex(context_of(sum), bytes, &length);
    gb_os_sum_drop(sum);
    return length;
}

void gb_os_sum_drop(gb_os_sum *sum)
{
    EVP_MD_CTX_free(context_of(sum));
}
