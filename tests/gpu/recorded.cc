#include "recorded.h"

#include "desk/correlate/source.h"
#include "xsp/xsp.h"

namespace xsp::gpu_test {
namespace {

class Values final : public correlate::ValueSink {
 public:
  Status value(uint64_t span_id, const trace::SpanValue& value) override {
    all[span_id].push_back(value);
    return Ok{};
  }
  std::map<uint64_t, std::vector<trace::SpanValue>> all;
};

}  // namespace

Result<Recorded> read_recorded(const std::string& path) {
  XSP_TRY(const trace::Reader reader, trace::Reader::open(path));
  const correlate::ReaderSource source(reader);
  Values values;
  XSP_TRY(correlate::Correlation correlation,
          correlate::Correlation::begin(source, correlate::Options{}, &values));
  Recorded recorded;
  while (true) {
    XSP_TRY(const auto batch, correlation.next());
    if (batch.empty()) break;
    for (const correlate::Span& found : batch) {
      const trace::Site& site = reader.sites().at(found.site - 1);
      Span span{found, site.name, site.type, {}, {}, {}, {}};
      span.attributes.insert(site.attributes.begin(), site.attributes.end());
      span.counters.insert(site.counters.begin(), site.counters.end());
      for (const trace::SpanValue& value : values.all[found.id]) {
        const std::string& key = reader.keys().at(value.key);
        if (value.kind == XSP_VALUE_TEXT) {
          span.texts[key] = value.as_text;
        } else {
          span.numbers[key] =
              value.kind == XSP_VALUE_INT ? static_cast<double>(value.as_int) : value.as_double;
        }
      }
      recorded.by_id[found.id] = recorded.spans.size();
      recorded.spans.push_back(std::move(span));
    }
  }
  recorded.facts = correlation.facts();
  recorded.losses = reader.losses();
  recorded.is_complete = reader.is_complete();
  return recorded;
}

}  // namespace xsp::gpu_test
