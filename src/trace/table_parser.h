// Parsing of kTable, kLoss and kOpen payloads: foreign bytes.
#ifndef XSP_TRACE_TABLE_PARSER_H_
#define XSP_TRACE_TABLE_PARSER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/format.h"
#include "trace/reader.h"

namespace xsp::trace {

// What the kTable chunks of a file have said so far. A site or key that none has named yet has
// level 0 or no text.
struct Tables {
  std::vector<Site> sites;        // sites[id - 1]
  std::vector<std::string> keys;  // keys[id]; keys[0] is unused

  bool has_site(uint32_t id) const {
    return id != 0 && id <= sites.size() && sites[id - 1].level != 0;
  }
  bool has_key(uint32_t id) const { return id < keys.size() && !keys[id].empty(); }
};

// Adds the entries to `tables`; false if some of them make no sense (the others are added).
bool parse_table(std::span<const uint8_t> payload, Tables* tables);
// False if the bytes make no sense; `losses` then holds what could be read.
bool parse_losses(std::span<const uint8_t> payload, std::vector<Loss>* losses);
// The spans that are open according to a header and its entries; those deeper than what was kept
// are counted.
struct OpenStack {
  OpenHeader header = {};
  std::vector<OpenEntry> entries;
  uint64_t not_kept = 0;
};
bool parse_open(std::span<const uint8_t> payload, OpenStack* stack);

}  // namespace xsp::trace

#endif  // XSP_TRACE_TABLE_PARSER_H_
