// What the store's bound of memory is about, beside the store itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tables/engine/embedded.h"

namespace freshet {

// `max_memory_bytes` as the option says: 0 for three quarters of the machine's.
void bound_memory(EmbeddedOptions& store, uint64_t max_memory_bytes);

// What so many connections, and so many requests that wait for something, take: about, as it was measured.
uint64_t memory_of_clients(size_t connections, size_t requests);

}  // namespace freshet
