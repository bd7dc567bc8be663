// Parses kTable, kLoss and kOpen payloads. The bytes are foreign.
#ifndef XSP_SHARED_TRACE_TABLE_PARSER_H_
#define XSP_SHARED_TRACE_TABLE_PARSER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/trace/format.h"
#include "shared/trace/reader.h"

namespace xsp::trace {

// The contents of a file's kTable chunks so far. A site or key that is not yet defined has level 0
// or no text.
struct Tables {
  std::vector<Site> sites;        // sites[id - 1]
  std::vector<std::string> keys;  // keys[id]; keys[0] is unused

  bool has_site(uint32_t id) const {
    return id != 0 && id <= sites.size() && sites[id - 1].level != 0;
  }
  bool has_key(uint32_t id) const { return id < keys.size() && !keys[id].empty(); }
};

// Adds the entries to `tables`. Returns false if some of them are invalid (the others are added).
bool parse_table(std::span<const uint8_t> payload, Tables* tables);
// Returns false if the bytes are invalid; `losses` then holds the entries before them.
bool parse_losses(std::span<const uint8_t> payload, std::vector<Loss>* losses);
// The open spans according to a header and its entries. Deeper spans than those kept are counted.
struct OpenStack {
  OpenHeader header = {};
  std::vector<OpenEntry> entries;
  uint64_t not_kept = 0;
};
bool parse_open(std::span<const uint8_t> payload, OpenStack* stack);

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_TABLE_PARSER_H_
