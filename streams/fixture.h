// Fixtures: the history of a table, as JSON Lines. A header, the items at the beginning, then every change as a
// standard stream event record with both images, whatever the view of the table's own stream. The format is in
// docs/formats.md, "Fixtures". Pure functions; same input, same bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "streams/arn.h"
#include "tables/tables.h"

namespace freshet {

inline constexpr int kFixtureVersion = 3;
inline constexpr size_t kMaxFixtureLine = 4u << 20;

struct FixtureHeader {
  std::string table;
  KeySchema keys;
  StreamView view = StreamView::kKeysOnly;  // The view of the table's stream during the recording; for information.
  WallTime start{};                         // The time of the snapshot; replay begins there.
  std::string note;                         // For people.
  // For a queue's table: the settings at the beginning of the recording, by name. Empty: unknown. Only a fixture with
  // settings is of version 2; the others are still written as version 1, which older programs read.
  std::map<std::string, std::string> policy = {};
  bool has_pauses = false;  // True: lines of pauses follow, so it is of version 3.
  bool operator==(const FixtureHeader&) const = default;
};

// The settings of a queue that apply from a moment on.
struct FixturePolicy {
  WallTime at{};
  std::map<std::string, std::string> policy;
  bool operator==(const FixturePolicy&) const = default;
};

// Pauses or resumes a part of a queue at a moment.
struct FixturePause {
  WallTime at{};
  bool paused = false;
  std::string of;    // "queue", "group" or "key".
  std::string name;  // The group or key.
  bool operator==(const FixturePause&) const = default;
};

struct Fixture {
  FixtureHeader header;
  std::vector<Item> snapshot;
  std::vector<ChangeRecord> records;  // In the order of the lines, which may differ from that of their times.
  // Changes of the policy during the recording, by time. Only if the header has a policy.
  std::vector<FixturePolicy> policy_changes = {};
  // Pauses and their ends, by time. Those that were in force at the start have its time.
  std::vector<FixturePause> pauses = {};

  // The file, and the line of each entry (from 1), if read_fixture() read the fixture; empty if it was made in memory.
  std::string file = {};
  std::vector<int> snapshot_lines = {};
  std::vector<int> record_lines = {};

  // For messages, by the index from 0: "FILE:LINE"; "record 3" or "item 3 of the snapshot" if that is unknown.
  std::string place_of_item(size_t index) const;
  std::string place_of_record(size_t index) const;
  // The error with "FILE: " before its message, unless the message names the file or there is none.
  Error in_file(Error error) const;
};

// Each is one line with its line break.
std::string header_line(const FixtureHeader& header);
std::string snapshot_line(const ItemRef& item);
std::string record_line(const ChangeRecord& record, const std::string& table, const Account& account);
std::string policy_line(const FixturePolicy& change);
std::string pause_line(const FixturePause& pause);
std::string write_fixture(const Fixture& fixture, const Account& account);

// kValidation with "FILE:LINE: what is wrong"; kUnsupportedFormat for a newer version. Blank lines and lines that begin
// with '#' are skipped. It reads these members of a record: eventName, and of dynamodb ApproximateCreationDateTime
// (seconds, up to three decimals), NewImage and OldImage, Keys (else taken from the images), SequenceNumber (else the
// record's number); and userIdentity.
Result<Fixture> read_fixture(std::string_view text, const std::string& file);

}  // namespace freshet
