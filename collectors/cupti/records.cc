#include "collectors/cupti/records.h"

#include <cstddef>

namespace xsp::cupti {
namespace {

constexpr const char* kSource = "cupti";
// The smallest ring of a trace (1 MiB) holds more than this many spans. After this many, the ring
// is written to the file before more are emitted.
constexpr size_t kSpansPerFlush = 8192;
constexpr size_t kWaitingMax = 4096;

// The fields that are read have the same offsets in the records of every version since CUDA 11.1.
#define XSP_SAME_PLACE(a, b, field) \
  static_assert(offsetof(a, field) == offsetof(b, field), "records differ in " #field)
XSP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, name);
XSP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, sharedMemoryExecuted);
XSP_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, graphNodeId);
XSP_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, graphNodeId);
XSP_SAME_PLACE(CUpti_ActivityMemcpy4, CUpti_ActivityMemcpy6, graphNodeId);
XSP_SAME_PLACE(CUpti_ActivityMemcpyPtoP3, CUpti_ActivityMemcpyPtoP4, graphNodeId);
XSP_SAME_PLACE(CUpti_ActivityMemset3, CUpti_ActivityMemset4, graphNodeId);
XSP_SAME_PLACE(CUpti_ActivityMemory3, CUpti_ActivityMemory4, memoryPoolConfig);
XSP_SAME_PLACE(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, end);
#undef XSP_SAME_PLACE

const char* copy_direction(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "memcpy HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "memcpy AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "memcpy AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
      return "memcpy AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "memcpy DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "memcpy HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "memcpy PtoP";
    default:
      return "memcpy";
  }
}

const char* memory_kind(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "managed";
    default:
      return "unknown";
  }
}

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiles";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI flushes buffers";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instruments";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI allocates";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "runtime loads a module";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "driver loads a kernel";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "command buffer is full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI asks for a buffer";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "CUPTI prepares unified memory";
    default:
      return "overhead";
  }
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

uint32_t unsigned_of(int32_t value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

xsp_value number(uint32_t key, uint32_t kind, double value) {
  xsp_value result{};
  result.key = key;
  result.kind = kind;
  result.value.as_double = value;
  return result;
}

xsp_value text(uint32_t key, const char* value) {
  xsp_value result{};
  result.key = key;
  result.kind = XSP_VALUE_TEXT;
  result.value.as_text = value;
  return result;
}

}  // namespace

Records::Records(const Library& library, GraphNotes& notes, Calls& runtime, Calls& driver,
                 LimitsOf limits_of, bool has_executions)
    : library_(library),
      notes_(notes),
      runtime_(runtime),
      driver_(driver),
      keys_{xsp_intern_key("bytes"), xsp_intern_key("allocated_bytes"), xsp_intern_key("pool"),
            xsp_intern_key("error")},
      kernels_(std::move(limits_of)),
      replays_([this](const ReplayedLayer& layer) { emit_layer(layer); }),
      has_executions_(has_executions) {}

void Records::consume(uint8_t* buffer, size_t size) {
  sample_clocks();
  CUpti_Activity* record = nullptr;
  while (true) {
    const CUptiResult result = library_.call().cuptiActivityGetNextRecord(buffer, size, &record);
    if (result == CUPTI_SUCCESS) {
      convert(*record);
      continue;
    }
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) xsp_count_loss(kSource, "unreadable buffer", 1);
    break;
  }
}

void Records::finish() {
  nesting_.finish(&outermost_);
  settle_calls();
  executions_.finish(&settled_);
  emit_calls();
  for (const MemoryEvent& event : waiting_) emit_memory(event, 0);
  waiting_.clear();
  replays_.finish();
}

void Records::pause_calls() {
  uint64_t now_ns = 0;
  (void)library_.call().cuptiGetTimestamp(&now_ns);
  memory_.pause(now_ns);
}

void Records::convert(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return convert_kernel(as<CUpti_ActivityKernel9>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return convert_copy(as<CUpti_ActivityMemcpy5>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return convert_copy(as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return convert_set(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return convert_call(as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return convert_overhead(as<CUpti_ActivityOverhead>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const MemoryEvent event = memory_.follow(as<CUpti_ActivityMemory4>(record));
      const uint32_t thread = callers_.thread_of(event.correlation_id);
      if (thread != 0) return emit_memory(event, thread);
      waiting_.push_back(event);
      if (waiting_.size() <= kWaitingMax) return;
      emit_memory(waiting_.front(), 0);
      waiting_.pop_front();
      return;
    }
    default:
      return;
  }
}

void Records::convert_kernel(const CUpti_ActivityKernel9& record) {
  Geometry geometry;
  geometry.grid[0] = unsigned_of(record.gridX);
  geometry.grid[1] = unsigned_of(record.gridY);
  geometry.grid[2] = unsigned_of(record.gridZ);
  geometry.block[0] = unsigned_of(record.blockX);
  geometry.block[1] = unsigned_of(record.blockY);
  geometry.block[2] = unsigned_of(record.blockZ);
  geometry.registers = record.registersPerThread;
  geometry.static_shared_bytes = unsigned_of(record.staticSharedMemory);
  geometry.dynamic_shared_bytes = unsigned_of(record.dynamicSharedMemory);
  geometry.shared_bytes = record.sharedMemoryExecuted;
  Execution execution;
  const char* name = record.name == nullptr ? "kernel without a name" : record.name;
  execution.site = kernels_.site_of(name, geometry, record.deviceId);
  execution.device = record.deviceId;
  execution.stream = record.streamId;
  execution.correlation_id = record.correlationId;
  execution.start_ns = record.start;
  execution.end_ns = record.end;
  execution.graph_node = library_.has(Defect::kLegacyRecords) ? 0 : record.graphNodeId;
  emit_execution(execution);
}

uint32_t Records::copy_site(const char* direction, uint8_t source, uint8_t destination) {
  const std::string way = std::string(memory_kind(source)) + " to " + memory_kind(destination);
  uint32_t& site = copies_[{direction, way}];
  if (site == 0) {
    site = xsp_new_site(XSP_LEVEL_KERNEL, direction, "memcpy");
    xsp_site_attribute(site, "memory", way.c_str());
  }
  return site;
}

template <typename Copy>
void Records::convert_copy(const Copy& record) {
  Execution execution;
  execution.site = copy_site(copy_direction(record.copyKind), record.srcKind, record.dstKind);
  execution.device = record.deviceId;
  execution.stream = record.streamId;
  execution.correlation_id = record.correlationId;
  execution.start_ns = record.start;
  execution.end_ns = record.end;
  execution.graph_node = library_.has(Defect::kLegacyRecords) ? 0 : record.graphNodeId;
  execution.bytes = record.bytes;
  execution.has_bytes = true;
  emit_execution(execution);
}

void Records::convert_set(const CUpti_ActivityMemset4& record) {
  Execution execution;
  uint32_t& site = copies_[{"memset", memory_kind(static_cast<uint8_t>(record.memoryKind))}];
  if (site == 0) site = xsp_intern_site(XSP_LEVEL_KERNEL, "memset", "memset");
  execution.site = site;
  execution.device = record.deviceId;
  execution.stream = record.streamId;
  execution.correlation_id = record.correlationId;
  execution.start_ns = record.start;
  execution.end_ns = record.end;
  execution.graph_node = library_.has(Defect::kLegacyRecords) ? 0 : record.graphNodeId;
  execution.bytes = record.bytes;
  execution.has_bytes = true;
  emit_execution(execution);
}

void Records::emit_execution(const Execution& execution) {
  // CUPTI writes a time of zero if it could not time an execution, or if it has not ended.
  if (execution.start_ns == 0 || execution.end_ns == 0) {
    xsp_count_loss(kSource, "execution without times", 1);
    return;
  }
  xsp_complete_span span{};
  span.site_id = execution.site;
  span.correlation_id = execution.correlation_id;
  span.device = execution.device + 1;
  span.stream = execution.stream + 1;
  const xsp_value bytes =
      number(keys_.bytes, XSP_VALUE_COUNTER, static_cast<double>(execution.bytes));
  span.values = &bytes;
  span.value_count = execution.has_bytes ? 1 : 0;
  emit(&span, execution.start_ns, execution.end_ns);
  if (execution.has_bytes && execution.graph_node == 0) {
    executions_.add_execution(execution.correlation_id, &settled_);
    emit_calls();
  }
  if (execution.graph_node == 0) return;
  const xsp_layer_mark mark = notes_.find(execution.graph_node);
  if (mark.site_id == 0) return;
  replays_.add({mark, execution.device, execution.stream, execution.correlation_id,
                execution.start_ns, execution.end_ns});
}

void Records::emit_layer(const ReplayedLayer& layer) {
  xsp_complete_span span{};
  span.site_id = layer.mark.site_id;
  span.correlation_id = layer.correlation_id;
  span.device = layer.device + 1;
  span.stream = layer.stream + 1;
  emit(&span, layer.start_ns, layer.end_ns);
}

void Records::convert_call(const CUpti_ActivityAPI& record) {
  const bool is_driver = record.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  const Call* call = is_driver ? driver_.seen(record.cbid) : runtime_.seen(record.cbid);
  if (call == nullptr) return;
  nesting_.add(
      {call->site, call->is_executed, call->may_be_empty, call->is_allocation, is_driver,
       record.threadId, record.correlationId, record.returnValue, record.start, record.end},
      &outermost_);
  settle_calls();
}

void Records::settle_calls() {
  for (CallRecord& call : outermost_) {
    // A call that failed, or was captured for a graph, launched nothing.
    call.is_executed = call.is_executed && call.error == 0 &&
                       !notes_.is_captured(call.thread, call.start_ns, call.end_ns);
    if (call.is_executed && call.may_be_empty && has_executions_) {
      executions_.add_call(call, &settled_);
    } else {
      settled_.push_back(call);
    }
  }
  outermost_.clear();
  emit_calls();
}

void Records::emit_calls() {
  for (const CallRecord& call : settled_) {
    xsp_complete_span span{};
    span.site_id = call.site;
    span.thread = call.thread;
    if (call.is_executed) span.correlation_id = call.correlation_id;
    const xsp_value error = number(keys_.error, XSP_VALUE_DOUBLE, call.error);
    span.values = &error;
    span.value_count = call.error != 0 ? 1 : 0;
    emit(&span, call.start_ns, call.end_ns);
    if (!call.is_allocation) continue;
    callers_.remember(call.correlation_id, call.thread);
    for (auto event = waiting_.begin(); event != waiting_.end();) {
      if (event->correlation_id == call.correlation_id) {
        emit_memory(*event, call.thread);
        event = waiting_.erase(event);
      } else {
        ++event;
      }
    }
  }
  settled_.clear();
}

void Records::convert_overhead(const CUpti_ActivityOverhead& record) {
  xsp_complete_span span{};
  span.site_id = xsp_intern_site(XSP_LEVEL_API, overhead_name(record.overheadKind), "overhead");
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) span.thread = record.objectId.pt.threadId;
  emit(&span, record.start, record.end);
}

void Records::emit_memory(const MemoryEvent& event, uint32_t thread) {
  xsp_complete_span span{};
  span.site_id =
      xsp_intern_site(XSP_LEVEL_API, event.is_allocation ? "allocate" : "free", "memory");
  span.thread = thread;
  const xsp_value values[] = {
      number(keys_.bytes, XSP_VALUE_COUNTER, static_cast<double>(event.bytes)),
      text(keys_.pool, event.pool.c_str()),
      number(keys_.allocated_bytes, XSP_VALUE_COUNTER, static_cast<double>(event.total_bytes)),
  };
  span.values = values;
  span.value_count = event.has_total ? std::size(values) : std::size(values) - 1;
  emit(&span, event.time_ns, event.time_ns);
}

void Records::emit(xsp_complete_span* span, uint64_t start_ns, uint64_t end_ns) {
  span->struct_size = sizeof *span;
  span->start_ns = clocks_.to_xsp(start_ns);
  span->duration_ns = clocks_.to_xsp(end_ns) - span->start_ns;
  xsp_emit(span);
  if (++emitted_ < kSpansPerFlush) return;
  emitted_ = 0;
  xsp_flush();
}

}  // namespace xsp::cupti
