// Limits the number of retries, as the SDKs' standard retry mode does: while a store keeps failing, retries must not
// multiply its load. Pure; one thread. Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
#pragma once

#include <algorithm>

namespace freshet::remote {

class RetryQuota {
 public:
  static constexpr int kMost = 500;
  static constexpr int kRetryCosts = 5;
  static constexpr int kTimeoutCosts = 10;
  static constexpr int kFirstSuccessGives = 1;

  // Takes the cost of a retry; returns false if there is not enough left.
  bool take(int cost) {
    if (left_ < cost) return false;
    left_ -= cost;
    return true;
  }
  // A call has succeeded: gives back the cost of its last retry, or a little if it had none.
  void succeeded(int last_cost) { left_ = std::min(kMost, left_ + std::max(last_cost, kFirstSuccessGives)); }

 private:
  int left_ = kMost;
};

}  // namespace freshet::remote
