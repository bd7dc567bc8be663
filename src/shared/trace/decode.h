// Decodes the payload of a kSpans chunk. The bytes are foreign: nothing in them is trusted.
#ifndef XSP_SHARED_TRACE_DECODE_H_
#define XSP_SHARED_TRACE_DECODE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.h"
#include "shared/trace/format.h"
#include "shared/trace/reader.h"
#include "shared/trace/timeline.h"

namespace xsp::trace {

// Returns the payload's header if its numbers agree with each other and with the payload's size.
Result<SpansHeader> read_spans_header(std::span<const uint8_t> payload);

// Fills `batch`, which is cleared first. The trace may not know the sites and keys; the caller
// checks.
Status decode_spans(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                    SpanBatch* batch);

// Appends the times of the spans, in blocks. It does not read the other columns.
Status decode_block_times(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                          size_t block_spans, std::vector<BlockTimes>* blocks);

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_DECODE_H_
