#include "trace_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "process/worker/protocol.h"
#include "xsp/xsp.h"

namespace xsp::contract {
namespace {

void take(const trace::Reader& reader, const trace::SpanBatch& batch, TraceFile* file) {
  std::vector<Span> spans(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto site = std::find_if(reader.sites().begin(), reader.sites().end(),
                                   [&](const trace::Site& s) { return s.id == batch.site[i]; });
    if (site == reader.sites().end()) {
      ADD_FAILURE() << "a span of an unknown site";
      return;
    }
    spans[i] = {*site, batch.start_ns[i], batch.end_ns[i], batch.thread[i], -1, {}};
  }
  for (const trace::SpanValue& value : batch.values) {
    const std::string& key = reader.keys()[value.key];
    if (key == process::kIterationKey) spans[value.span].iteration = value.as_int;
    if (value.kind == XSP_VALUE_COUNTER) spans[value.span].counters[key] = value.as_double;
  }
  for (Span& span : spans) {
    if (span.site.level == XSP_LEVEL_MODEL) {
      file->models.push_back(std::move(span));
    } else if (span.site.level == XSP_LEVEL_LAYER) {
      file->layers.push_back(std::move(span));
    } else {
      ++file->others;
    }
  }
}

}  // namespace

TraceFile read_trace(const std::filesystem::path& path) {
  TraceFile file;
  const auto reader = trace::Reader::open(path);
  if (!reader.ok()) {
    ADD_FAILURE() << reader.error().text;
    return file;
  }
  file.is_complete = reader->is_complete();
  file.open = reader->open_spans().size();
  for (const trace::Loss& loss : reader->losses()) file.lost += loss.count;
  trace::SpanBatch batch;
  for (size_t stream = 0; stream < reader->streams().size(); ++stream) {
    for (size_t chunk = 0; chunk < reader->streams()[stream].chunk_count; ++chunk) {
      const Status read = reader->read(stream, chunk, &batch);
      if (read.ok()) {
        take(*reader, batch, &file);
      } else {
        ADD_FAILURE() << read.error().text;
      }
    }
  }
  const auto earlier = [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  };
  std::sort(file.models.begin(), file.models.end(), earlier);
  std::sort(file.layers.begin(), file.layers.end(), earlier);
  return file;
}

std::string attribute(const trace::Site& site, const std::string& key) {
  for (const auto& [name, value] : site.attributes) {
    if (name == key) return value;
  }
  return "absent";
}

double counter(const trace::Site& site, const std::string& key) {
  for (const auto& [name, value] : site.counters) {
    if (name == key) return value;
  }
  return -1;
}

}  // namespace xsp::contract
