#include "adapters/torch/long_run.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace xsp::torch_adapter {

LongRunNote::LongRunNote(const xsp_host* host, std::string text, std::chrono::milliseconds after)
    : waits_([host, text = std::move(text), after](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        stopped.wait_for(lock, stop, after, [] { return false; });
        if (!stop.stop_requested()) host->note(host->context, text.c_str());
      }) {}

}  // namespace xsp::torch_adapter
