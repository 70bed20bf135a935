#include "app/daemon/store_options.h"

#include <unistd.h>

namespace freshet {

namespace {

uint64_t memory_of_the_machine() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability) {
  EmbeddedOptions store;
  store.directory = options.data;
  store.durability = durability;
  store.segment_bytes = options.segment_bytes;
  store.max_data_bytes = options.max_data_bytes;
  store.max_memory_bytes = options.max_memory_bytes > 0 ? options.max_memory_bytes : memory_of_the_machine() / 4 * 3;
  store.accept_loss = options.accept_loss;
  store.ttl_sweep = milliseconds(options.ttl_sweep_ms);
  return store;
}

}  // namespace freshet
