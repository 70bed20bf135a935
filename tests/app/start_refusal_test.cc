#include "app/daemon/start_refusal.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const Error kFull{ErrorCode::kThroughputExceeded, "Retry later.", {}};

DaemonOptions options_with(const std::string& data) {
  DaemonOptions options;
  options.data = data;
  options.segment_bytes = 4u << 20;
  return options;
}

TEST(StartRefusal, ANearlyFullDiskIsToldWithItsFolderAndWhatIsNeeded) {
  EmbeddedStats stats;
  stats.log_bytes_left = 12'345;
  const Error told = start_refusal(kFull, stats, options_with("some/folder"));
  EXPECT_EQ(told.code, ErrorCode::kThroughputExceeded);
  EXPECT_EQ(told.message,
            "no room for the template's tables in some/folder: the disk (or --max-data-bytes) leaves 12345 bytes, and "
            "tables are made while five segments of 4194304 bytes are left, more with many tasks in the store: free "
            "space there, or take smaller segments (--segment-bytes)");
}

TEST(StartRefusal, AnEngineThatThrottlesIsNotAFullDisk) {
  EmbeddedStats stats;
  stats.log_bytes_left = 12'345;
  DaemonOptions options = options_with("some/folder");
  options.store = "dynamodb";
  EXPECT_EQ(start_refusal(kFull, stats, options).message, kFull.message);
}

TEST(StartRefusal, AUserWithoutTheRightIsToldWhoHasIt) {
  const Error folder{ErrorCode::kIo, "cannot create some/folder/LOCK: Permission denied", {}};
  EXPECT_EQ(open_refusal(folder, options_with("some/folder")).message,
            folder.message +
                " (the daemon's user may not write there: give it that folder, as chown does, or name one "
                "of its own with --data)");
  const Error port{ErrorCode::kIo, "cannot listen on 127.0.0.1:80: Permission denied", {}};
  EXPECT_EQ(bind_refusal(port).message,
            port.message +
                " (ports below 1024 are for root, and for a program with CAP_NET_BIND_SERVICE; --listen "
                "127.0.0.1:PORT chooses another port, and port 0 a free one)");
  const Error taken{ErrorCode::kIo, "cannot listen on 127.0.0.1:7070: Address already in use", {}};
  EXPECT_EQ(bind_refusal(taken).message,
            taken.message + " (--listen 127.0.0.1:PORT chooses another port, and port 0 a free one)");
}

TEST(StartRefusal, AStoreThatDoesNotOpenSaysWhatToDo) {
  const Error full{ErrorCode::kDiskFull, "cannot allocate space for some/folder/spare-1: No space left on device", {}};
  EXPECT_EQ(open_refusal(full, options_with("some/folder")).message,
            "cannot allocate space for some/folder/spare-1: No space left on device: a start needs room for five "
            "segments of 4194304 bytes, more with many tasks in the store: free space there, or take smaller segments "
            "(--segment-bytes)");
  const Error taken{ErrorCode::kConflict, "some/folder is in use", {}};
  EXPECT_EQ(open_refusal(taken, options_with("some/folder")).message,
            "some/folder is in use (stop the daemon that has it open, or name another folder with --data)");
  const Error no_folder{ErrorCode::kNotFound, "cannot create directory /proc/x: No such file or directory", {}};
  EXPECT_EQ(
      open_refusal(no_folder, options_with("/proc/x")).message,
      "cannot create directory /proc/x: No such file or directory (--data /proc/x: it takes a folder, or the name "
      "of one that the daemon may make in a folder that is there)");
  const Error damaged{ErrorCode::kCorruption, "a segment is damaged", {}};
  EXPECT_EQ(open_refusal(damaged, options_with("some/folder")).message, damaged.message);
}

TEST(StartRefusal, ALackOfFileDescriptorsIsNotAFullDisk) {
  const std::string limit =
      ": the daemon may have no more files open; raise the limit (ulimit -n, or LimitNOFILE of a systemd unit)";
  const Error at_open{ErrorCode::kUnavailable, "cannot open some/folder/LOCK: Too many open files", {}};
  EXPECT_EQ(open_refusal(at_open, options_with("some/folder")).message, at_open.message + limit);
  const Error later{ErrorCode::kThroughputExceeded, "The store lacks a file descriptor to open its next file: ...", {}};
  EXPECT_EQ(start_refusal(later, {}, options_with("some/folder")).message,
            "the template's tables cannot be made" + limit);
}

TEST(StartRefusal, AllElseStaysAsItIs) {
  const Error other{ErrorCode::kValidation, "a template with a fault", {}};
  EXPECT_EQ(start_refusal(other, {}, options_with("some/folder")).message, other.message);
  EXPECT_EQ(start_refusal(kFull, {}, options_with(std::string(kMemoryDirectory))).message, kFull.message)
      << "there is no disk that could be full";
}

}  // namespace
}  // namespace freshet
