// The process's tables of sites and keys, and the facts about sites.
//
// They grow as long as the process lives and outlast a recording, because the program keeps the ids
// of its sites in its own memory. All of it is one append-only log of entries, in the same bytes as
// the file's kTable chunks (trace/format.h). So a recording writes the log from its beginning, and
// later only the new entries.
//
// Any thread may call these functions; those that append take a lock of the tables.
#ifndef XSP_PROCESS_RECORD_TABLES_H_
#define XSP_PROCESS_RECORD_TABLES_H_

#include <cstddef>
#include <cstdint>

namespace xsp::process {

// Ids count from 1; the result is 0 if the table is full.
uint32_t intern_site(uint32_t level, const char* name, const char* type);
// Makes a new site even if another one has that name; intern_site does not find it.
uint32_t new_site(uint32_t level, const char* name, const char* type);
uint32_t intern_key(const char* key);
void add_site_attribute(uint32_t site_id, const char* key, const char* value);
void add_site_counter(uint32_t site_id, const char* key, double value);

// Returns the level of a site, or 0 if there is no site with that id.
uint32_t site_level(uint32_t site_id);
bool is_key(uint32_t key);

// Returns the log; it exists once tables_size() is not 0. Entries below that size do not change any
// more.
const uint8_t* tables_log();
size_t tables_size();
// Returns the number of entries that could not be added since the process began.
uint64_t tables_dropped();

// Held around a fork, so that no other thread is inside the tables.
void lock_tables();
void unlock_tables();
// For a child whose fork ran no handlers: a thread that no longer exists may hold the lock.
void reset_tables_lock();

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_TABLES_H_
