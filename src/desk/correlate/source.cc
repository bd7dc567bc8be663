#include "desk/correlate/source.h"

namespace xsp::correlate {

ReaderSource::ReaderSource(const trace::Reader& reader) : reader_(reader) {
  for (const trace::Site& site : reader.sites()) {
    if (site.id >= levels_.size()) levels_.resize(site.id + size_t{1});
    levels_[site.id] = site.level < 256 ? static_cast<uint8_t>(site.level) : uint8_t{0};
  }
}

}  // namespace xsp::correlate
