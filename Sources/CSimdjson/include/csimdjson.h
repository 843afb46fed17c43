#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One parsed document, borrowed from the calling thread's parser: valid until that thread's next
/// call of csimdjson_parse or csimdjson_trim.
///
/// `tape` is simdjson's own (doc/tape.md there), `strings` its string buffer, and `tokens` the
/// offsets in the source of every brace, bracket, colon, comma and first byte of a scalar, in order.
typedef struct {
    const uint64_t *tape;
    const uint8_t *strings;
    const uint32_t *tokens;
    size_t token_count;
} csimdjson_document;

/// Parses `length` bytes (which need no padding: they are copied) with at most `depth` nested
/// containers. 1 when the document is filled in, 0 when simdjson refuses, for whatever reason.
int csimdjson_parse(const uint8_t *bytes, size_t length, size_t depth,
                    csimdjson_document *document);

/// Gives the calling thread's parser back to the heap if it has grown past `capacity` bytes.
void csimdjson_trim(size_t capacity);

#ifdef __cplusplus
}
#endif
