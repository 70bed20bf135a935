// How much memory the allocator takes for what is asked of it, and how it gives memory back.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace freshet {

// Bytes that jemalloc takes for a block of so many. Its sizes go in steps: 16 bytes up to 128, then four between a
// power of two and the next. 0 for 0.
constexpr size_t allocated_bytes(size_t bytes) {
  if (bytes <= 8) return bytes == 0 ? 0 : 8;
  if (bytes <= 128) return (bytes + 15) & ~size_t{15};
  const size_t step = size_t{1} << (std::bit_width(bytes - 1) - 3);
  return (bytes + step - 1) & ~(step - 1);
}

// From now on a thread of the allocator returns memory that nobody uses to the system, within seconds and also while
// the process is idle. Without it that happens only beside other calls of the allocator. Once, when the process will
// not fork any more. Nothing where the allocator is not jemalloc (builds with a sanitizer).
void return_unused_memory();

// Gives back what the calling thread keeps of freed blocks for its next calls: a few megabytes, but each block holds a
// page that could go back to the system. For a thread that has freed much. Takes well below a millisecond.
void return_thread_cache();

// An allocator that keeps count of the bytes that its blocks take, in a number that outlives them. Of one thread.
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
