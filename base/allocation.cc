#include "base/allocation.h"

#include <sys/types.h>

// A jemalloc function. Null in builds with another allocator.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_bytes, void* now, size_t bytes);

namespace freshet {
namespace {

// Memory that stays free for this long goes back to the system; half of it goes after half the time.
constexpr ssize_t kKeptMilliseconds = 5000;

}  // namespace

void return_unused_memory() {
  if (!mallctl) return;
  ssize_t kept = kKeptMilliseconds;
  ssize_t none = 0;
  bool on = true;
  // If a setting fails, the default stays: memory then goes back later.
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
