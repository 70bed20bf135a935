#include "app/daemon/store_memory.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/topic_records.h"

namespace freshet {
namespace {

constexpr uint64_t kConnectionMemory = 1024;
constexpr uint64_t kRequestMemory = 3500;

// Measured sizes: objects, parsed and compiled forms, and metrics.
constexpr uint64_t kTopicMemory = 400;
constexpr uint64_t kSubscriptionMemory = 700;
constexpr uint64_t kFunctionMemory = 4096;
constexpr uint64_t kMappingMemory = 4096;
constexpr uint64_t kScheduleMemory = 1024;
constexpr uint64_t kEventMemory = 512;
constexpr uint64_t kPatternPartMemory = 128;

// Counts values and fields; a comma or a colon within a text counts as one, too.
uint64_t memory_of_patterns(const ItemRef& item) {
  const std::string_view text = item.encoded();
  const auto parts = std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == ':'; });
  return kPatternPartMemory * static_cast<uint64_t>(parts);
}

uint64_t memory_of_system_item(std::string_view kind, const ItemRef& item) {
  const uint64_t copy = 2 * item.encoded().size();
  if (kind == kEventKind) return kEventMemory;
  if (kind == kTopicKind) return kTopicMemory + copy;
  if (kind == kSubscriptionKind) {
    // An HTTP endpoint is a function of its own, and an event that asks it to confirm waits beside it.
    const auto protocol = item.find("protocol");
    const bool is_http = protocol && protocol->key_bytes().starts_with("http");
    return kSubscriptionMemory + copy + memory_of_patterns(item) + (is_http ? kFunctionMemory : 0);
  }
  if (kind == kFunctionKind) return kFunctionMemory + copy;
  // An alias is found by a definition of its own, which is about as large as its function's.
  if (kind == kQualifiersKind) return kFunctionMemory + 8 * copy;
  if (kind == kMappingKind) return kMappingMemory + copy + memory_of_patterns(item);
  if (kind == kScheduleKind) return kScheduleMemory + copy;
  return 0;
}

uint64_t memory_of_the_machine() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

void bound_memory(EmbeddedOptions& store, uint64_t max_memory_bytes) {
  store.max_memory_bytes = max_memory_bytes > 0 ? max_memory_bytes : memory_of_the_machine() / 4 * 3;
  store.kept_beside = memory_of_system_item;
}

uint64_t memory_of_clients(size_t connections, size_t requests) {
  return connections * kConnectionMemory + requests * kRequestMemory;
}

}  // namespace freshet
