// How xsp and its worker process speak: one worker runs one model at one set of levels.
//
//   xsp-worker --adapter lib/xsp/adapters/NAME.so --model PATH --device cpu --levels model,layer
//              --trace FILE.xtrace --scratch DIR [--batch N] [--threads N] [--seed N]
//              [--input name=shape[:dtype] | --input name=@file.npy]... [--option key=value]...
//   xsp-worker --adapter NAME.so --probe        (replies "probe", then exits)
//
// Commands come as lines on standard input; replies go as lines to the file descriptor kReplyFd, so
// that whatever a framework prints disturbs nothing. Fields are separated by tabs; text has its
// tabs, line ends and backslashes escaped as \t, \n and \\. The worker exits with 0 after `quit` or
// at the end of its input. A worker that dies says nothing: its exit status and the last lines of
// its standard error are what is known of it.
//
// Every model span of the trace carries its iteration, counted from 0, under the key "iteration".
//
//   command        reply
//   (start)        ready <framework> <version> <device> <threads>     the model is open, inputs are
//   set run N          ran <first iteration> <duration ns>*N              each at the level model
//   save FOLDER    saved <count>                                      the last results, as .npy
//   files flush          flushed                                            layer spans are in the
//   trace quit           bye <spans recorded> <spans dropped> any            failed <xsp_status>
//   <text>                         then the worker exits with 1 any            note <text> before
//   the reply, any number of them
//   --probe        probe <name> <version> <library> <devices> <formats>
//
// Before `ready` it also says, one line each:  input|output <name> <dtype> <dimensions, comma
// separated>
#ifndef XSP_CAPTURE_WORKER_PROTOCOL_H_
#define XSP_CAPTURE_WORKER_PROTOCOL_H_

#include <string>
#include <string_view>
#include <vector>

namespace xsp::capture {

inline constexpr int kReplyFd = 3;
inline constexpr const char* kIterationKey = "iteration";

// A line's fields, unescaped; and the line of some fields, escaped, without its line end.
std::vector<std::string> split_fields(std::string_view line);
std::string join_fields(const std::vector<std::string>& fields);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_PROTOCOL_H_
