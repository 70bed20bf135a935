#include "app/daemon/store_memory.h"

#include <unistd.h>

#include "runtime/invoke/codec.h"
#include "streams/topic_records.h"

namespace freshet {
namespace {

constexpr uint64_t kConnectionMemory = 1024;
constexpr uint64_t kRequestMemory = 3500;

uint64_t memory_of_the_machine() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

void bound_memory(EmbeddedOptions& store, uint64_t max_memory_bytes) {
  store.max_memory_bytes = max_memory_bytes > 0 ? max_memory_bytes : memory_of_the_machine() / 4 * 3;
  for (const auto kind : {kFunctionKind, kMappingKind, kScheduleKind, kTopicKind, kSubscriptionKind}) {
    store.definition_kinds.emplace_back(kind);
  }
  store.waiting_kinds.emplace_back(kEventKind);
}

uint64_t memory_of_clients(size_t connections, size_t requests) {
  return connections * kConnectionMemory + requests * kRequestMemory;
}

}  // namespace freshet
