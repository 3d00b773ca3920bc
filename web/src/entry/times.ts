// The two times, the interval of their ratio, and how near the speed of light the candidate is.
import type { JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { formatBytes, formatInterval, formatNumber, formatShare, formatSpeedup, formatTime, oneLine } from "../text.ts";
import { facts, note, section } from "./parts.ts";
import { inline, member, numberAt, objectAt, objectsAt, pairAt, textAt } from "./read.ts";
import { baselineName, distributionMeans, noSpeedupMeans, noteWord } from "./words.ts";

export function timesPart(entry: JsonObject): Child {
  const candidate = numberAt(entry, "candidate_us");
  const baseline = numberAt(entry, "baseline_us");
  const light = objectAt(entry, "speed_of_light");
  if (candidate === null && baseline === null) return null;
  const bars: [string, number | null, string, string][] = [
    [oneLine(baselineName(textAt(entry, "baseline")), 40), baseline, "of-baseline", "the baseline"],
    ["candidate", candidate, "of-candidate", ""],
    [
      "least for its bytes",
      numberAt(light, "memory_us"),
      "of-light",
      "what moving the bytes once takes at the measured rate",
    ],
    [
      "least for its arithmetic",
      numberAt(light, "compute_us"),
      "of-light",
      "what its products take at the measured rate",
    ],
  ];
  return section(
    "Times",
    h(
      "div",
      { class: "columns" },
      h("div", {}, timeBars(bars), lightWords(entry, light)),
      h("div", {}, intervalOf(entry), timeFacts(entry)),
    ),
  );
}

function timeBars(bars: [string, number | null, string, string][]): HTMLElement {
  const most = Math.max(...bars.map(([, us]) => us ?? 0));
  return h(
    "div",
    { class: "time-bars" },
    bars.flatMap(([name, us, look, title]) => {
      if (us === null) return [];
      const fill = h("span", { class: `fill ${look}` });
      fill.style.width = `${Math.max((100 * us) / most, 0.3)}%`;
      return [
        h("span", { class: "name", title }, name),
        h("span", { class: "track" }, fill),
        h("span", { class: "time" }, formatTime(us)),
      ];
    }),
  );
}

// The speedup on a logarithmic scale with its interval and 1×.
function intervalOf(entry: JsonObject): Child {
  const speedup = numberAt(entry, "speedup");
  if (speedup === null) return h("p", { class: "large" }, "No speedup. ", noSpeedupMeans(textAt(entry, "no_speedup")));
  const interval = pairAt(entry, "speedup_interval");
  const [low, high] = interval ?? [speedup, speedup];
  const room = 1.25;
  const [from, to] = [Math.min(low, 1) / room, Math.max(high, 1) * room];
  const at = (value: number) => (100 * Math.log(value / from)) / Math.log(to / from);
  const put = (look: string, left: number, width: number | null = null, text: Child = null) => {
    const mark = h("span", { class: look }, text);
    mark.style.left = `${left}%`;
    if (width !== null) mark.style.width = `${width}%`;
    return mark;
  };
  const ticks: number[] = [];
  for (const tick of [1, ...ticksBetween(from, to)])
    if (ticks.every((each) => Math.abs(at(each) - at(tick)) > kApart)) ticks.push(tick);
  const label = `Speedup ${formatSpeedup(speedup)}, ${formatInterval(low, high)}`;
  const confidence = numberAt(entry, "confidence");
  const sure = confidence === null || confidence >= 0.95;
  return h(
    "figure",
    { class: "interval-figure" },
    h(
      "figcaption",
      {},
      h("b", { class: "large" }, formatSpeedup(speedup)),
      ` speedup, ${interval === null ? "no interval" : `${sure ? "surely " : ""}${formatInterval(low, high)}${sure ? "" : ` at ${formatShare(confidence, 1)} confidence`}`}`,
    ),
    h(
      "div",
      { class: "interval-scale", role: "img", "aria-label": label },
      ticks.map((tick) => put(tick === 1 ? "tick one" : "tick", at(tick), null, `${Number(tick.toPrecision(2))}×`)),
      put("whisker", at(low), Math.max(at(high) - at(low), 0.6)),
      put("point", at(speedup)),
    ),
  );
}

const kApart = 14; // per cent of the width between ticks' labels

function ticksBetween(from: number, to: number): number[] {
  const ticks: number[] = [];
  const nice = to / from > 30 ? [1] : to / from > 8 ? [1, 3] : [1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8];
  for (let power = -6; power <= 6; ++power) {
    for (const each of nice) {
      const tick = each * 10 ** power;
      if (tick > from && tick < to) ticks.push(tick);
    }
  }
  return ticks;
}

function timeFacts(entry: JsonObject): HTMLElement {
  const changed = objectsAt(entry, "notes").some((each) => noteWord(textAt(each, "text")) === "slower_elsewhere");
  const headline = textAt(entry, "headline");
  const confidence = numberAt(entry, "confidence");
  const floor = numberAt(entry, "floor");
  const time = (key: string) => (numberAt(entry, key) === null ? "" : formatTime(numberAt(entry, key)));
  return facts([
    ["rounds that count", inline(member(entry, "rounds"))],
    [
      "measured on",
      headline === "" ? "" : `${headline}: ${distributionMeans(headline)}${changed ? ", where it is slowest" : ""}`,
    ],
    [
      "confidence",
      confidence === null ? "" : formatShare(confidence, 1),
      "coverage of the interval's statistical part",
    ],
    [
      "systematic floor",
      floor === null ? "" : `± ${formatShare(floor, 1)}, in the interval`,
      "what equal programs differ by on this machine",
    ],
    ["baseline by itself", time("undisturbed_baseline_us"), "before the candidate was loaded"],
    ["subtracted of each call", time("offset_us"), "what an empty call takes"],
    ["prepare", time("prepare_us"), "construction, loading and packing of weights; not part of the speedup"],
  ]);
}

function lightWords(entry: JsonObject, light: JsonObject | null): Child {
  const candidate = numberAt(entry, "candidate_us");
  const least = numberAt(light, "us");
  if (light === null || least === null)
    return note("The least time that this device would need is not known for this problem.");
  const memory = textAt(light, "bound") === "memory";
  const fraction = numberAt(light, "fraction");
  const figures = objectAt(entry, "figures");
  const bytes = ["input_bytes", "parameter_bytes", "output_bytes"].reduce(
    (sum, key) => sum + (numberAt(figures, key) ?? 0),
    0,
  );
  const flops = numberAt(figures, "flops");
  const info = objectAt(entry, "device_info");
  const rate = textAt(light, "rate");
  return [
    note(
      `It is bound by ${memory ? "memory" : "arithmetic"}: it takes at least ${formatTime(least)} on this device` +
        (fraction === null
          ? "."
          : `, and the candidate reaches ${formatShare(fraction, fraction < 0.1 ? 1 : 0)} of that speed.`),
    ),
    facts([
      ["moves at least", bytes > 0 ? formatBytes(bytes) : ""],
      [
        "memory rate",
        candidate === null || bytes === 0
          ? ""
          : `${formatNumber(bytes / candidate / 1e3)} GB/s; the device copies ${formatNumber(numberAt(info, "copy_gb_s"))} GB/s`,
      ],
      ["computes", flops === null ? "" : flopText(flops)],
      [
        "arithmetic rate",
        candidate === null || flops === null
          ? ""
          : `${flopText((flops / candidate) * 1e6)}/s; the device ${flopText((numberAt(objectAt(info, "rates"), rate) ?? 0) * 1e12)}/s in ${rate}`,
      ],
    ]),
  ];
}

function flopText(flops: number): string {
  const units: [number, string][] = [
    [1e12, "TFLOP"],
    [1e9, "GFLOP"],
    [1e6, "MFLOP"],
  ];
  const [size, name] = units.find(([size]) => flops >= size) ?? [1e3, "kFLOP"];
  return `${formatNumber(flops / size)} ${name}`;
}
