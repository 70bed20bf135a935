// The memory cap of the store: its size, and what counts against it besides the store itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tables/engine/embedded.h"

namespace freshet {

// `max_memory_bytes` as the option gives it: 0 means three quarters of the machine's memory.
void bound_memory(EmbeddedOptions& store, uint64_t max_memory_bytes);

// Approximate memory of that many connections and waiting requests, from measurements.
uint64_t memory_of_clients(size_t connections, size_t requests);

}  // namespace freshet
