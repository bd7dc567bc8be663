#include "collectors/cupti/api_calls.h"

#include <array>
#include <cctype>
#include <cstring>
#include <utility>

#include "xsp/xsp.h"

namespace xsp::cupti {
namespace {

// Every version has fewer calls.
constexpr CUpti_CallbackId kCallsMax = 4096;

struct Rule {
  std::string_view begins;
  const char* type;
};

// The first rule that matches applies.
constexpr std::array kRules = {
    Rule{"cudaLaunchHostFunc", nullptr},
    Rule{"cuLaunchHostFunc", nullptr},
    Rule{"cudaLaunch", "launch"},
    Rule{"__cudaLaunchKernel", "launch"},
    Rule{"cuLaunch", "launch"},
    Rule{"cudaGraphLaunch", "graph_launch"},
    Rule{"cuGraphLaunch", "graph_launch"},
    Rule{"cudaGraphInstantiate", "overhead"},
    Rule{"cuGraphInstantiate", "overhead"},
    Rule{"cudaGraphUpload", "overhead"},
    Rule{"cuGraphUpload", "overhead"},
    Rule{"cudaMemcpy", "copy"},
    Rule{"cuMemcpy", "copy"},
    Rule{"cudaMemPrefetch", "copy"},
    Rule{"cuMemPrefetch", "copy"},
    Rule{"cudaMemset", "memset"},
    Rule{"cuMemset", "memset"},
    Rule{"cudaMalloc", "allocation"},
    Rule{"cudaFree", "allocation"},
    Rule{"cudaHostAlloc", "allocation"},
    Rule{"cudaMemPoolTrimTo", "allocation"},
    Rule{"cuMemAlloc", "allocation"},
    Rule{"cuMemFree", "allocation"},
    Rule{"cuMemHostAlloc", "allocation"},
    Rule{"cuMemCreate", "allocation"},
    Rule{"cuMemRelease", "allocation"},
    Rule{"cuMemPoolTrimTo", "allocation"},
    Rule{"cudaStreamWaitEvent", "synchronization"},
    Rule{"cuStreamWaitEvent", "synchronization"},
    Rule{"cudaDeviceSynchronize", "synchronization"},
    Rule{"cudaThreadSynchronize", "synchronization"},
    Rule{"cudaStreamSynchronize", "synchronization"},
    Rule{"cudaEventSynchronize", "synchronization"},
    Rule{"cuCtxSynchronize", "synchronization"},
    Rule{"cuStreamSynchronize", "synchronization"},
    Rule{"cuEventSynchronize", "synchronization"},
};

bool strip(std::string* name, std::string_view ending) {
  if (name->size() <= ending.size()) return false;
  if (name->compare(name->size() - ending.size(), ending.size(), ending) != 0) return false;
  name->resize(name->size() - ending.size());
  return true;
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string plain(name);
  const auto strip_version = [&] {
    size_t at = plain.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(plain[at - 1])) != 0) --at;
    const bool has_version =
        at < plain.size() && at > 2 && plain[at - 1] == 'v' && plain[at - 2] == '_';
    if (has_version) plain.resize(at - 2);
  };
  // Removes the variants of names such as cudaX_ptsz_v7000 and cuX_v2_ptsz.
  strip_version();
  if (!strip(&plain, "_ptsz")) strip(&plain, "_ptds");
  strip_version();
  return plain;
}

const char* call_type(std::string_view name) {
  for (const Rule& rule : kRules) {
    if (name.substr(0, rule.begins.size()) == rule.begins) return rule.type;
  }
  return nullptr;
}

bool is_executed(const char* type) {
  return std::strcmp(type, "launch") == 0 || std::strcmp(type, "graph_launch") == 0 ||
         std::strcmp(type, "copy") == 0 || std::strcmp(type, "memset") == 0;
}

Calls::Calls(const Library& library, CUpti_CallbackDomain domain) : library_(library) {
  const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  enable_one_ = is_driver ? library.call().cuptiActivityEnableDriverApi
                          : library.call().cuptiActivityEnableRuntimeApi;
  kind_ = is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  calls_.emplace_back();
  for (CUpti_CallbackId id = 1; id < kCallsMax; ++id) {
    const char* name = nullptr;
    if (library.call().cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS) break;
    Call call;
    const std::string plain = plain_name(name == nullptr ? "" : name);
    call.type = call_type(plain);
    if (call.type != nullptr) {
      call.name = plain;
      call.is_executed = is_executed(call.type);
      call.may_be_empty =
          std::strcmp(call.type, "copy") == 0 || std::strcmp(call.type, "memset") == 0;
      call.is_allocation = std::strcmp(call.type, "allocation") == 0;
    }
    calls_.push_back(std::move(call));
  }
}

CUptiResult Calls::enable() const {
  if (enable_one_ == nullptr) return library_.call().cuptiActivityEnable(kind_);
  // A CUPTI that is newer than the driver names calls that the driver does not have.
  CUptiResult any = CUPTI_ERROR_INVALID_PARAMETER;
  for (CUpti_CallbackId id = 1; id < calls_.size(); ++id) {
    if (calls_[id].type == nullptr) continue;
    const CUptiResult result = enable_one_(id, 1);
    if (result == CUPTI_ERROR_INVALID_PARAMETER) continue;
    if (result != CUPTI_SUCCESS) return result;
    any = CUPTI_SUCCESS;
  }
  return any;
}

void Calls::disable() const {
  if (enable_one_ == nullptr) {
    (void)library_.call().cuptiActivityDisable(kind_);
    return;
  }
  for (CUpti_CallbackId id = 1; id < calls_.size(); ++id) {
    if (calls_[id].type != nullptr) (void)enable_one_(id, 0);
  }
}

const Call* Calls::seen(CUpti_CallbackId id) {
  if (id >= calls_.size() || calls_[id].type == nullptr) return nullptr;
  Call& call = calls_[id];
  if (call.site == 0) call.site = xsp_intern_site(XSP_LEVEL_API, call.name.c_str(), call.type);
  return &call;
}

void Nesting::add(const CallRecord& call, std::vector<CallRecord>* outermost) {
  std::vector<CallRecord>& kept = kept_[call.thread];
  if (call.is_driver) {
    kept.push_back(call);
    if (kept.size() <= kKeptMax) return;
    outermost->push_back(kept.front());
    kept.erase(kept.begin());
    return;
  }
  for (const CallRecord& inner : kept) {
    if (inner.start_ns < call.start_ns || inner.end_ns > call.end_ns) outermost->push_back(inner);
  }
  kept.clear();
  outermost->push_back(call);
}

void Nesting::finish(std::vector<CallRecord>* outermost) {
  for (auto& [thread, kept] : kept_) {
    outermost->insert(outermost->end(), kept.begin(), kept.end());
    kept.clear();
  }
}

void Executions::add_execution(uint32_t correlation_id, std::vector<CallRecord>* settled) {
  const auto waiting = waiting_.find(correlation_id);
  if (waiting != waiting_.end()) {
    settled->push_back(waiting->second);
    waiting_.erase(waiting);
    return;
  }
  if (!executed_.insert(correlation_id).second) return;
  executed_order_.push_back(correlation_id);
  if (executed_order_.size() <= kRememberedMax) return;
  executed_.erase(executed_order_.front());
  executed_order_.pop_front();
}

void Executions::add_call(const CallRecord& call, std::vector<CallRecord>* settled) {
  if (executed_.count(call.correlation_id) != 0) {
    settled->push_back(call);
    return;
  }
  waiting_[call.correlation_id] = call;
  order_.push_back(call.correlation_id);
  while (order_.size() > kWaitingMax) {
    const auto oldest = waiting_.find(order_.front());
    order_.pop_front();
    if (oldest == waiting_.end()) continue;  // its execution is known
    oldest->second.is_executed = false;
    settled->push_back(oldest->second);
    waiting_.erase(oldest);
  }
}

void Executions::finish(std::vector<CallRecord>* settled) {
  for (auto& [id, call] : waiting_) {
    call.is_executed = false;
    settled->push_back(call);
  }
  waiting_.clear();
}

}  // namespace xsp::cupti
