// The bytes that the calling thread has allocated and nobody has freed, by the allocator that the tests are linked
// with.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>

extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_bytes, void* now, size_t bytes);

namespace freshet {

// Only differences between two results have a meaning. With a sanitizer the result never changes.
inline int64_t held_memory() {
  if (!mallctl) {
    const auto info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
  }
  uint64_t allocated = 0;
  uint64_t freed = 0;
  size_t size = sizeof allocated;
  mallctl("thread.allocated", &allocated, &size, nullptr, 0);
  mallctl("thread.deallocated", &freed, &size, nullptr, 0);
  return static_cast<int64_t>(allocated - freed);
}

// False where held_memory() cannot see anything.
inline bool sees_held_memory() {
  const int64_t before = held_memory();
  char* volatile some = new char[1u << 16];
  const bool seen = held_memory() > before;
  delete[] some;
  return seen;
}

}  // namespace freshet
