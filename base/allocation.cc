#include "base/allocation.h"

#include <sys/types.h>

// Of jemalloc. Null in builds that have another allocator.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_bytes, void* now, size_t bytes);

namespace freshet {
namespace {

// Memory that is free for so long goes back to the system: half of it after half the time.
constexpr ssize_t kKeptMilliseconds = 5000;

}  // namespace

void return_unused_memory() {
  if (!mallctl) return;
  ssize_t kept = kKeptMilliseconds;
  ssize_t none = 0;
  bool on = true;
  // What cannot be set stays as it was: memory then goes back later.
  mallctl("arenas.dirty_decay_ms", nullptr, nullptr, &kept, sizeof kept);
  mallctl("arenas.muzzy_decay_ms", nullptr, nullptr, &none, sizeof none);
  mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &kept, sizeof kept);
  mallctl("arena.0.muzzy_decay_ms", nullptr, nullptr, &none, sizeof none);
  mallctl("background_thread", nullptr, nullptr, &on, sizeof on);
}

void return_thread_cache() {
  if (mallctl) mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
}

}  // namespace freshet
