// Loaded before the C library (LD_PRELOAD): makes calls on files fail as a broken or full disk does, while the program
// runs. A file that the test has mapped, too, says which calls fail; its path is in BAD_DISK.
//
// The daemon under test is the real one: nothing in it knows of this.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// As bad_disk.py has it.
struct Orders {
  std::atomic<uint32_t> armed;  // Calls that still may fail; 0: none, 0xffffffff: all of them.
  int32_t error;
  std::atomic<uint32_t> hits;
  uint32_t seen;
  char call[24];   // Name of the call. "full": every call that would take space, and statvfs says that there is none.
  char path[216];  // The path must contain this; with = in front, be this.
};
static_assert(sizeof(Orders) == 256);

Orders* map_orders() {
  const char* path = getenv("BAD_DISK");
  if (path == nullptr) return nullptr;
  const int fd = static_cast<int>(syscall(257 /* openat */, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
  if (fd < 0) return nullptr;
  void* const at = mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Orders*>(at);
}

Orders* orders() {
  static Orders* const mapped = map_orders();
  return mapped;
}

bool takes_space(const char* call) {
  return strcmp(call, "allocate") == 0 || strcmp(call, "create") == 0 || strcmp(call, "mkdir") == 0;
}

// The daemon empties its environment once it has read its options.
__attribute__((constructor)) void begin() {
  orders();
}

// True if this call must fail; sets errno then.
bool fails(const char* call, const char* path) {
  Orders* const is = orders();
  if (is == nullptr || path == nullptr || is->armed.load() == 0) return false;
  const bool of_full_disk = strcmp(is->call, "full") == 0 && takes_space(call);
  if (!of_full_disk && strcmp(is->call, call) != 0) return false;
  const bool here = is->path[0] == '=' ? strcmp(path, is->path + 1) == 0 : strstr(path, is->path) != nullptr;
  if (!here) return false;
  for (uint32_t left = is->armed.load(); left != 0xffffffff;) {
    if (left == 0) return false;
    if (is->armed.compare_exchange_weak(left, left - 1)) break;
  }
  ++is->hits;
  errno = is->error;
  return true;
}

bool fails(const char* call, int fd) {
  if (orders() == nullptr || orders()->armed.load() == 0) return false;
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return false;
  path[n] = '\0';
  return fails(call, path);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define NEXT(name) static auto* const real = next<decltype(name)>(#name)

extern "C" {

int open(const char* path, int flags, ...) {
  NEXT(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (fails((flags & O_CREAT) != 0 ? "create" : "open", path)) return -1;
  return real(path, flags, mode);
}

ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  NEXT(pread);
  return fails("read", fd) ? -1 : real(fd, into, bytes, at);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  NEXT(pwrite);
  return fails("write", fd) ? -1 : real(fd, from, bytes, at);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  NEXT(write);
  return fails("append", fd) ? -1 : real(fd, from, bytes);
}

int posix_fallocate(int fd, off_t from, off_t bytes) {
  NEXT(posix_fallocate);
  return fails("allocate", fd) ? errno : real(fd, from, bytes);
}

int ftruncate(int fd, off_t bytes) {
  NEXT(ftruncate);
  return fails("truncate", fd) ? -1 : real(fd, bytes);
}

int fdatasync(int fd) {
  NEXT(fdatasync);
  return fails("sync", fd) ? -1 : real(fd);
}

int fsync(int fd) {
  NEXT(fsync);
  return fails("fsync", fd) ? -1 : real(fd);
}

int syncfs(int fd) {
  NEXT(syncfs);
  return fails("fsync", fd) ? -1 : real(fd);
}

int fstat(int fd, struct stat* into) {
  NEXT(fstat);
  return fails("fstat", fd) ? -1 : real(fd, into);
}

int rename(const char* from, const char* to) {
  NEXT(rename);
  return fails("rename", from) ? -1 : real(from, to);
}

int unlink(const char* path) {
  NEXT(unlink);
  return fails("remove", path) ? -1 : real(path);
}

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  return fails("mkdir", path) ? -1 : real(path, mode);
}

int statvfs(const char* path, struct statvfs* into) {
  NEXT(statvfs);
  if (fails("statvfs", path)) return -1;
  const int done = real(path, into);
  const bool full = orders() != nullptr && orders()->armed.load() != 0 && strcmp(orders()->call, "full") == 0;
  if (done == 0 && full) into->f_bavail = into->f_bfree = 0;
  return done;
}

FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  return fails("fopen", path) ? nullptr : real(path, mode);
}

size_t fwrite(const void* from, size_t size, size_t count, FILE* file) {
  NEXT(fwrite);
  return fails("append", fileno(file)) ? 0 : real(from, size, count, file);
}

DIR* opendir(const char* path) {
  NEXT(opendir);
  return fails("list", path) ? nullptr : real(path);
}

int flock(int fd, int operation) {
  NEXT(flock);
  return fails("flock", fd) ? -1 : real(fd, operation);
}

}  // extern "C"
