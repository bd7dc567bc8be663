/* xsp.h: annotate any program with spans.
 *
 * A span is a named interval at one level of the stack. Spans are recorded into a per-thread ring,
 * and a background thread drains them to an append-only .xtrace file. The emitting thread takes no
 * lock, makes no system call and allocates nothing, except with its first span of a recording.
 * While no trace is being recorded, a span costs one load and one branch.
 *
 *     static xsp_site load = XSP_SITE(XSP_LEVEL_APPLICATION, "load image");
 *     xsp_start(NULL);                         // to xsp-<pid>.xtrace
 *     xsp_span span = xsp_begin(&load);
 *     ...
 *     xsp_end(&span);
 *     xsp_stop();
 *
 * A model of your own. The analyses of models and layers only need a span at level model around
 * each inference, and spans at level layer in it:
 *
 *     static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "net");
 *     static xsp_site conv = {"conv1", "Conv", XSP_LEVEL_LAYER, 0};
 *     for (;;) {
 *       xsp_span inference = xsp_begin(&model);
 *       xsp_span_batch(&inference, 8);         // it has 8 inputs; may be left out
 *       xsp_span layer = xsp_begin(&conv);
 *       ...
 *       xsp_end(&layer);
 *       xsp_end(&inference);
 *     }
 *
 *  - Every outermost span at level model is an inference. xsp counts them itself, in the order of
 *    their starts, over all threads of the process; the first ones are warm-up, which is detected.
 *  - The number of inputs of an inference is known only if xsp_span_batch gives it for all
 *    inferences.
 *  - `xsp run -- PROGRAM` records the program and writes the .xsp file. It lets sets of levels take
 *    turns from inference to inference, so that each level is measured where no deeper one slows
 *    it. xsp_start and xsp_stop then do nothing, and succeed. A program that runs alone records
 *    with xsp_start, all levels at once, and `xsp import FILE.xtrace -o FILE.xsp` makes the file.
 *
 * Conventions
 *  - Structs that cross the library's edge begin with struct_size, which the caller sets; fields
 *    are only ever appended.
 *  - No memory changes owner: arguments are read only during the call. The exception is a static
 *    xsp_site and the text that it points to, which are read as long as spans of it begin.
 *  - No function here throws, aborts or sets errno. Data that cannot be recorded is dropped and
 *    counted.
 *  - Every function may be called from any thread, but not from a signal handler, and after fork in
 *    either process: a child continues to record into its own file, NAME.<pid>.xtrace, which its
 *    first span creates. A span should end on the thread on which it began, innermost first;
 *    otherwise it is recorded all the same, by the thread that ended it.
 *  - A process that ends without xsp_stop leaves a valid file: at exit the recording is stopped.
 *    After a crash or kill -9 the file lacks at most the last few milliseconds; it has the number
 *    of spans in that time, and the spans that were open.
 *
 * Environment
 *  - XSP_TRACE    the file, if xsp_start is not given one; "%p" in it becomes the process id.
 *  - XSP_LEVELS   the levels, if xsp_start is not given any: "model,layer", or "all".
 *  - XSP_CLOCK    "monotonic": time spans by CLOCK_MONOTONIC even if the processor's time-stamp
 *                 counter, which is cheaper, would work.
 *  - XSP_DISABLE  if set, and neither empty nor "0": xsp_start succeeds, and records nothing. */
#ifndef XSP_XSP_H_
#define XSP_XSP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_API __attribute__((visibility("default")))

/* The levels are listed outermost first. Their numbers are part of the trace format; new ones are
 * only added. */
enum {
  XSP_LEVEL_APPLICATION = 1,
  XSP_LEVEL_MODEL = 2,
  XSP_LEVEL_LAYER = 3,
  XSP_LEVEL_LIBRARY = 4, /* cuDNN, cuBLAS, NCCL, oneDNN calls */
  XSP_LEVEL_API = 5,     /* CUDA runtime and driver calls, on the host */
  XSP_LEVEL_KERNEL = 6   /* work of the device: kernels, copies, memsets */
};
#define XSP_LEVEL_BIT(level) (1u << (level))
#define XSP_LEVELS_ALL 0x7eu /* every level */

/* A place or a thing that emits spans. Its name is written to the trace once. */
typedef struct xsp_site {
  const char* name;
  const char* type; /* kind of thing, e.g. an operator type "Conv"; may be NULL */
  uint32_t level;   /* XSP_LEVEL_* */
  uint32_t id;      /* assigned at first use: 0 before; UINT32_MAX if the table is full */
} xsp_site;
#define XSP_SITE(level, name) \
  { (name), NULL, (level), 0 }

/* ---- Recording ------------------------------------------------------------------------------- */

typedef struct xsp_options {
  size_t struct_size;
  const char* path;    /* the .xtrace file; NULL: $XSP_TRACE, else xsp-<pid>.xtrace */
  uint32_t levels;     /* bits of the levels to record; 0: $XSP_LEVELS, else all */
  uint32_t ring_bytes; /* per thread, a power of two from 64 KiB to 1 GiB; 0: 8 MiB */
  uint64_t file_bytes; /* stop writing (and count) beyond this size; 0: no limit */
} xsp_options;

/* Starts recording to a file, which is created or replaced; NULL for the defaults. Returns 0 or an
 * errno value (EALREADY when recording). If another process is recording to the file, that file is
 * left alone, and NAME.<pid>.xtrace is used instead. Under `xsp run` the process is already
 * recorded, to the file of that run: the function does nothing and returns 0. */
XSP_API int xsp_start(const xsp_options* options);
/* Drains the spans, marks the file as complete, and closes it. Open spans are written as open.
 * Returns 0, also when nothing is being recorded, or the first errno value of a write to the file.
 * Under `xsp run` the recording continues to the end of the process. */
XSP_API int xsp_stop(void);
/* Returns 1 if `xsp run` records this process, else 0. */
XSP_API int xsp_is_watched(void);
/* Drains all emitted spans into the file; returns when they are written. */
XSP_API void xsp_flush(void);
/* Does the same as xsp_flush, but gives up after that time. It is for cases in which the calling
 * thread itself may hold the library's lock, as in a handler that ends the process. Returns 0 or
 * ETIMEDOUT. */
XSP_API int xsp_flush_within(uint32_t milliseconds);
/* Lets the calling thread take part in the recording before it has a span. In the child of a fork
 * this creates its file, which otherwise its first span creates. */
XSP_API void xsp_join(void);
/* Switches levels at run time; a span that has already begun is still recorded. */
XSP_API void xsp_set_levels(uint32_t levels);

/* Do not read or write directly: bit n set means that level n is being recorded. */
XSP_API extern uint32_t xsp_recorded_levels;
static inline int xsp_is_recorded(uint32_t level) {
  return (__atomic_load_n(&xsp_recorded_levels, __ATOMIC_RELAXED) >> level) & 1u;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Marks the end of one step of the program's main loop (a training iteration, an inference) and the
 * begin of the next: call it once in every iteration, at its end. A program that opens a span at
 * level model around each inference need not call it: these spans are its steps. Steps are spans of
 * the level application, type "step", attribute "step": their number from 0. They are recorded
 * whatever the levels are, and `xsp run` switches the recorded levels between two of them. */
XSP_API void xsp_step(void);

/* This part is for code that observes a framework and sees its steps. The strongest kind that a
 * process has shown defines its steps. From then on weaker kinds are ignored, and so are other
 * threads than the one whose steps are counted, as long as that one continues. */
enum {
  XSP_STEP_MODEL = 1,     /* outermost call of a model, from begin to end */
  XSP_STEP_OPTIMIZER = 2, /* end of an optimiser's step; it begins at the previous end */
  XSP_STEP_MARK = 3       /* xsp_step */
};
/* Must be called before the model's span begins; only XSP_STEP_MODEL has a begin of its own. */
XSP_API void xsp_step_begin(uint32_t kind);
/* Must be called after the model's span, or the optimiser's, has ended. */
XSP_API void xsp_step_end(uint32_t kind);

/* ---- Sites made at run time ------------------------------------------------------------------ */

/* Returns the id of the site with this level, name and type, and makes it at its first mention. It
 * is for names that are discovered at run time, such as layers. It takes a lock: call it once per
 * thing and keep the id. Returns 0 if the table is full (counted); spans of site 0 are dropped and
 * counted. Sites, keys and facts outlast a recording, and are written to each. */
XSP_API uint32_t xsp_intern_site(uint32_t level, const char* name, const char* type);
/* Makes a new site even if another has this level, name and type, for things that share a name and
 * differ in their facts (a kernel launched with two grids). xsp_intern_site never returns it. In
 * all else it is like xsp_intern_site: call it once per thing and keep the id. */
XSP_API uint32_t xsp_new_site(uint32_t level, const char* name, const char* type);
/* Adds a fact that holds for every span of a site (shapes, types, provenance). It is written once.
 * If a key is set again, the last value holds. */
XSP_API void xsp_site_attribute(uint32_t site_id, const char* key, const char* value);
/* Adds a number that holds for every span of a site; its key ends in its unit, e.g. "output_bytes".
 */
XSP_API void xsp_site_counter(uint32_t site_id, const char* key, double value);
/* Returns the id of an attribute's or a counter's key, for the calls below. Returns 0 if the table
 * is full; values under key 0 are dropped and counted. */
XSP_API uint32_t xsp_intern_key(const char* key);

/* ---- Spans as they happen -------------------------------------------------------------------- */

/* Holds the library's data about a span; the caller keeps it until the span ends. */
typedef struct xsp_span {
  uint64_t start; /* ticks of the trace's clock; 0: not recorded */
  uint64_t value; /* the inline number, if key is not 0 */
  uint32_t site_id;
  uint32_t key; /* key of the inline number, with its kind */
} xsp_span;

/* The out-of-line parts of the inline functions below. */
XSP_API xsp_span xsp_begin_recorded(xsp_site* site);
XSP_API void xsp_end_recorded(const xsp_span* span);

static inline xsp_span xsp_begin(xsp_site* site) {
  if (xsp_is_recorded(site->level)) return xsp_begin_recorded(site);
  xsp_span none = {0, 0, 0, 0};
  return none;
}
static inline void xsp_end(xsp_span* span) {
  if (span->start != 0) xsp_end_recorded(span);
}
/* These functions add an attribute to a span. The first number of a span is free of charge; each
 * further value takes one more record. Texts are cut at 4096 bytes. */
XSP_API void xsp_span_int(xsp_span* span, uint32_t key, int64_t value);
XSP_API void xsp_span_double(xsp_span* span, uint32_t key, double value);
XSP_API void xsp_span_text(xsp_span* span, uint32_t key, const char* value);
/* Sets the number of inputs of the inference that this span, of level model, measures. It becomes
 * the attribute "batch", a whole number, which a span of xsp_emit may have as a value. A number
 * that is not greater than 0 is not recorded. */
XSP_API void xsp_span_batch(xsp_span* span, int64_t inputs);
/* Adds a counter: a number that hardware or the framework counted during the span. */
XSP_API void xsp_span_counter(xsp_span* span, uint32_t key, double value);
/* Sets the W3C trace context, "00-<trace id>-<parent id>-<flags>", which ties the span to a
 * distributed trace, as its attribute "traceparent". Returns 0, or EINVAL if the text is malformed
 * (then it is not recorded). */
XSP_API int xsp_span_traceparent(xsp_span* span, const char* traceparent);

/* ---- Spans with given times ------------------------------------------------------------------ */

enum { XSP_VALUE_INT = 1, XSP_VALUE_DOUBLE = 2, XSP_VALUE_TEXT = 3, XSP_VALUE_COUNTER = 4 };
typedef struct xsp_value {
  uint32_t key;  /* from xsp_intern_key */
  uint32_t kind; /* XSP_VALUE_* */
  union {
    int64_t as_int;
    double as_double; /* XSP_VALUE_DOUBLE and XSP_VALUE_COUNTER */
    const char* as_text;
  } value;
} xsp_value;

typedef struct xsp_complete_span {
  size_t struct_size;
  uint32_t site_id;
  uint32_t thread;         /* the thread on which it ran; 0: the calling thread */
  int64_t start_ns;        /* UNIX time; see xsp_now_ns */
  int64_t duration_ns;     /* >= 0; a negative value counts as 0 */
  uint64_t correlation_id; /* ties a launch to the launched work; 0: none */
  const xsp_value* values; /* attributes and counters */
  size_t value_count;
  uint32_t device; /* device + 1; 0: the host */
  uint32_t stream; /* stream + 1; 0: none */
} xsp_complete_span;

/* Records a span whose times another profiler measured, if its level has been recorded at any time
 * of this recording: such a profiler may deliver its spans after levels have changed. */
XSP_API void xsp_emit(const xsp_complete_span* span);
/* Returns the current time of the clock of xsp_complete_span.start_ns: nanoseconds of UNIX time, as
 * the trace's own anchors convert them. A step of the system's clock during the recording does not
 * move it. */
XSP_API int64_t xsp_now_ns(void);

/* ---- Losses ---------------------------------------------------------------------------------- */

/* Holds the counts of the current recording, or else of the last one. */
typedef struct xsp_counts {
  size_t struct_size;
  uint64_t recorded;     /* accepted spans; dropped_file of them did not reach the file */
  uint64_t dropped_ring; /* spans lost because a thread's ring was full, or could not be had */
  uint64_t dropped_file; /* spans lost because the file could not be written, or was at its limit */
  uint64_t dropped_site; /* spans lost because the table of sites was full */
  uint64_t clock_jumps;  /* number of times that the clocks disagreed */
} xsp_counts;
XSP_API void xsp_get_counts(xsp_counts* counts);
/* Counts events that a collector has lost, e.g. ("cupti", "buffer full", 12): they reach the table
 * `loss` of the evaluation. */
XSP_API void xsp_count_loss(const char* source, const char* cause, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif /* XSP_XSP_H_ */
