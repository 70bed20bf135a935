// A flight recording of a queue: reads the answers of GET /queues/NAME/recording and writes them as a fixture that
// `freshet simulate` reads. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/recorder/recording_book.h"
#include "streams/fixture.h"
#include "tables/value/json_reader.h"

namespace freshet::lab {

// Times are wall times, held as times of the boot clock.
class Flight {
 public:
  // Adds an answer's lines; the first one has the head. kSerialization or kValidation with "line N: what is wrong".
  Result<void> add(std::string_view lines);

  // False before the first line. Call the functions below only if it is true.
  bool has_head() const { return has_head_; }
  const std::string& queue() const { return queue_; }
  // The bounds between which the recording is complete.
  WallTime from() const { return from_; }
  WallTime to() const { return to_; }
  uint64_t events() const { return events_; }

  // Writes the fixture of what happened from `start` on, line by line. Tasks that were in work at `start` are left out
  // until they wait again. Returns the number of records. `write` returns false to end it.
  uint64_t write_fixture(WallTime start, const std::function<bool(const std::string& line)>& write) const;
  // The same fixture, without its text.
  Fixture fixture(WallTime start) const;

 private:
  struct Waiting {
    uint64_t task = 0;
    TaskStage stage = TaskStage::kPending;
    BootTime at;
    RecordedTask about;   // Without group and key, which follow.
    std::string group{};  // See `about`.
    std::string key{};
  };
  Result<void> add_line(const JsonView& line);
  Result<void> add_head(const JsonView& line);
  Result<void> add_event(const JsonView& line, BootTime at);

  std::string queue_;
  WallTime from_{};
  WallTime to_{};
  std::map<std::string, std::string> policy_;
  std::vector<FixturePolicy> changes_;
  std::vector<FixturePause> pauses_;
  std::unique_ptr<RecordingBook> book_ = std::make_unique<RecordingBook>(size_t{1} << 40, milliseconds::max());
  std::vector<Waiting> waiting_;
  uint64_t lines_ = 0;  // All lines, including empty ones.
  bool has_head_ = false;
  uint64_t events_ = 0;

  friend class FixtureWriter;
};

// The most that is read of a file with a recording.
inline constexpr size_t kMostRecordingBytes = 1u << 30;

// True if the text begins with the head of a recording as the API answers it.
bool is_flight(std::string_view text);
// An error of Flight::add() with "FILE:N: " instead of "line N: ".
Error in_file(Error error, const std::string& file);
// Reads a fixture, or the fixture of a recording in the form of the API's answers. Errors as of read_fixture().
Result<Fixture> read_fixture_or_flight(std::string_view text, const std::string& file);

}  // namespace freshet::lab
