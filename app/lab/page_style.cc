#include "app/lab/page_style.h"

#include <fmt/format.h>

namespace freshet::lab {

namespace {

// The svg elements are wider than what is shown of them: the names of hidden curves stand in the part that is cut off,
// until one of them is switched on.
constexpr auto kStyle = R"(
:root{color-scheme:light dark;--ink:#1a1a1a;--quiet:#5c5c5c;--grid:#e3e3e3;--paper:#fff;--shade:#f1f1f1;--grey:#9a9a9a;--edge:#0004}
@media(prefers-color-scheme:dark){:root{--ink:#f0f0f0;--quiet:#b4b4b4;--grid:#3a3a3a;--paper:#161616;--shade:#262626;
--grey:#8a8a8a;--edge:#fff6}}
*{box-sizing:border-box}
body{font:16px/1.45 system-ui,sans-serif;max-width:1060px;margin:2em auto;padding:0 1em;color:var(--ink);
background:var(--paper)}
h1{margin:0 0 .3em;line-height:1.15}h2{margin:2.5em 0 0;font-size:1.25em;border-bottom:1px solid var(--grid)}
.lead{font-size:1.15em;margin:.3em 0}.quiet{color:var(--quiet)}
figure{margin:1.8em 0}.plot{overflow:hidden}figcaption strong{display:block;font-size:1.15em;line-height:1.3}
figcaption span{color:var(--quiet)}
svg{display:block;margin-top:.5em}svg text{fill:var(--ink)}svg text.quiet{fill:var(--quiet)}
svg.wide{width:128.5%}svg.narrow{display:none;width:162%}
.grid{stroke:var(--grid)}.shade{fill:var(--shade)}
.line,.leader{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.leader{stroke-width:1.5}
.line.ours{stroke-width:7}.line.possible{stroke-dasharray:5 4}.name.ours{font-weight:bold}
.c0{--c:#d55e00}.c1{--c:#0072b2}.c2{--c:#56b4e9}.c3{--c:#cc79a7}.c4{--c:#009e73}.c5{--c:#e69f00}
.possible{--c:var(--ink)}.hidden{--c:var(--grey);display:none}.hidden.line{stroke-width:1.2}.hidden.leader{stroke-width:.8}
svg text.hidden{fill:var(--quiet)}
.name{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.bars{margin-top:.5em}.bar{display:grid;grid-template-columns:minmax(7.5em,27%) 1fr 5em;gap:.6em;align-items:center}
.bar.hidden{display:none;color:var(--quiet)}.bar>span:first-child{text-align:right}.bar.ours>span{font-weight:bold}
.track i{display:block;height:1.1em;min-width:1px;background:var(--c)}
.others{position:sticky;top:0;z-index:1;background:var(--paper);border-bottom:1px solid var(--grid);padding:.5em 0;
margin-top:1em;color:var(--quiet)}
.others summary{cursor:pointer}.others label{display:inline-block;margin:.2em 1em .2em 0;white-space:nowrap}
h3{margin:1.6em 0 .3em;font-size:1em}
.scroll,body:has(.others input:checked) .plot{overflow-x:auto;background:
linear-gradient(to right,var(--paper) 40%,transparent) 0 0/48px 100% no-repeat local,
linear-gradient(to left,var(--paper) 40%,transparent) 100% 0/48px 100% no-repeat local,
linear-gradient(to right,var(--edge),transparent) 0 0/14px 100% no-repeat scroll,
linear-gradient(to left,var(--edge),transparent) 100% 0/14px 100% no-repeat scroll}
.scroll:focus-visible,.plot:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
table{border-collapse:collapse;font-size:12.5px;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.15em .4em;text-align:right;vertical-align:bottom}td{white-space:nowrap}
tbody tr{border-top:1px solid var(--grid)}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--paper)}
thead{color:var(--quiet)}
body:has(.others input:checked) svg.wide{width:100%;min-width:940px}
@media(max-width:640px){body{margin:1em auto}.others{position:static}svg.wide{display:none}svg.narrow{display:block}
.bar{grid-template-columns:8.5em 1fr 4em}}
@media print{.others{display:none}}
)";

}  // namespace

std::string page_style(size_t hidden) {
  std::string out = kStyle;
  for (size_t i = 0; i < hidden; ++i) {
    out += fmt::format("body:has(#h{0}:checked,#all:checked) .h{0}{{display:inline}}\n", i);
    out += fmt::format("body:has(#h{0}:checked,#all:checked) .bar.h{0}{{display:grid}}\n", i);
  }
  return out;
}

}  // namespace freshet::lab
