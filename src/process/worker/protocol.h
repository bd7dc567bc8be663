// The protocol between xsp and its worker process: one worker runs one model at one set of levels.
//
//   xsp-worker --adapter lib/xsp/adapters/NAME.so --model PATH --device cpu --levels model,layer
//              --trace FILE.xtrace --scratch DIR [--batch N] [--threads N] [--seed N]
//              [--input name=shape[:dtype] | name=@file.npy | name==value]... [--option
//              key=value]...
//              [--counters NAME,...] [--collector lib/xsp/collectors/NAME.so]...
//              [--replay auto|kernel|application] [--reuse] [--pipeline FILE]
//   xsp-worker --adapter NAME.so --probe                  (replies "probe", then exits)
//   xsp-worker --collector NAME.so --probe [--device D]   (likewise)
//   xsp-worker --collector NAME.so --names                (replies "names", then exits)
//   xsp-worker --collector NAME.so --watch --device D     (no model; obeys the commands below)
//
// Commands come as lines on standard input. Replies go as lines to the file descriptor kReplyFd, so
// that a framework's own output disturbs nothing. (Without that descriptor, replies go to standard
// output: for trying a worker by hand.) Fields are separated by tabs; text has its tabs, line ends,
// carriage returns and backslashes escaped as \t, \n, \r and \\. The worker exits with 0 after
// `quit` or at the end of its input. A worker that dies sends no reply: only its exit status and
// the last lines of its standard error are known.
//
// Every model span of the trace has its iteration, counted from 0, under the key kIterationKey. The
// model's site has facts about the whole model as site attributes (see xsp/plugin.h).
//
// clang-format off
//   command       reply
//   (start)       ready <framework> <version> <device> <threads> <batch> <runs> <needed>
//                                         the model is open and its inputs are set. threads: 0: the
//                                         framework's default. runs: the number that can be
//                                         recorded before layers are lost; 0: any number. needed:
//                                         the number of runs that count every counter once
//   place K       placed                  the threads begin the next run on the K-th processor and
//                                         those after it (placement.h)
//   warm N        as run, but the inferences are not measured: collectors that count single spans
//                                         do not count these, and the adapter's details are not
//                                         recorded, as they are in the first three of `run`
//   run N         ran <first iteration> <duration ns>*N          each at the level model
//   save FOLDER   saved <count> <file name>*count                the last results, in the model's
//                                         order, as .npy files
//   make SEED FOLDER  made <count> <file name>*count             the inputs are made up by this
//                                         seed, and are saved as .npy files
//   items FILE FOLDER  made <count> <file name>*count            likewise, but the pipeline makes
//                                         them of the items in FILE's lines, which are one batch.
//                                         If these have windows, there are inputs for each, one
//                                         after the other, and the model runs
//   take FILE*    taken                   the inputs are those of these .npy files, in the model's
//                                         order
//   load FILE     loaded <answered> <abandoned> <start ns> <end ns> <first iteration> <model runs>
//                        <was interrupted: 1>
//                                         after any number of lines: progress <answered> <ns since
//                                         the start> <latency of the last batch's first request>
//   flush         flushed                 every layer span so far is in the trace; no run follows
//   quit          bye <spans recorded> <spans dropped>
//   any           failed <xsp_status> <text>                     then the worker exits with 1
//   any           note <text>             before the reply, any number of them
//   --probe       probe <name> <version> <library> <devices> <formats> <pairs> <rest>
//                                         or `failed 4 <text>`: the framework is absent
//     a collector:   probe <name> <levels, comma separated> <counters> <why others are absent>
//                          <device> <counting> <reason why it can watch nothing; empty: it can>
//   --names       names <counters>
//   --watch       watching <tells states: 1> <measures ceilings: 1>
//                                         after any number of lines: fact <key> <value>, peak
//                                         <name> <value> <source>
//     state       state <sm MHz> <memory MHz> <temperature C> <power W> <memory used, bytes>
//                       <memory in all, bytes> <is known: 1> <throttle reasons>; empty: not known
//     measure     measured, after any number of lines: peak ...
// clang-format on
//
// Before `ready` the worker also sends these lines:
//   input|output <name> <dtype> <dimensions, comma separated; -1: known only after a run>
//                <for inputs: the origin of their values>
//   unknown_batch <reason>                if the batch is not known; then `ready` has batch 0
//
// --batch N sets every dynamic dimension that stands for the batch; it is refused when the model
// has none and its first dimension is another one. Without it, such a dimension is 1. --input may
// be given for each input, at most once for its shape or file, and once for the value of all its
// elements; shapes are written 1x3x224x224, and a scalar's shape is "scalar".
//
// Only the given collectors that emit one of the levels or count one of the counters are run. It is
// an error if no collector counts a counter.
//
// A load. FILE has a key and its value in each line, separated by a tab:
//
//   generator    closed: `clients` send `group` requests each, and the next ones when these are
//                answered; server: a Poisson process of `rate` requests per second; offline: all
//                requests at once; replay: the times, in seconds, in the lines of the file
//                `arrivals`; loadgen: MLPerf LoadGen decides
//   requests     the load ends after so many
//   time_ns      no request arrives later, and those that wait then are abandoned; 0: no limit
//   instances    of the model, which answer from one queue, each by a thread of its own
//   max_batch    the largest batch; max_wait_ns: the longest time that a request waits for others
//   seed         of the arrival times
//   answers      the file that the worker writes: a line for each answered request, with its
//                number, batch, position in the batch, size of the batch, the times of its
//                arrival, when an instance was free for it, when its batch was formed, when the
//                inputs were ready, when the model had run, and when it was answered, and the
//                instance, from 0
//   items        a file with the path of an item in each line, for a worker with --pipeline: the
//                requests have these items, one after the other, and begin anew after the last
//   outputs      the file that gets the answers to the items (pipeline_file.h)
//   lengths      a file with the tokens of a prompt and of its answer in each line, for a language
//                model (generation_server.h); tokens: the file that gets when each token was there
//   spans        0: the requests have no spans
//   loadgen.     of LoadGen. scenario: single, multi, server or offline; logs: the folder of its
//                logs; samples: the number of items; accuracy: 1: each item once, with its answer
//                in a log; latency_ns, latency_share: what this share of a server's latencies keeps
//
// Each request is a span at the level application; process/load/request_spans.h says which parts
// it has, and how its model's span is found. Before the load every batch size is run three times.
//
// The worker ignores SIGINT, so that its parent handles a Ctrl-C in the terminal. Only a load that
// runs ends early by it, after the batches that run then. The worker is killed when the thread that
// started it ends.
#ifndef XSP_PROCESS_WORKER_PROTOCOL_H_
#define XSP_PROCESS_WORKER_PROTOCOL_H_

#include <string>
#include <string_view>
#include <vector>

namespace xsp::process {

inline constexpr int kReplyFd = 3;
inline constexpr const char* kIterationKey = "iteration";

// Split a line into its unescaped fields, and join fields into an escaped line without its line
// end.
std::vector<std::string> split_fields(std::string_view line);
std::string join_fields(const std::vector<std::string>& fields);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_PROTOCOL_H_
