// Decoding of the payload of a kSpans chunk: foreign bytes, of which nothing is believed.
#ifndef XSP_TRACE_DECODE_H_
#define XSP_TRACE_DECODE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/timeline.h"

namespace xsp::trace {

// Its header, if its own numbers agree with one another and with the payload's size.
Result<SpansHeader> read_spans_header(std::span<const uint8_t> payload);

// Fills `batch`, which is cleared first. Sites and keys may be unknown to the trace; the caller
// checks.
Status decode_spans(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                    SpanBatch* batch);

// Appends the times of the spans, in blocks; of the other columns nothing is read.
Status decode_block_times(std::span<const uint8_t> payload, const Timeline& timeline, size_t epoch,
                          size_t block_spans, std::vector<BlockTimes>* blocks);

}  // namespace xsp::trace

#endif  // XSP_TRACE_DECODE_H_
