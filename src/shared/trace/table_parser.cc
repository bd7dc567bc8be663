#include "shared/trace/table_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/base/limits.h"
#include "shared/trace/cursor.h"

namespace xsp::trace {
namespace {

// Facts are written again when they change: the last value holds.
template <typename Value>
void set(std::vector<std::pair<std::string, Value>>* facts, std::string key, Value value) {
  const auto known = std::find_if(facts->begin(), facts->end(),
                                  [&](const auto& fact) { return fact.first == key; });
  if (known != facts->end()) {
    known->second = std::move(value);
  } else {
    facts->emplace_back(std::move(key), std::move(value));
  }
}

bool parse_site(Cursor entry, Tables* tables) {
  const uint64_t id = entry.number();
  const uint64_t level = entry.number();
  Site site;
  site.name = entry.text(kNameBytesMax);
  site.type = entry.text(kNameBytesMax);
  if (!entry.is_good() || id == 0 || id > kSiteMax || level == 0 || level > kLevelMax) return false;
  site.id = static_cast<uint32_t>(id);
  site.level = static_cast<uint32_t>(level);
  while (tables->sites.size() < id) {
    tables->sites.emplace_back().id = static_cast<uint32_t>(tables->sites.size());
  }
  tables->sites[id - 1] = std::move(site);
  return true;
}

bool parse_key(Cursor entry, Tables* tables) {
  const uint64_t id = entry.number();
  std::string text = entry.text(kNameBytesMax);
  if (!entry.is_good() || id == 0 || id > kKeyMax) return false;
  if (tables->keys.size() <= id) tables->keys.resize(id + 1);
  tables->keys[id] = std::move(text);
  return true;
}

bool parse_fact(TableEntry kind, Cursor entry, Tables* tables) {
  const uint64_t id = entry.number();
  std::string key = entry.text(kNameBytesMax);
  if (!entry.is_good() || id > kSiteMax || !tables->has_site(static_cast<uint32_t>(id)))
    return false;
  Site& site = tables->sites[id - 1];
  if (kind == TableEntry::kSiteAttribute) {
    std::string value = entry.text(kSiteTextBytesMax);
    if (!entry.is_good()) return false;
    set(&site.attributes, std::move(key), std::move(value));
  } else {
    const std::span<const uint8_t> bytes = entry.bytes(sizeof(double));
    if (!entry.is_good()) return false;
    double value;
    std::memcpy(&value, bytes.data(), sizeof value);
    set(&site.counters, std::move(key), value);
  }
  return true;
}

}  // namespace

bool parse_table(std::span<const uint8_t> payload, Tables* tables) {
  Cursor cursor(payload);
  bool is_good = true;
  while (!cursor.is_at_end()) {
    Cursor entry(cursor.bytes(cursor.number()));
    if (!cursor.is_good()) return false;
    const auto kind = static_cast<TableEntry>(entry.byte());
    switch (kind) {
      case TableEntry::kSite:
        is_good = parse_site(entry, tables) && is_good;
        break;
      case TableEntry::kKey:
        is_good = parse_key(entry, tables) && is_good;
        break;
      case TableEntry::kSiteAttribute:
      case TableEntry::kSiteCounter:
        is_good = parse_fact(kind, entry, tables) && is_good;
        break;
      default:
        break;  // an entry of a later minor revision
    }
  }
  return is_good;
}

bool parse_losses(std::span<const uint8_t> payload, std::vector<Loss>* losses) {
  Cursor cursor(payload);
  losses->clear();
  while (!cursor.is_at_end()) {
    Loss loss;
    loss.source = cursor.text(kLossTextBytesMax);
    loss.cause = cursor.text(kLossTextBytesMax);
    loss.count = cursor.number();
    if (!cursor.is_good() || losses->size() == kLossMax) return false;
    losses->push_back(std::move(loss));
  }
  return true;
}

bool parse_open(std::span<const uint8_t> payload, OpenStack* stack) {
  if (payload.size() < sizeof stack->header) return false;
  std::memcpy(&stack->header, payload.data(), sizeof stack->header);
  const uint64_t kept = std::min<uint64_t>(stack->header.depth, kOpenMax);
  if (payload.size() - sizeof stack->header < kept * sizeof(OpenEntry)) return false;
  stack->entries.resize(kept);
  if (kept > 0) {
    std::memcpy(stack->entries.data(), payload.data() + sizeof stack->header,
                kept * sizeof(OpenEntry));
  }
  stack->not_kept = stack->header.depth - kept;
  return true;
}

}  // namespace xsp::trace
