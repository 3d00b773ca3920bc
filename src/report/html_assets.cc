#include "report/html_assets.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/hash.h"
#include "report/text.h"

namespace kb {
namespace {

// Colours keep a contrast of 4.5 to 1 for text in both themes; faster and slower are blue and orange, which stay apart
// for readers who do not tell red from green.
constexpr char kStyle[] = R"css(
:root { color-scheme: light dark;
  --bg: #f6f7f9; --surface: #ffffff; --sunken: #f1f3f5; --ink: #16191d; --muted: #59626e; --line: #e1e5ea;
  --faster: #0a62c9; --slower: #b24a00; --even: #66707c; --good: #0b7456; --bad: #b8251c; --warn: #8a5800;
  --tampered: #8f2585; --none: #66707c; --s0: #0a62c9; --s1: #b24a00; --s2: #0b7456; --s3: #8f2585; --s4: #7a6200; --s5: #59626e; }
@media (prefers-color-scheme: dark) { :root {
  --bg: #0e1013; --surface: #16191d; --sunken: #1d2126; --ink: #e8ebef; --muted: #9ba5b1; --line: #2a3037;
  --faster: #6fb1ff; --slower: #f2a261; --even: #9ba5b1; --good: #4cc79f; --bad: #ff8b82; --warn: #e5b64f;
  --tampered: #e38fd8; --none: #9ba5b1; --s0: #6fb1ff; --s1: #f2a261; --s2: #4cc79f; --s3: #e38fd8; --s4: #dcc95a; --s5: #b4bdc8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
main, header { max-width: 1240px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 36px; }
main { padding-bottom: 64px; }
h1 { font-size: 28px; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 4px; }
h2 { font-size: 18px; letter-spacing: -0.01em; margin: 0 0 2px; }
h3 { font-size: 13px; margin: 20px 0 8px; color: var(--muted); font-weight: 600; }
p { margin: 0 0 12px; }
.sub, .hint { color: var(--muted); }
.hint { font-size: 13px; max-width: 76ch; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 20px 22px; margin-top: 20px; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px 24px; margin: 20px 0 0; }
.facts dt { font-size: 12px; color: var(--muted); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; margin-top: 24px; }
.tile { background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 16px 20px; }
.tile b { display: block; font-size: 29px; line-height: 1.35; white-space: nowrap; font-weight: 650; letter-spacing: -0.02em; }
.tile span { display: block; font-size: 13px; color: var(--muted); }
.tile .name { color: var(--ink); font-weight: 600; }
.two { display: grid; grid-template-columns: minmax(0, 4fr) minmax(0, 6fr); gap: 0 20px; }
.halves { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 20px; }
h2.setting { font-size: 20px; margin-top: 40px; }
.mid { min-width: 500px; }
.two > .card { min-width: 0; }
.bars { display: grid; grid-template-columns: 168px minmax(40px, 1fr) max-content; gap: 6px 12px; align-items: center;
  font-size: 14px; margin: 0; }
.bars .track { height: 14px; border-radius: 3px; background: var(--sunken); }
.bars .fill { height: 14px; border-radius: 3px; min-width: 2px; background: currentColor; }
.bars .count { text-align: right; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
th { text-align: left; font-weight: 600; font-size: 12px; color: var(--muted); white-space: nowrap; }
th, td { padding: 7px 16px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child td { border-bottom: 0; }
.num { text-align: right; white-space: nowrap; }
td small { color: var(--muted); font-size: 12px; white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 13px; margin: 10px 0 4px; padding: 0; list-style: none; }
.legend svg { vertical-align: -2px; margin-right: 6px; }
svg.plot { display: block; max-width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); }
svg .tick, svg .label, svg .interval, svg .setting { fill: var(--muted); }
svg .problem { font-weight: 600; font-size: 13px; }
svg .name, svg .value, svg .interval { font-size: 13px; }
svg .value { font-weight: 600; }
svg .grid, svg .divide { stroke: var(--line); }
svg .axis { stroke: var(--muted); }
svg .one { stroke: var(--ink); stroke-width: 1.25; stroke-dasharray: 4 3; }
svg .hit { fill: transparent; }
svg .row:hover .hit { fill: var(--sunken); }
svg .curve { fill: none; stroke-width: 2.25; stroke: currentColor; stroke-linejoin: round; }
svg .dot { fill: currentColor; }
svg .band { fill: var(--s0); opacity: 0.13; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); stroke-dasharray: 7 3; } .s2 { color: var(--s2); stroke-dasharray: 2 3; }
.s3 { color: var(--s3); stroke-dasharray: 9 3 2 3; } .s4 { color: var(--s4); stroke-dasharray: 5 5; } .s5 { color: var(--s5); }
svg .bound { stroke: currentColor; stroke-width: 1; stroke-dasharray: none; opacity: 0.6; }
svg .whisker { stroke-width: 1.75; }
.faster { stroke: var(--faster); color: var(--faster); } .slower { stroke: var(--slower); color: var(--slower); }
.even { stroke: var(--even); color: var(--even); }
svg .mark { stroke-width: 2; fill: currentColor; } svg .mark.even { fill: var(--surface); }
svg .dots { fill: none; stroke-width: 6; stroke-linecap: round; } svg .warm { opacity: 0.35; }
svg .cand { stroke: var(--s0); } svg .base { stroke: var(--s1); }
svg .middle { stroke-width: 1; opacity: 0.7; }
svg .crosses { stroke: var(--bad); stroke-width: 1.5; fill: none; }
svg .bar.inside { fill: var(--even); } svg .bar.outside { fill: var(--bad); }
.badge { display: inline-block; font-size: 12px; line-height: 18px; font-weight: 600; padding: 1px 8px; border-radius: 99px;
  border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .tampered { color: var(--tampered); }
.none { color: var(--none); }
.tools { display: flex; flex-wrap: wrap; gap: 10px; margin: 12px 0; align-items: center; }
.tools[hidden] { display: none; }
input, select, button { font: inherit; color: inherit; }
input, select { background: var(--surface); border: 1px solid var(--line); border-radius: 7px; padding: 6px 10px; min-width: 0; }
.tools input { flex: 1 1 240px; max-width: 380px; }
.tools button { background: var(--surface); border: 1px solid var(--line); border-radius: 7px; padding: 6px 12px; cursor: pointer; }
:focus-visible { outline: 2px solid var(--faster); outline-offset: 2px; }
.heat td.cell { background: color-mix(in srgb, var(--faster) calc(var(--v) * 55%), var(--surface)); text-align: right;
  padding: 7px 10px; border: 2px solid var(--surface); white-space: nowrap; }
.heat th { padding-right: 10px; } .heat td.cell small { color: var(--ink); }
.dense { font-size: 13px; } .dense th, .dense td { padding-right: 9px; } .dense td small { font-size: 11px; }
.dense .model, .dense .part { padding-right: 20px; }
.model { font-weight: 600; overflow-wrap: anywhere; min-width: 120px; }
.model small, .part { font-weight: 400; font-size: 12px; color: var(--muted); white-space: normal; }
.list { border-top: 1px solid var(--line); font-size: 14px; }
.cells { display: grid; gap: 0 14px; align-items: baseline;
  grid-template-columns: 14px 56px minmax(130px, 1fr) 116px 70px 128px 80px 80px minmax(150px, 1fr); }
.head { padding: 8px 6px; border-bottom: 1px solid var(--line); position: sticky; top: 0; background: var(--surface); z-index: 1; }
.head span, .head button { font-size: 12px; font-weight: 600; color: var(--muted); text-align: inherit; }
.head button { all: unset; box-sizing: border-box; font-size: 12px; font-weight: 600; color: var(--muted); cursor: pointer; }
.head button:focus-visible { outline: 2px solid var(--faster); }
.head button[aria-pressed=true] { color: var(--ink); text-decoration: underline; text-underline-offset: 3px; }
.head .num, .head button.num { text-align: right; }
.entry { border-bottom: 1px solid var(--line); }
.entry > summary { padding: 8px 6px; cursor: pointer; list-style: none; }
.entry > summary::-webkit-details-marker { display: none; }
.entry > summary:hover { background: var(--sunken); }
.entry[open] > summary { background: var(--sunken); }
.chevron { width: 7px; height: 7px; border: solid var(--muted); border-width: 0 1.5px 1.5px 0; transform: rotate(-45deg); align-self: center; }
.entry[open] > summary .chevron { transform: rotate(45deg); }
.cells > * { min-width: 0; }
.cells .cut { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.cells .why { grid-column: 3 / -1; color: var(--muted); font-size: 13px; }
.cells b { font-weight: 600; }
.body { padding: 6px 26px 24px; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 4px 36px; }
.reason { border-left: 3px solid currentColor; padding: 2px 0 2px 12px; margin: 12px 0; }
.reason span { color: var(--ink); overflow-wrap: anywhere; }
.kv { display: grid; grid-template-columns: fit-content(190px) minmax(0, 1fr); gap: 3px 18px; margin: 0; font-size: 14px; }
.kv dt { color: var(--muted); min-width: 110px; overflow-wrap: anywhere; } .kv dd { margin: 0; overflow-wrap: anywhere; }
.kv .changed::after { content: " (changed by a flag)"; color: var(--warn); }
ul.plain { margin: 0; padding-left: 18px; font-size: 14px; overflow-wrap: anywhere; }
.more { margin-top: 12px; border: 1px solid var(--line); border-radius: 8px; }
.more > summary { padding: 8px 14px; cursor: pointer; font-weight: 600; font-size: 14px; }
.more > summary small { font-weight: 400; color: var(--muted); }
.more > div { padding: 2px 14px 14px; }
pre { margin: 0; font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; tab-size: 4; }
.code { display: grid; grid-template-columns: max-content minmax(0, 1fr); background: var(--sunken); border-radius: 6px;
  max-height: 560px; overflow: auto; }
.code pre { padding: 10px 12px; }
.code .lines { color: var(--muted); text-align: right; user-select: none; border-right: 1px solid var(--line); }
.code .text { overflow-x: auto; }
.out { background: var(--sunken); border-radius: 6px; padding: 10px 12px; max-height: 420px; overflow: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
footer { color: var(--muted); font-size: 13px; margin-top: 24px; }
.empty { text-align: center; padding: 72px 20px; }
@media (max-width: 1000px) { .two, .halves, .pair { grid-template-columns: minmax(0, 1fr); } .tiles { grid-template-columns: repeat(2, 1fr); }
  .cells { grid-template-columns: 14px 52px minmax(110px, 1fr) 112px 64px 124px; } .cells > :nth-child(n+7):not(.why) { display: none; }
  .wide { min-width: 820px; } }
@media (max-width: 620px) { main, header { padding-left: 14px; padding-right: 14px; } .card { padding: 16px 14px; }
  .cells { gap: 0 8px; grid-template-columns: 12px 52px minmax(64px, 1fr) 104px 56px; }
  .cells > :nth-child(n+6):not(.why) { display: none; }
  .body { padding: 4px 4px 20px; } .tile b { font-size: 26px; } }
@media print { body { background: #fff; } .tools, .chevron { display: none; } .card, .tile { break-inside: avoid; } }
)css";

// Sorting and filtering only; without it the page shows everything, in the order of the problems.
constexpr char kScript[] = R"js(
(() => {
  const list = document.querySelector('.list');
  if (!list) return;
  const entries = [...list.querySelectorAll('.entry')];
  const text = document.getElementById('filter');
  const verdict = document.getElementById('verdict');
  const shown = document.getElementById('shown');
  document.querySelector('.tools').hidden = false;
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of entries) {
      const haystack = entry.dataset.text;
      const hit = words.every((word) => haystack.includes(word)) && (!verdict.value || entry.dataset.verdict === verdict.value);
      entry.hidden = !hit;
      count += hit;
    }
    shown.textContent = count + ' of ' + entries.length + ' shown';
  };
  text.addEventListener('input', apply);
  verdict.addEventListener('change', apply);
  apply();
  const buttons = [...list.querySelectorAll('.head button')];
  for (const button of buttons) {
    button.addEventListener('click', () => {
      const key = 'k' + button.dataset.key;
      const down = button.getAttribute('aria-pressed') === 'true' && button.dataset.down !== '1';
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
      button.dataset.down = down ? '1' : '0';
      const numeric = button.classList.contains('num');
      const compare = (a, b) => {
        const x = a.dataset[key];
        const y = b.dataset[key];
        if (numeric && (x === '' || y === '')) return (x === '') - (y === '');
        const order = numeric ? x - y : x.localeCompare(y, undefined, {numeric: true});
        return down ? -order : order;
      };
      for (const entry of [...entries].sort(compare)) list.append(entry);
    });
  }
  document.getElementById('fold').addEventListener('click', () => {
    const open = !entries.some((entry) => entry.open && !entry.hidden);
    for (const entry of entries) if (!entry.hidden) entry.open = open;
  });
})();
)js";

// Base64 of the bytes that `hex` writes: the form in which a Content-Security-Policy names a script.
std::string Base64OfHex(const std::string& hex) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  for (size_t i = 0; i < hex.size(); i += 6) {
    const std::string three = hex.substr(i, 6);
    const uint32_t bits = static_cast<uint32_t>(std::stoul(three, nullptr, 16)) << (4 * (6 - three.size()));
    for (size_t digit = 0; digit < 4; ++digit) {
      base64 += digit * 6 < three.size() * 4 ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return base64;
}

}  // namespace

std::string_view ReportStyle() { return kStyle; }
std::string_view ReportScript() { return kScript; }

std::string PageHead(std::string_view title, std::string_view script) {
  const std::string scripts = script.empty() ? "'none'" : "'sha256-" + Base64OfHex(Sha256(script)) + "'";
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "{}; base-uri 'none'; form-action 'none'\">"
      "<meta name='viewport' content='width=device-width, initial-scale=1'><meta name='referrer' content='no-referrer'>"
      "<title>{}</title><style>{}</style></head>\n<body>",
      scripts, EscapeHtml(title), kStyle);
}

}  // namespace kb
