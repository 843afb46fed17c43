#pragma once
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

// Macros over other macros, which Swift's importer leaves out.
static const int trax_evp_public_key = EVP_PKEY_PUBLIC_KEY;

// EVP_PKEY_Q_keygen(3) is variadic, and EVP_RSA_gen a macro over it.
static inline EVP_PKEY *trax_rsa_generate(size_t bits) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
}
