// Fixtures, the recordings of tables: what is read can be written, and reads as the same.
//
// An input is a fixture's text.
#include "streams/fixture.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  const auto fixture = read_fixture(as_text(data, size), "f.jsonl");
  if (!fixture) {
    show(fixture.error().message);
    require(fixture.error().message.starts_with("f.jsonl"), "an error that does not name the file",
            fixture.error().message);
    return 0;
  }
  const std::string written = write_fixture(*fixture, {});
  const auto again = read_fixture(written, "f.jsonl");
  require(again.has_value(), "what was written cannot be read", again ? "" : again.error().message);
  require(again->header == fixture->header, "another header", written);
  require(again->snapshot == fixture->snapshot, "another snapshot", written);
  require(again->pauses == fixture->pauses, "other pauses", written);
  require(again->policy_changes.size() == fixture->policy_changes.size(), "more or fewer policies", written);
  require(again->records.size() == fixture->records.size(), "more or fewer records", written);
  require(write_fixture(*again, {}) == written, "written in another way", written);
  return 0;
}
