// The style sheet of the lab's page. The page has no script: check boxes switch hidden curves on by :has().
#pragma once

#include <cstddef>
#include <string>

namespace freshet::lab {

// The number of colours of shown curves, by class `c0` to `c6`: Okabe and Ito's, which colour-blind eyes tell apart.
// `possible` is the class of the clairvoyant, `ours` that of Freshet's default. Hidden curves have `hidden hN`,
// switched on by the check box #hN, or by #all.
inline constexpr size_t kColours = 6;

// The style sheet, with rules for this many hidden curves.
std::string page_style(size_t hidden);

}  // namespace freshet::lab
