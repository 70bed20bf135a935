// A queue of those who wait for the same thing: first come, first served.
#pragma once

#include <cstdint>
#include <set>

namespace freshet {

class Turns {
 public:
  // A place in the queue for as long as it lives. The queue must outlive it.
  class Turn {
   public:
    explicit Turn(Turns& turns) : turns_(turns), number_(++turns.last_) { turns_.waiting_.insert(number_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { turns_.waiting_.erase(number_); }
    bool is_next() const { return *turns_.waiting_.begin() == number_; }

   private:
    Turns& turns_;
    const uint64_t number_;
  };

 private:
  std::set<uint64_t> waiting_;
  uint64_t last_ = 0;
};

}  // namespace freshet
