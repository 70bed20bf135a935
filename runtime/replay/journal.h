// Writes the events of a replay as JSON Lines with simulated times. docs/formats.md, "What a replay prints".
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "tables/tables.h"

namespace freshet {

// One thread. The clock outlives it.
class Journal final : public LogSink {
 public:
  explicit Journal(const Clock& clock) : clock_(clock) {}

  // One line: {"at":...,"WHAT":"NAME",...members}. Add the members, then end().
  class Line {
   public:
    Line(std::string& out, std::string_view what, std::string_view name, WallTime at);
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line() { out_ += "}\n"; }
    Line& text(std::string_view member, std::string_view value);
    Line& number(std::string_view member, int64_t value);
    Line& item(std::string_view member, const Item& item);
    // Unchanged if it is one line of valid JSON, else as text.
    Line& json(std::string_view member, std::string_view value);

   private:
    std::string& member(std::string_view name);
    std::string& out_;
  };
  Line line(std::string_view what, std::string_view name) { return {text_, what, name, clock_.wall()}; }

  // Events of the functions' log.
  void write(LogLevel level, std::string_view line) override;

  const std::string& text() const { return text_; }

 private:
  const Clock& clock_;
  std::string text_;
};

}  // namespace freshet
