// In-place collectors: the library of such a collector is loaded when the process starts, and
// records by itself while its level is recorded. Starting the collector only checks that the
// library is in place.
#ifndef XSP_COLLECTORS_IN_PLACE_H_
#define XSP_COLLECTORS_IN_PLACE_H_

#include "xsp/plugin.h"

namespace xsp {

// Defines the collector's entry. `kCheck` reports to the host why the library is not in place.
template <xsp_status (*kCheck)(const xsp_host* host)>
constexpr xsp_collector collector_in_place(const char* name, const char* help, uint32_t levels) {
  xsp_collector entry{};
  entry.struct_size = sizeof entry;
  entry.abi = XSP_PLUGIN_ABI;
  entry.name = name;
  entry.help = help;
  entry.levels = levels;
  entry.probe = [](const xsp_host* host, xsp_collector_probe* probe) {
    probe->counters = "";
    probe->absent = nullptr;
    return kCheck(host);
  };
  entry.start = [](const xsp_host* host, const xsp_collect_options*) { return kCheck(host); };
  entry.begin = [] {};
  entry.end = [](xsp_span*) {};
  entry.stop = [] { return xsp_status{XSP_OK}; };
  return entry;
}

}  // namespace xsp

#endif  // XSP_COLLECTORS_IN_PLACE_H_
