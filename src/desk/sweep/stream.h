// Reads and writes the streams between an asker and the machine that does a task.
#ifndef XSP_DESK_SWEEP_STREAM_H_
#define XSP_DESK_SWEEP_STREAM_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace xsp::sweep {

// Reads a line of at most 40 MiB from a descriptor; whoever asks sends nothing after it.
Result<std::string> read_line(int fd);
Status send(int fd, std::string_view bytes);
Status send_file(int fd, const std::filesystem::path& path);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_STREAM_H_
