#include "csimdjson.h"

#include <simdjson.h>

#include <memory>
#include <new>

// DOM, not On-Demand: the implementation that fits the CPU is chosen at run time, inside the shared
// library. One parser a thread, freed by the C++ runtime when the thread ends.

namespace {

constexpr size_t kStep = 4096;

thread_local std::unique_ptr<simdjson::dom::parser> parser;

}  // namespace

extern "C" int csimdjson_parse(const uint8_t *bytes, size_t length, size_t depth,
                               csimdjson_document *document) {
    if (!parser) {
        parser.reset(new (std::nothrow) simdjson::dom::parser());
        if (!parser) { return 0; }
    }
    if (parser->capacity() < length || parser->max_depth() != depth) {
        const size_t capacity = (length / kStep + 1) * kStep;
        if (parser->allocate(capacity, depth) != simdjson::SUCCESS) {
            parser.reset();
            return 0;
        }
    }
    if (parser->parse(bytes, length, true).error() != simdjson::SUCCESS) { return 0; }
    document->tape = parser->doc.tape.get();
    document->strings = parser->doc.string_buf.get();
    document->tokens = parser->implementation->structural_indexes.get();
    document->token_count = parser->implementation->n_structural_indexes;
    return 1;
}

extern "C" void csimdjson_trim(size_t capacity) {
    if (parser && parser->capacity() > capacity) { parser.reset(); }
}
