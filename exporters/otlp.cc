// OpenTelemetry's traces, as the OTLP file exporter writes them: JSON lines. Each line is a
// complete body of a request to /v1/traces, with at most kSpansOfLine spans.
//
// Each run is a trace, and its id is made of the run's number and its first moment. Spans have
// their parents of the table span. A span that carries a W3C trace context (the attribute
// traceparent) has a link to the span of that trace.
#include <algorithm>
#include <map>

#include "exporters/shared/exporter.h"
#include "exporters/shared/json_text.h"
#include "exporters/shared/output.h"
#include "exporters/shared/spans.h"
#include "shared/base/levels.h"

namespace xsp::exporters {
namespace {

constexpr size_t kSpansOfLine = 1000;
constexpr int64_t kInternal = 1;  // SPAN_KIND_INTERNAL

std::string hex(uint64_t number) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = kDigits[number >> (60 - 4 * i) & 15];
  return text;
}

// Spreads the bits of a number over all bits of the result.
uint64_t mixed(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

class OtlpWriter {
 public:
  OtlpWriter(Output output, std::vector<std::pair<std::string, std::string>> facts)
      : output_(std::move(output)), facts_(std::move(facts)) {}

  Status add(const Span& span) {
    if (spans_of_line_ == 0) begin_line();
    if (spans_of_line_++ > 0) output_.text().append(",");
    put_span(span);
    if (spans_of_line_ == kSpansOfLine) end_line();
    return output_.spill();
  }

  Status close() {
    if (spans_of_line_ > 0) end_line();
    return output_.close();
  }

 private:
  // An attribute is a key and a value, which names its type.
  void put_attribute(JsonList* list, std::string_view key, std::string_view type,
                     std::string_view text) {
    std::string* out = list->element();
    out->append("{\"key\":");
    put_text(out, key);
    out->append(",\"value\":{");
    put_text(out, type);
    out->push_back(':');
    out->append(text);
    out->append("}}");
  }
  void put_attribute(JsonList* list, std::string_view key, const std::string& value) {
    std::string text;
    put_text(&text, value);
    put_attribute(list, key, "stringValue", text);
  }
  // 64-bit integers are texts in JSON, because JavaScript's numbers have 53 bits.
  void put_attribute(JsonList* list, std::string_view key, std::optional<int64_t> number) {
    if (number) {
      put_attribute(list, key, "intValue", "\"" + std::to_string(*number) + "\"");
    }
  }

  void begin_line() {
    std::string* out = &output_.text();
    out->append("{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    JsonList list(out);
    std::string service = "xsp";
    for (const auto& [key, value] : facts_) {
      if (key == "model") service = value;
    }
    put_attribute(&list, "service.name", service);
    for (const auto& [key, value] : facts_) put_attribute(&list, "xsp." + key, value);
    out->append("]},\"scopeSpans\":[{\"scope\":{\"name\":\"xsp\"},\"spans\":[");
  }
  void end_line() {
    output_.text().append("]}]}]}\n");
    spans_of_line_ = 0;
  }

  const std::string& trace_of(const Span& span) {
    std::string& id = traces_[span.run];
    if (id.empty()) {
      const auto start = static_cast<uint64_t>(span.start_ns);
      const auto run = static_cast<uint64_t>(span.run);
      id = hex(mixed(start)) + hex(mixed(start ^ mixed(run)) | 1);
    }
    return id;
  }

  void put_span(const Span& span) {
    std::string* out = &output_.text();
    out->push_back('{');
    JsonList list(out);
    put_text(list.member("traceId"), trace_of(span));
    put_text(list.member("spanId"), hex(span.unique_id()));
    if (span.parent) {
      put_text(list.member("parentSpanId"), hex(Span::unique(span.run, *span.parent)));
    }
    put_text(list.member("name"), span.name);
    put_number(list.member("kind"), kInternal);
    put_text(list.member("startTimeUnixNano"), std::to_string(span.start_ns));
    put_text(list.member("endTimeUnixNano"), std::to_string(span.end_ns()));
    list.member("attributes")->push_back('[');
    put_attributes(span);
    out->push_back(']');
    put_link(&list, span);
    out->push_back('}');
  }

  void put_attributes(const Span& span) {
    JsonList list(&output_.text());
    put_attribute(&list, "xsp.level", std::string(level_name(span.level)));
    if (!span.type.empty()) put_attribute(&list, "xsp.type", span.type);
    put_attribute(&list, "xsp.run", std::optional(span.run));
    put_attribute(&list, "xsp.iteration", span.iteration);
    put_attribute(&list, "process.pid", span.process);
    put_attribute(&list, "thread.id", span.thread);
    put_attribute(&list, "xsp.device", span.device);
    put_attribute(&list, "xsp.stream", span.stream);
    put_attribute(&list, "xsp.correlation_id", span.correlation);
    for (const Fact& fact : span.facts) {
      if (!fact.number) {
        put_attribute(&list, "xsp.attribute." + fact.key, fact.text);
        continue;
      }
      std::string number;
      put_number(&number, *fact.number);
      if (number != "null") put_attribute(&list, "xsp.counter." + fact.key, "doubleValue", number);
    }
  }

  // The form is 00-<32 digits>-<16 digits>-<flags>: see xsp_span_traceparent in xsp/xsp.h.
  void put_link(JsonList* list, const Span& span) {
    const auto found = std::find_if(span.facts.begin(), span.facts.end(),
                                    [](const Fact& fact) { return fact.key == "traceparent"; });
    if (found == span.facts.end() || found->text.size() < 55) return;
    std::string* out = list->member("links");
    out->append("[{\"traceId\":");
    put_text(out, std::string_view(found->text).substr(3, 32));
    out->append(",\"spanId\":");
    put_text(out, std::string_view(found->text).substr(36, 16));
    out->append("}]");
  }

  Output output_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::map<int64_t, std::string> traces_;  // the id of each run's trace
  size_t spans_of_line_ = 0;
};

Result<Written> write(const Request& request) {
  XSP_TRY(store::Database database, open_for_export(request));
  XSP_TRY(auto facts, facts_of_evaluation(database));
  XSP_TRY(Output output, Output::create(request.output));
  OtlpWriter writer(std::move(output), std::move(facts));
  XSP_TRY(const uint64_t spans,
          each_span(database, request, [&](const Span& span) { return writer.add(span); }));
  XSP_CHECK_OK(writer.close());
  return Written{spans, "span"};
}

}  // namespace

std::vector<Exporter> otlp_exporters() {
  return {{"otlp", "OpenTelemetry's traces (OTLP in JSON): each line is a body for /v1/traces",
           ".otlp.jsonl", Takes::kSpans, write}};
}

}  // namespace xsp::exporters
