// A queue of those who wait for the same thing: first come, first served.
#pragma once

#include <cstdint>
#include <set>

namespace freshet {

class WaitingLine {
 public:
  // A place in the line for as long as it lives. The line must outlive it.
  class Place {
   public:
    explicit Place(WaitingLine& line) : line_(line), number_(++line.last_) { line_.waiting_.insert(number_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { line_.waiting_.erase(number_); }
    bool is_next() const { return *line_.waiting_.begin() == number_; }

   private:
    WaitingLine& line_;
    const uint64_t number_;
  };

 private:
  std::set<uint64_t> waiting_;
  uint64_t last_ = 0;
};

}  // namespace freshet
