// The process's tables of sites and keys, and the facts about sites.
//
// They grow as long as the process lives and outlast a recording: a site's id is kept in the user's
// own memory. All of it is one append-only log of entries, in the very bytes of the file's kTable
// chunks (trace/format.h), so that a recording writes the log from its beginning and then whatever
// is new.
//
// Thread rule: any thread; what appends takes a lock of its own.
#ifndef XSP_CAPTURE_ANNOTATE_TABLES_H_
#define XSP_CAPTURE_ANNOTATE_TABLES_H_

#include <cstddef>
#include <cstdint>

namespace xsp::capture {

// Ids count from 1; 0 if the table is full.
uint32_t intern_site(uint32_t level, const char* name, const char* type);
// A site of its own, even where another has that name; intern_site does not find it.
uint32_t new_site(uint32_t level, const char* name, const char* type);
uint32_t intern_key(const char* key);
void add_site_attribute(uint32_t site_id, const char* key, const char* value);
void add_site_counter(uint32_t site_id, const char* key, double value);

// The level of a site, 0 if there is none of that id.
uint32_t site_level(uint32_t site_id);
bool is_key(uint32_t key);

// The log, once tables_size() is not 0. Entries below that do not change any more.
const uint8_t* tables_log();
size_t tables_size();
// What could not be added, since the process began.
uint64_t tables_dropped();

// Around a fork: nobody else is inside the tables.
void lock_tables();
void unlock_tables();
// In a child whose fork was not announced: the lock may be another thread's for ever.
void reset_tables_lock();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ANNOTATE_TABLES_H_
