// This file has the structures of an .xtrace file. writer.cc draws their order and gives the
// reasons for it.
#ifndef XSP_SHARED_TRACE_FORMAT_H_
#define XSP_SHARED_TRACE_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "shared/base/clock.h"

namespace xsp::trace {

// Damage by text-mode transfers and 7-bit channels shows in these bytes.
inline constexpr uint8_t kFileMagic[8] = {0x8b, 'X', 'S', 'P', '\r', '\n', 0x1a, '\n'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kByteOrder = 0x01020304;
inline constexpr uint32_t kPageBytes = 4096;

// ---- The first page ----------------------------------------------------------------------------

// The header never changes once it is written.
struct FileHeader {
  uint8_t magic[8];
  uint32_t byte_order;  // kByteOrder, in the byte order of the writing machine
  uint32_t version;
  uint32_t process_id;
  uint32_t tick_source;  // TickSource
  uint64_t ticks_per_s;  // approximate; used if no second anchor was written
  Anchor first;          // defines UNIX time for the whole trace: realtime - monotonic here
  uint32_t unused;
  uint32_t crc;  // CRC of the bytes before it
};
static_assert(sizeof(FileHeader) == 64);
inline constexpr uint32_t kHeaderCopyOffset = kPageBytes - sizeof(FileHeader);  // a second one

enum class FileState : uint64_t { kRecording = 1, kComplete = 2 };

// The block is updated in place, through a shared mapping of the page, so it survives the process.
struct SessionBlock {
  uint64_t state;         // FileState
  uint64_t anchor_count;  // the latest anchor is latest[anchor_count % 2]; 0: none yet
  Anchor latest[2];
  uint64_t dropped_file;   // spans that could not be written
  uint64_t dropped_ring;   // spans of threads that could get no ring
  uint64_t dropped_site;   // spans without a site, of such threads
  uint64_t dropped_value;  // values of spans without room
  uint64_t dropped_fact;   // sites, keys and facts of sites without room
  uint64_t clock_jumps;
  uint64_t chunk_count;  // in the file
  uint64_t drained;      // spans taken off the rings, written or not
  uint64_t samples;      // samples of threads taken, written or not
  uint64_t late;         // spans begun between the end of the recording and the end of the process
};
inline constexpr uint32_t kSessionBlockOffset = 64;
static_assert(kSessionBlockOffset + sizeof(SessionBlock) <= kHeaderCopyOffset);

// ---- Chunks ------------------------------------------------------------------------------------

inline constexpr uint32_t kChunkMagic = 0x6b506358;  // "XcPk"
inline constexpr uint32_t kChunkAlignment = 8;

enum class ChunkType : uint16_t {
  kTable = 1,    // sites, keys, facts of sites
  kSpans = 2,    // spans of one thread
  kAnchor = 3,   // Anchor: the clocks at one moment
  kLane = 4,     // padding, then a live LaneBlock at a page's edge: payload_crc does not cover it
  kOpen = 5,     // OpenHeader, OpenEntry...: spans that a thread left open
  kLoss = 6,     // losses that collectors reported, cumulative
  kLevels = 7,   // LevelsMark: these levels are recorded from then on
  kStacks = 8,   // data to which samples refer: texts, code, the tree of stacks
  kSamples = 9,  // SamplesHeader, then looks at the process's threads
  kCostedSamples = 10,  // the same, with the threads' cost in the kernel
};

struct ChunkHeader {
  uint32_t magic;
  uint16_t type;  // ChunkType; a reader skips types that it does not know
  uint16_t unused;
  uint32_t payload_bytes;
  uint32_t payload_crc;
  uint32_t sequence;    // 0, 1, 2, ... in the file
  uint32_t header_crc;  // CRC of the bytes before it
};
static_assert(sizeof(ChunkHeader) == 24);

// ---- Spans -------------------------------------------------------------------------------------

// A lane is one ring with its block. One thread at a time uses it.
struct SpansHeader {
  uint32_t lane;
  uint32_t thread;
  uint32_t is_given;  // 1: given times, in UNIX nanoseconds; 0: ticks, ordered by end
  uint32_t span_count;
  uint64_t ordinal;       // spans of this lane and kind in earlier chunks: a gap is a loss
  uint64_t dropped_ring;  // spans of this lane lost so far because its ring was full
  uint64_t dropped_site;  // spans of this lane lost so far because they had no site
  uint64_t base;          // the first span's end, or its start if is_given
  uint32_t constant;      // bit c: column c has one value for all spans
  uint32_t value_count;   // entries of the column kValues
  uint32_t column_bytes[8];
};
static_assert(sizeof(SpansHeader) == 88);

enum Column : uint32_t {
  kTime = 0,      // varint of end - previous end; if given, zigzag of start - previous start
  kDuration = 1,  // varint
  kSite = 2,      // varint
  kKey = 3,       // varint of key << 2 | kind: see Record
  kPayload = 4,  // varint of zigzag(difference to the last of its kind), or of reversed double bits
  kPlaceThread = 5,  // varints
  kPlaceDevice = 6,
  kPlaceStream = 7,
  kColumnCount = 8
};
// The further values follow the columns: varint(span index - previous), varint(key), byte(kind),
// then a zigzag varint (int), a varint of reversed bits (double, counter), or varint(length) and
// text.

// ---- Lanes and open spans ----------------------------------------------------------------------

struct OpenEntry {
  uint64_t start;  // ticks
  uint32_t site_id;
  uint32_t unused;
};

enum class LaneState : uint32_t { kFree = 0, kLive = 1 };

// The block survives the process: the lane's thread writes it as spans begin and end.
struct LaneBlock {
  uint32_t lane;
  uint32_t thread;
  uint32_t state;  // LaneState: whether open[] is valid
  uint32_t unused;
  // The spans accepted into the ring that happened between begin and end (48 bits), and the spans
  // that are open now (16 bits). One store changes both: at any instant a span is either open or
  // accepted, never both or neither.
  uint64_t accepted_and_depth;
  uint64_t accepted_given;
  uint64_t dropped_ring;
  uint64_t dropped_site;
  uint64_t unused2[2];
  OpenEntry
      open[(kPageBytes - 64) / sizeof(OpenEntry)];  // innermost last; deeper ones are not kept

  static constexpr int kDepthBits = 16;
  static constexpr uint64_t kDepthMask = (uint64_t{1} << kDepthBits) - 1;
  static constexpr uint64_t kOneAccepted = uint64_t{1} << kDepthBits;
};
static_assert(sizeof(LaneBlock) == kPageBytes);
inline constexpr uint32_t kOpenMax = sizeof(LaneBlock::open) / sizeof(OpenEntry);

struct OpenHeader {
  uint32_t lane;
  uint32_t thread;
  uint32_t depth;  // open spans; OpenEntry follow for the outermost kOpenMax of them
  uint32_t unused;
};

// ---- Levels ------------------------------------------------------------------------------------

// A trace whose levels were never switched has no marks. Otherwise the first mark says what was
// recorded from the beginning.
struct LevelsMark {
  uint64_t ticks;
  uint32_t levels;  // bits
  uint32_t round;   // if sets of levels take turns: from 1; 0: they do not, or not yet
};

// ---- Tables ------------------------------------------------------------------------------------

// An entry is varint(length of the rest), byte(TableEntry), and the fields that are listed here;
// text is varint(length) and its bytes.
enum class TableEntry : uint8_t {
  kSite = 1,           // varint id, varint level, text name, text type (may be empty)
  kKey = 2,            // varint id, text
  kSiteAttribute = 3,  // varint site id, text key, text value
  kSiteCounter = 4,    // varint site id, text key, 8 bytes of a double
};

// ---- Samples -----------------------------------------------------------------------------------

// Tells the state of a thread at a look.
enum class ThreadDoes : uint8_t { kEnded = 0, kRuns = 1, kQueues = 2, kWaits = 3 };
// Relates a thread to its interpreter's lock. kNone: the thread has no interpreter, or does not
// want the lock.
enum class LockState : uint8_t { kNone = 0, kHeld = 1, kWanted = 2 };
inline constexpr int kLockShift = 2;  // position of the LockState in the byte, above ThreadDoes

// An entry of a chunk kStacks is varint(length of the rest), byte(StackEntry), and the fields that
// are listed here. Ids count from 1. An id may be defined again; later entries then mean the new
// definition.
enum class StackEntry : uint8_t {
  kText = 1,        // varint id, text
  kPythonCode = 2,  // varint id, varint LinesForm, varint first line, text function, text file,
                    // text table of lines
  kPythonNode = 3,  // varint id, varint parent (0: a root), varint code, zigzag varint instruction
                    // (-1: not known)
  kModule = 4,  // varint id, varint offset in the file, varint bytes, text path: a part of a file
                // that is mapped to be executed
  kNativeNode = 5,  // varint id, varint parent, varint module, varint offset in the file
};
// The form of the table that gives the lines of instructions, by version of CPython.
enum class LinesForm : uint8_t { kNone = 0, kBefore310 = 1, k310 = 2, kFrom311 = 3 };

// Looks follow. Each is varint(ns since the previous look), varint(ns that it stands for),
// varint(number of threads that changed), and for each of these threads: varint thread, byte
// ThreadDoes | LockState << kLockShift, varint node (0: none), varint text of the call in which it
// waits (0: none). A thread that is not listed did not change; the first look of each chunk lists
// all. In kCostedSamples each thread's entry ends with varint ns in the kernel and varint pages
// touched first, both since the previous look; they are 0 for a thread that is not listed.
struct SamplesHeader {
  int64_t first_ns;  // UNIX time from which the first look counts
  uint32_t look_count;
  uint32_t unused;
};
static_assert(sizeof(SamplesHeader) == 16);

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_FORMAT_H_
