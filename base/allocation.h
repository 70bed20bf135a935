// How much memory the allocator takes for a request, and how it gives memory back.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace freshet {

// Bytes that jemalloc takes for a block of that size. Its sizes go in steps: 16 bytes up to 128, then four between each
// power of two and the next. 0 for 0.
constexpr size_t allocated_bytes(size_t bytes) {
  if (bytes <= 8) return bytes == 0 ? 0 : 8;
  if (bytes <= 128) return (bytes + 15) & ~size_t{15};
  const size_t step = size_t{1} << (std::bit_width(bytes - 1) - 3);
  return (bytes + step - 1) & ~(step - 1);
}

// Starts a thread of the allocator that returns unused memory to the system within seconds, even while the process is
// idle. Without it that happens only during other calls of the allocator. Call it once, when the process will not fork
// any more. Does nothing where the allocator is not jemalloc (builds with a sanitizer).
void return_unused_memory();

// Gives back the freed blocks that the calling thread caches for its next calls. They are a few megabytes, but each may
// keep a page from going back to the system. Call it on a thread that has freed much. It takes well below a
// millisecond.
void return_thread_cache();

// An allocator that counts the bytes of its blocks in a number that outlives them. For one thread.
template <class T>
class CountingAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  explicit CountingAllocator(size_t& bytes) : bytes_(&bytes) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other) : bytes_(other.count()) {}

  T* allocate(size_t n) {
    *bytes_ += allocated_bytes(n * sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* at, size_t n) {
    *bytes_ -= allocated_bytes(n * sizeof(T));
    std::allocator<T>().deallocate(at, n);
  }
  size_t* count() const { return bytes_; }
  template <class U>
  bool operator==(const CountingAllocator<U>& other) const {
    return bytes_ == other.count();
  }

 private:
  size_t* bytes_;
};

}  // namespace freshet
