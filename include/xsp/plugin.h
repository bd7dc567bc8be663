/* plugin.h: the C interface of adapters and collectors.
 *
 * An adapter opens a model in one framework and runs it, and emits layer spans through xsp.h. It is
 * one shared library, lib/xsp/adapters/NAME.so, which exports one constant:
 *
 *     XSP_API extern const xsp_adapter xsp_adapter_entry;
 *
 * A separate worker process loads it, so it may link or load whatever its framework needs.
 *
 * Conventions
 *  - Structs begin with struct_size, and fields are only appended. The code that fills a struct
 *    sets struct_size to the size that it knows; a reader takes fields beyond it as zero (XSP_HAS).
 *    For a struct that the callee fills, the caller sets struct_size to the available room. Code
 *    that walks an array uses the struct_size of its first element (xsp_tensor_at).
 *  - No memory changes owner. An argument is valid only during the call. Memory that an adapter
 *    returns through a pointer stays valid until the next call on the same model, or until close.
 *  - All calls on one model come from one thread, or from one at a time (opens_several). An adapter
 *    may own further threads.
 *  - A function that fails returns a status other than XSP_OK, and sends one line of text through
 *    host->fail, in the form `what: why: what to do`.
 *  - C++ exceptions must not leave an adapter. */
#ifndef XSP_PLUGIN_H_
#define XSP_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#include "xsp/xsp.h"

#ifdef __cplusplus
extern "C" {
#endif

#define XSP_PLUGIN_ABI 1

/* True if the struct that `pointer` points to reaches as far as `field`. */
#define XSP_HAS(type, pointer, field) \
  ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))

typedef enum xsp_status {
  XSP_OK = 0,
  XSP_FAILED = 1,        /* the framework refused or failed */
  XSP_BAD_MODEL = 2,     /* the file is not a model that this framework can run */
  XSP_BAD_INPUT = 3,     /* a name, shape or type that the model does not accept */
  XSP_NOT_AVAILABLE = 4, /* the framework or the device is absent here */
  XSP_OUT_OF_MEMORY = 5
} xsp_status;

/* Element types, numbered as in ONNX's TensorProto.DataType. */
typedef enum xsp_dtype {
  XSP_FLOAT32 = 1,
  XSP_UINT8 = 2,
  XSP_INT8 = 3,
  XSP_UINT16 = 4,
  XSP_INT16 = 5,
  XSP_INT32 = 6,
  XSP_INT64 = 7,
  XSP_BOOL = 9,
  XSP_FLOAT16 = 10,
  XSP_FLOAT64 = 11,
  XSP_UINT32 = 12,
  XSP_UINT64 = 13,
  XSP_BFLOAT16 = 16
} xsp_dtype;

#define XSP_RANK_MAX 16

/* Describes a model's input or output. */
typedef struct xsp_tensor_info {
  size_t struct_size;
  const char* name;
  uint32_t dtype;             /* xsp_dtype */
  uint32_t rank;              /* <= XSP_RANK_MAX */
  const int64_t* dimensions;  /* `rank` entries; -1: dynamic */
  const char* const* symbols; /* `rank` entries: names of dynamic dimensions; "" or NULL: none */
  uint64_t below;             /* integers must be below this; 0: not known */
} xsp_tensor_info;

/* A tensor's values, row-major and contiguous, in host memory. */
typedef struct xsp_tensor {
  size_t struct_size;
  const char* name;
  uint32_t dtype;
  uint32_t rank;
  const int64_t* dimensions;
  const void* data;
  size_t data_bytes;
} xsp_tensor;

static inline const xsp_tensor* xsp_tensor_at(const xsp_tensor* first, size_t index) {
  return (const xsp_tensor*)(const void*)((const char*)first + index * first->struct_size);
}
static inline const xsp_tensor_info* xsp_tensor_info_at(const xsp_tensor_info* first,
                                                        size_t index) {
  return (const xsp_tensor_info*)(const void*)((const char*)first + index * first->struct_size);
}

/* Offers the services of the worker to an adapter, on any thread, from probe or open until close.
 */
typedef struct xsp_host {
  size_t struct_size;
  void* context;
  /* Reports why the current call fails, in one line: `what: why: what to do`. */
  void (*fail)(void* context, const char* text);
  /* Reports a fact that is not a failure, in one line. */
  void (*note)(void* context, const char* text);
  /* A folder for files that the adapter needs while the model is open; it is removed afterwards. */
  const char* scratch_folder;
} xsp_host;

typedef struct xsp_option {
  const char* key;
  const char* value;
} xsp_option;

typedef struct xsp_open_options {
  size_t struct_size;
  const char* path;   /* the model's file; for `fake`, a description */
  const char* device; /* "cpu", "cuda", "cuda:1" */
  uint32_t levels;  /* bits of the levels of this run: emit layer spans iff XSP_LEVEL_LAYER is set,
                       and switch every profiler of the framework off otherwise */
  uint32_t threads; /* intra-op threads; 0: the framework's default */
  const xsp_option* options; /* for the framework, e.g. {"graph_optimization", "basic"} */
  size_t option_count;
  uint32_t model_site;     /* site of the model's spans, for facts about it (below); 0: none */
  uint32_t repeats_layers; /* 1: on flush, repeat the device work of each layer alone, and emit a
                              span of each (below) */
  /* The user's shapes of inputs, for a file that does not say what inputs it takes: a line for
   * each, "input NAME TYPE 1,3,224,224", and "batch" where the batch is. NULL: none was given. */
  const char* inputs;
  uint32_t counts_spans; /* 1: a collector counts every kernel by itself in this run
                            (XSP_COUNTS_SPANS), which a CUDA graph does not allow: launch each
                            kernel by itself, if the framework can. The run's times are never
                            quoted. */
} xsp_open_options;

typedef struct xsp_probe {
  size_t struct_size;
  const char* version; /* version of the framework that would run, e.g. "1.31.1" */
  const char* library; /* the file from which it was loaded */
  const char* devices; /* its devices, comma separated: "cpu,cuda" */
  const char* formats; /* file name endings that it opens, comma separated: ".onnx" */
  /* The endings of models in two files, of which the user names either, comma separated: the two
   * endings with a plus between them, and # for digits: "-symbol.json+-#.params". The names of both
   * files begin alike, with the model's name. NULL: none. */
  const char* pairs;
  /* What a user types so that its threads sleep between runs, where they otherwise spin:
   * "--option NAME=VALUE". NULL: nothing is known. */
  const char* rest;
} xsp_probe;

typedef struct xsp_model xsp_model; /* defined by the adapter */

/* An output of a run that is an input of the next one: their places among those that outputs() and
 * inputs() return. */
typedef struct xsp_fed_back {
  uint32_t output;
  uint32_t input;
} xsp_fed_back;

typedef struct xsp_adapter {
  size_t struct_size;
  uint32_t abi;     /* XSP_PLUGIN_ABI */
  const char* name; /* as for --framework: "onnxruntime" */
  const char* help; /* one line for `xsp doctor`: how to install an absent framework */
  /* Checks whether the framework is here. Fills `probe`, which stays valid as long as the adapter
   * is loaded. */
  xsp_status (*probe)(const xsp_host* host, xsp_probe* probe);
  xsp_status (*open)(const xsp_host* host, const xsp_open_options* options, xsp_model** model);
  /* Return the model's inputs and outputs, in its own order. Outputs may declare dimensions as
   * dynamic that turn out to be fixed. */
  xsp_status (*inputs)(xsp_model* model, const xsp_tensor_info** infos, size_t* count);
  xsp_status (*outputs)(xsp_model* model, const xsp_tensor_info** infos, size_t* count);
  /* Sets the values for the following runs: every input, in any order, but for those that feed_back
   * names. Copies them. */
  xsp_status (*set_inputs)(xsp_model* model, const xsp_tensor* tensors, size_t count);
  /* Runs one inference to its end: on a device, until its results are there. The caller records the
   * span of the level model around it. */
  xsp_status (*run)(xsp_model* model);
  /* Returns the results of the last run, in host memory. */
  xsp_status (*results)(xsp_model* model, const xsp_tensor** tensors, size_t* count);
  /* Emits every layer span of the runs so far that has not been emitted yet. May end the recording
   * of layers: no run follows it. */
  xsp_status (*flush)(xsp_model* model);
  /* Releases the model; never fails. `model` may be NULL. */
  void (*close)(xsp_model* model);
  /* Returns the number of runs of this model that can be recorded at its levels, because some
   * frameworks keep their own profile in memory; 0: any number. NULL: any number. Beyond that
   * number, layers may be lost. */
  uint64_t (*runs_max)(xsp_model* model);
  /* Records details that cost too much for every run (allocations, as spans of the level api) from
   * the next run on, or stops that; before the first call it does not. The worker asks for details
   * in the first few measured inferences. NULL: the adapter has no such details. */
  void (*record_details)(xsp_model* model, uint32_t on);
  /* The next two are of a language model that holds the keys and values of its tokens itself. NULL:
   * the model does not, or they are among its inputs and outputs.
   *
   * Forgets all tokens, and makes room for `tokens` ones of each of `sequences` sequences. From
   * then on the tokens of set_inputs follow those that were set before and have run. A run without
   * new inputs repeats the last one. The model has one input, its tokens, [sequence, token], and
   * one output, the scores after the last of them, [sequence, vocabulary]. */
  xsp_status (*keep_tokens)(xsp_model* model, uint64_t sequences, uint64_t tokens);
  /* Returns the bytes of the keys and values that it holds of all sequences. */
  uint64_t (*kept_bytes)(xsp_model* model);
  /* 1: several open models may be called at the same time, each by one thread at a time. 0: only
   * one after the other. */
  uint32_t opens_several;
  /* Says which outputs are inputs of the next run, as the keys and values of a language model are.
   * From then on set_inputs may leave these inputs out. They are then the outputs of the last run,
   * which stay where they are: on a device, nothing is copied to the host. After set_inputs,
   * whether it failed or not, they are there again once the model has run. results() gives such an
   * output without its values: `data` is NULL, and `data_bytes` 0. `count` 0 ends all this. If a
   * pair is wrong, nothing changes. XSP_NOT_AVAILABLE: not as this model was opened. NULL, or not
   * available: the caller copies the results. */
  xsp_status (*feed_back)(xsp_model* model, const xsp_fed_back* pairs, size_t count);
} xsp_adapter;

#define XSP_ADAPTER_SYMBOL "xsp_adapter_entry"

/* Keys that layers should have as site attributes and counters, if the framework knows them. Shapes
 * are JSON: [[1,3,224,224],[64,3,7,7]], with the model's weights among the inputs; types are JSON,
 * too: ["float32","float32"]. The values hold for every span of the site: a layer that ran with
 * other shapes, or another layer of the same name, is another site, named with the suffix "#2",
 * "#3", ... in order of appearance.
 *
 *   attributes  input_shapes output_shapes input_dtypes output_dtypes provider source_layers
 *               input_layers
 *   counters    output_bytes      the layer's results
 *               activation_bytes  its inputs that other layers or the caller computed
 *               parameter_bytes   its inputs from the model's weights
 *               allocated_bytes   memory that the framework took for its results
 *
 * source_layers is a JSON list of the names of the model's own layers that the executed layer
 * stands for; []: the framework added it; absent: not known. input_layers is a JSON list of the
 * names of the executed layers whose results it takes; []: it takes the caller's; absent: not
 * known.
 *
 * Shapes, output_bytes, activation_bytes and parameter_bytes are the model's. If a framework pads
 * tensors to suit the processor, the attributes padded_input_shapes and padded_output_shapes have
 * all shapes as they are in memory, if these differ. padding = "not known" means: the shapes may be
 * padded ones, because the model's are not known.
 *
 * Keys of the model's site, xsp_open_options.model_site:
 *
 *   attributes  folded_layers        JSON list of the model's own layers that the framework
 *                                    computed when it opened the model: they depend on no input
 *               removed_layers       JSON list of the layers that it left out, because their
 *                                    results are not used or are their inputs
 *               provider             the part that runs the model, e.g. "CPUExecutionProvider"
 *               setting.NAME         a setting of the framework's computation: a fact of the
 *                                    evaluation. Known are setting.cudnn_tf32 and
 *                                    setting.matmul_tf32: "true" if 32-bit convolutions, or other
 *                                    products, may run in TF32. The worker sets
 *                                    setting.generation_cache
 *   counters    layer_resolution_ns  the grain of the layers' times, if coarser than the trace's */

/* ---- Layers that are repeated ------------------------------------------------------------------
 *
 * Repeated layers are for energy: a device's counter moves every 100 ms, and a layer takes
 * microseconds. If an adapter is asked to repeat layers, it emits for each a span of the level
 * application with the layer's name, the type `repetition`, the device, and the counter `replays`:
 * the number of times that the layer ran in that interval, which is a second or more without a
 * pause. Layers that do the same work may share one interval. The last one is a span `inference` of
 * the type `repetition of all`. An adapter that cannot repeat layers says so with host->note. */

/* ---- Layers that are open ----------------------------------------------------------------------
 *
 * A collector may see work being deferred (the nodes of a CUDA graph, while it is captured). It
 * then notes the layer that is open: when the work is executed, no layer runs on the host. */

typedef struct xsp_layer_mark {
  uint32_t site_id;  /* site of the innermost layer open on the calling thread; 0: none */
  uint32_t instance; /* distinguishes executions of that site: counts layers as they open */
} xsp_layer_mark;

/* Code that emits layer spans as they happen (an adapter, while it is open; NULL afterwards) offers
 * a function that returns the layer open on the calling thread. `now` takes no lock. */
XSP_API void xsp_offer_open_layer(xsp_layer_mark (*now)(void));
/* Returns the layer open on the calling thread, if an offered function knows it; else zeros. */
XSP_API xsp_layer_mark xsp_open_layer(void);

/* When such work is executed, the collector emits a span of level layer with the mark's site for
 * each layer, device and stream. The span lasts from the start of the first to the end of the last
 * kernel that the layer has there; it has the device, the stream, and the correlation id of the
 * launch. Its parent is the launching span (above the level layer). It is the parent of the kernels
 * inside it that have the same correlation id, device and stream. */

/* ---- Collectors --------------------------------------------------------------------------------
 *
 * A collector watches below the framework. It is one shared library, lib/xsp/collectors/NAME.so,
 * which exports one constant:
 *
 *     XSP_API extern const xsp_collector xsp_collector_entry;
 *
 * The worker loads it only for runs that ask for one of its levels or counters, before the adapter
 * opens the model, so that it sees every thread that the framework makes. Processes of `xsp run`
 * load the collectors that emit one of the requested levels, and do not call begin and end. A
 * collector is loaded when the process starts. If it watches a device, it is loaded when the device
 * is first used, in the middle of the device's initialisation. */

typedef struct xsp_collector_probe {
  size_t struct_size;
  /* The names of the counters that it can count here, comma separated; "roofline" is the name of
   * the set that the roofline needs. */
  const char* counters;
  const char* absent; /* names the others and the reason, on one line; NULL if it can count all */
} xsp_collector_probe;

/* The way of counting counters that need several passes: a device counts only so much at a time. */
typedef enum xsp_replay {
  XSP_REPLAY_AUTO = 0,       /* the faster one that works here */
  XSP_REPLAY_KERNEL = 1,     /* repeat every kernel, and restore its memory in between */
  XSP_REPLAY_APPLICATION = 2 /* repeat every inference, with one pass in each */
} xsp_replay;

typedef struct xsp_collect_options {
  size_t struct_size;
  uint32_t levels;             /* bits of the levels to emit */
  const char* const* counters; /* names to count; the probe or counter_names has each */
  size_t counter_count;
  const char* device; /* device of the model, as in xsp_open_options */
  uint32_t replay;    /* xsp_replay */
  uint32_t reuse;     /* 1: a kernel may get the counters of an equal one counted before; the
                         collector then says so in a note */
  uint32_t flush_ms;  /* interval for emitting complete spans, so that a crash loses no more; 0: the
                         collector decides */
} xsp_collect_options;

/* The way in which a collector counts. It decides how the counted inferences are run. */
typedef enum xsp_counting {
  /* Counts each inference, between begin and end, without disturbing it: the number of inferences
   * is the same as without the collector. */
  XSP_COUNTS_INFERENCES = 0,
  /* Counts single spans of its levels, whose times suffer: few inferences, runs_needed or a small
   * multiple of it. Their times are never quoted. Warm-up inferences come first, without begin and
   * end. All of its levels, and those above, are recorded. */
  XSP_COUNTS_SPANS = 1,
  /* Counts the device over time, from start to stop: one stretch of inferences without a pause,
   * several seconds long. It emits its samples as spans of the level application. */
  XSP_COUNTS_TIME = 2
} xsp_counting;

/* Holds the state of a device at one moment; NaN: not known. */
typedef struct xsp_device_state {
  size_t struct_size;
  double sm_clock_mhz;
  double memory_clock_mhz;
  double temperature_c;
  double power_w;
  double memory_used_bytes; /* used by all processes together */
  double memory_total_bytes;
  const char* throttle_reasons; /* reasons why its clock is held down, comma separated; "": it is
                                   not; NULL: not known; valid until the next call */
} xsp_device_state;

/* Receives facts about a device, on the thread of the call that was given this struct. */
typedef struct xsp_device_report {
  size_t struct_size;
  void* context;
  /* Adds a row of the table evaluation: ("gpu.0.name", "..."). */
  void (*fact)(void* context, const char* key, const char* value);
  /* Adds a row of the table peak, a ceiling: ("fp32_flops_per_s", 67e12, "attribute"). */
  void (*peak)(void* context, const char* name, double value, const char* source);
} xsp_device_report;

typedef struct xsp_collector {
  size_t struct_size;
  uint32_t abi; /* XSP_PLUGIN_ABI */
  const char* name;
  const char* help; /* one line for `xsp doctor`: how to get the missing parts */
  uint32_t levels;  /* bits of the levels whose spans it can emit; 0: it only counts */
  /* Checks what can be watched here. Fills `probe`, which stays valid as long as the collector is
   * loaded. Fails with XSP_NOT_AVAILABLE and its reason if nothing can be watched. */
  xsp_status (*probe)(const xsp_host* host, xsp_collector_probe* probe);
  xsp_status (*start)(const xsp_host* host, const xsp_collect_options* options);
  /* Run around each inference, on the thread that calls the adapter; `end` adds counters to its
   * span. */
  void (*begin)(void);
  void (*end)(xsp_span* span);
  /* Emits all pending spans. No call follows it. */
  xsp_status (*stop)(void);
  /* The kind of device that it watches, e.g. "cuda": it is loaded only for runs on such a device.
   * NULL: it watches the host, for every run. */
  const char* device;
  uint32_t counting; /* xsp_counting */
  /* Every member below may be NULL. */
  /* Returns every name that it can count, comma separated, if they are too many for the probe (the
   * chip's own metrics). Called only if a counter is wanted that no probe has. */
  xsp_status (*counter_names)(const xsp_host* host, const char** names);
  /* Returns the number of inferences that count everything once, because application replay counts
   * a part in each. It is called between start and the first counted inference. NULL: 1. */
  uint64_t (*runs_needed)(void);
  /* The next three functions are called in a separate process, without start; `device` is "cuda:0".
   */
  /* Reports constant facts, and ceilings that follow from them. Returns at once. */
  xsp_status (*describe)(const xsp_host* host, const char* device, const xsp_device_report* report);
  /* Measures ceilings by running code on the device, which has no other user then. Takes a few
   * seconds. */
  xsp_status (*measure)(const xsp_host* host, const char* device, const xsp_device_report* report);
  /* Reads the state. Takes a few milliseconds. */
  xsp_status (*state)(const xsp_host* host, const char* device, xsp_device_state* state);
  /* Makes the collector record only these of the levels that it was started with; 0: cost as little
   * as possible. It is called between start and stop, by any thread, one at a time. Earlier events
   * may still be emitted later. NULL: the levels do not change. */
  void (*set_levels)(uint32_t levels);
  /* 1: the library defines functions of other libraries, so it must be loaded before them: the
   * processes that it watches start with it in LD_PRELOAD. */
  uint32_t is_preloaded;
} xsp_collector;

#define XSP_COLLECTOR_SYMBOL "xsp_collector_entry"

#ifdef __cplusplus
}
#endif

#endif /* XSP_PLUGIN_H_ */
