#include "app/daemon/store_options.h"

#include "app/daemon/store_memory.h"

namespace freshet {

EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability) {
  EmbeddedOptions store;
  store.directory = options.data;
  store.durability = durability;
  store.segment_bytes = options.segment_bytes;
  store.max_data_bytes = options.max_data_bytes;
  bound_memory(store, options.max_memory_bytes);
  store.accept_loss = options.accept_loss;
  store.ttl_sweep = milliseconds(options.ttl_sweep_ms);
  return store;
}

}  // namespace freshet
