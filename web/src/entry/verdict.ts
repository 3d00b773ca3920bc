// A verdict in words: what it means, what was expected, what came, where, and what to look at. No elements here.
import type { JsonObject } from "../documents.ts";
import { formatCount, formatInterval, formatShare, formatSpeedup, formatTime } from "../text.ts";
import { inline, listAt, lookup, member, numberAt, objectAt, objectsAt, pairAt, textAt } from "./read.ts";
import { baselineName, distributionMeans, noSpeedupMeans, noteWord, signalMeans } from "./words.ts";

export interface Place {
  file: string; // "" where the candidate is one file
  line: number; // from 1
}

export interface Explanation {
  sentence: string;
  expected: string;
  got: string;
  where: string;
  place: Place | null; // of the code
  look: string[];
}

// What each verdict means for the candidate.
const kSentences: Record<string, string> = {
  not_run: "It was not run.",
  static_rejected: "It was refused before it was built.",
  build_failed: "It does not compile.",
  load_failed: "It cannot be loaded and constructed.",
  crashed: "It crashed.",
  timed_out: "It took longer than it may.",
  out_of_memory: "It needs more memory than there is.",
  wrong_form: "Its outputs do not have the form of the reference's, or it changed what it must not.",
  non_finite: "Its output is not finite where the reference's is, or the other way round.",
  incorrect: "Its output is wrong.",
  tampered: "It did something that would falsify the measurement.",
  correct: "It is correct.",
};

export function explain(entry: JsonObject): Explanation {
  const verdict = textAt(entry, "verdict");
  const words = lookup(kWords, verdict);
  const empty = { expected: "", got: "", where: "", place: null, look: [] };
  const sentence =
    lookup(kSentences, verdict) ?? `Its verdict is ${verdict || "missing"}, which this page does not know.`;
  const got = textAt(entry, "reason");
  return { ...empty, sentence, got, ...words?.(entry) };
}

type Words = (entry: JsonObject) => Partial<Explanation>;

const kWords: Record<string, Words> = {
  correct,
  incorrect: (entry) => (objectAt(entry, "mismatch") === null ? notRepeated(entry) : wrongOutput(entry)),
  non_finite: wrongOutput,
  wrong_form: (entry) => ({
    expected: /changed its input/.test(textAt(entry, "reason"))
      ? "inputs as they were: a call may not write to them"
      : "outputs with the shapes, types and devices of the reference's",
    look: [
      "Compare what forward returns with the reference: number of outputs, shape, dtype, and whether it is a view.",
    ],
  }),
  static_rejected: rejected,
  build_failed: buildFailed,
  load_failed: (entry) => ({
    expected: "a file that can be imported and a ModelNew that can be constructed with the reference's arguments",
    ...raised(entry),
  }),
  crashed: (entry) => ({ expected: "a call that returns", ...raised(entry) }),
  timed_out: (entry) => ({
    expected: limits(entry),
    look: [
      "Look for a loop that does not end, a barrier that not all threads reach, or work whose time grows faster than " +
        "the size.",
    ],
  }),
  out_of_memory: (entry) => ({
    expected: `at most ${inline(member(objectAt(entry, "protocol_keys"), "memory_gb"))} GB of memory (memory_gb)`,
    look: ["Look at temporary tensors that are as large as the output, and at what is allocated anew in each call."],
  }),
  tampered: (entry) => ({
    expected: "outputs that are computed from the call's own inputs, within the call, and left alone afterwards",
    look: [
      /still written/.test(textAt(entry, "reason"))
        ? "Look for threads or streams that go on after forward has returned: wait for them, or work on the given stream."
        : "Look for what reaches beyond its own tensors: the clock, the judge's process, its messages.",
      "It counts as failed. If it is an honest mistake, mend it and have it judged again.",
    ],
  }),
  not_run: () => ({ look: ["Judge it: the commands are under “Setting, judging again”."] }),
};

export function noteWords(entry: JsonObject): string[] {
  return objectsAt(entry, "notes").map((note) => noteWord(textAt(note, "text")));
}

function correct(entry: JsonObject): Partial<Explanation> {
  const speedup = numberAt(entry, "speedup");
  const against = baselineName(textAt(entry, "baseline"));
  if (speedup === null) {
    const why = noSpeedupMeans(textAt(entry, "no_speedup"));
    return {
      sentence: "It is correct, but has no speedup.",
      got: textAt(entry, "reason") || why,
      look: noSpeedupHints(entry),
    };
  }
  const [low, high] = pairAt(entry, "speedup_interval") ?? [speedup, speedup];
  const times = `${formatSpeedup(speedup)} the speed of ${against}`;
  const confidence = numberAt(entry, "confidence");
  const surely =
    confidence !== null && confidence < 0.95
      ? `${formatInterval(low, high)} at ${formatShare(confidence, 1)} confidence`
      : `surely ${formatInterval(low, high)}`;
  const sentence =
    low > 1
      ? `It is correct and faster: ${times}, ${surely}.`
      : high < 1
        ? `It is correct but slower: ${times}, ${surely}.`
        : `It is correct; its time cannot be told apart from that of ${against}: ${formatSpeedup(speedup)}, ${surely}.`;
  return { sentence, got: textAt(entry, "reason"), look: speedHints(entry, speedup) };
}

// Why the speedup is not the ratio of the two times that are shown; "" where it is, to 1%. docs/reference/evaluation.md has the rule.
export function ratioWords(entry: JsonObject): string {
  const speedup = numberAt(entry, "speedup");
  const candidate = numberAt(entry, "candidate_us");
  const baseline = numberAt(entry, "baseline_us");
  if (speedup === null || candidate === null || baseline === null || !(candidate > 0)) return "";
  const ratio = baseline / candidate;
  if (Math.abs(ratio / speedup - 1) <= 0.01) return "";
  const these = `These two times make ${formatSpeedup(ratio)}`;
  const alone = numberAt(entry, "undisturbed_baseline_us");
  if (noteWords(entry).includes("baseline_disturbed") && alone !== null)
    return `${these}: the baseline takes ${formatTime(alone)} by itself, and the speedup may not be more than that allows.`;
  if (textAt(objectAt(entry, "protocol_keys"), "statistic") === "mean") return "";
  return `${these}, each a median by itself; the speedup is the median of the rounds' own ratios.`;
}

function noSpeedupHints(entry: JsonObject): string[] {
  return textAt(entry, "no_speedup") === "authorship" ? [] : timesHint(entry);
}

function timesHint(entry: JsonObject): string[] {
  const candidate = numberAt(entry, "candidate_us");
  const baseline = numberAt(entry, "baseline_us");
  if (candidate === null || baseline === null) return [];
  return [
    `What was measured all the same: the baseline ${formatTime(baseline)}, the candidate ${formatTime(candidate)}.`,
  ];
}

function speedHints(entry: JsonObject, speedup: number): string[] {
  const hints: string[] = [];
  const light = objectAt(entry, "speed_of_light");
  const fraction = numberAt(light, "fraction");
  const memory = textAt(light, "bound") === "memory";
  if (fraction !== null && fraction > 1) {
    hints.push(
      "It is faster than the device's measured rates allow: it leaves out work, its data stays in a cache, or the rates " +
        "were measured while the machine was busy. It is flagged (faster than memory) where it takes less than half of " +
        "the time that its inputs and outputs need.",
    );
  } else if (fraction !== null && fraction > 0.8) {
    hints.push(
      `It is close to what ${memory ? "memory" : "arithmetic"} allows: ${formatShare(fraction)}. Little is left to win.`,
    );
  } else if (fraction !== null && fraction > 0) {
    hints.push(
      memory
        ? `Memory would allow ${(1 / fraction).toFixed(1)} times this speed: look at how often each byte is moved.`
        : `Arithmetic would allow ${(1 / fraction).toFixed(1)} times this speed: look at reuse, matrix units and idle cores.`,
    );
  }
  const natural = objectsAt(entry, "notes").find((note) => noteWord(textAt(note, "text")) === "slower_elsewhere");
  const onNatural = numberAt(objectAt(natural, "values"), "natural");
  if (onNatural !== null && onNatural > speedup) {
    const where = textAt(objectAt(natural, "values"), "distribution");
    hints.push(`On natural inputs it reaches ${formatSpeedup(onNatural)}; what counts is ${distributionMeans(where)}.`);
  }
  const library = numberAt(objectAt(entry, "authorship"), "library");
  if (library !== null && library > 0.5) hints.push(`${formatShare(library)} of its time is spent in libraries.`);
  return hints;
}

function wrongOutput(entry: JsonObject): Partial<Explanation> {
  const mismatch = objectAt(entry, "mismatch");
  if (mismatch === null) return {};
  const unwritten = numberAt(mismatch, "unwritten") ?? 0;
  const count = `${formatCount(numberAt(mismatch, "wrong"))} of ${formatCount(numberAt(mismatch, "total"))} elements`;
  const what =
    unwritten > 0
      ? `${formatCount(unwritten)} of ${formatCount(numberAt(mismatch, "total"))} elements were never written`
      : textAt(entry, "verdict") === "non_finite"
        ? `${formatCount(numberAt(mismatch, "non_finite"))} elements are NaN or infinite where they must not be, or the ` +
          "other way round"
        : `${count} are off by more than is allowed`;
  const worst = numberAt(mismatch, "worst");
  const index = `[${listAt(mismatch, "worst_index").map(inline).join(", ")}]`;
  const output = numberAt(mismatch, "output") ?? 0;
  return {
    sentence: `Its output is wrong: ${what}.`,
    expected: `${inline(member(mismatch, "expected"))} at the worst element, ${index} of output ${output}`,
    got:
      inline(member(mismatch, "got")) +
      (worst === null ? "" : `, an error of ${formatCount(Number(worst.toPrecision(3)))} times what is allowed`),
    where: `${textAt(mismatch, "where")}; in round ${inline(member(mismatch, "round"))}, on ${distributionMeans(textAt(mismatch, "distribution"))}`,
    look: wrongHints(entry, mismatch),
  };
}

function wrongHints(entry: JsonObject, mismatch: JsonObject): string[] {
  const where = textAt(mismatch, "where");
  const unwritten = numberAt(mismatch, "unwritten") ?? 0;
  const wrong = numberAt(mismatch, "wrong") ?? 0;
  const worst = numberAt(mismatch, "worst") ?? Infinity;
  const hints: string[] = [];
  if (/dimension/.test(where)) {
    hints.push("The wrong elements share an index: look at how that dimension's edge, or its block, is treated.");
  } else if (/^the (last|first)/.test(where)) {
    hints.push(
      "The wrong elements lie at an end: look at the remainder, where the size is no multiple of a block or vector.",
    );
  } else if (unwritten > 0) {
    hints.push("Some elements are never written: look at the bounds of the outermost loops or of the grid.");
  }
  const distribution = textAt(mismatch, "distribution");
  const errors = objectAt(entry, "errors");
  const natural = numberAt(errors, "natural");
  if (wrong > 0.1 * Math.max(numberAt(mismatch, "total") ?? 1, 1) && worst <= 1000 && unwritten === 0) {
    hints.push(
      `Many elements are off, the worst by ${formatCount(Number(worst.toPrecision(3)))} times what is allowed: look at ` +
        "arithmetic in too low a precision and at approximations that are too coarse first, and at indices after that.",
    );
  } else if (distribution !== "natural" && distribution !== "" && natural !== null && natural <= 1) {
    hints.push("It is right on natural inputs: it may assume something about values that the reference does not.");
  }
  return hints;
}

function notRepeated(entry: JsonObject): Partial<Explanation> {
  return {
    sentence: "Its output is wrong: " + textAt(entry, "reason") + ".",
    expected: "the same bits from two calls on equal inputs (repeat_bitwise)",
    look: ["Look for atomics on floating point and for memory that is read before it is written."],
  };
}

function rejected(entry: JsonObject): Partial<Explanation> {
  const reason = textAt(entry, "reason");
  const none = /^the model's answer holds no candidate: /.exec(reason)?.[0];
  if (none !== undefined) {
    return {
      sentence: "There is no candidate: nothing usable was handed in.",
      expected: "an answer, or a submission, with a whole candidate",
      got: reason.slice(none.length),
      look: ["Read how it was made: the answer, or the last turns of the agent, and why it ended."],
    };
  }
  const finding = objectsAt(objectAt(entry, "evidence"), "static_findings").find(
    (each) => textAt(each, "severity") === "error",
  );
  if (finding === undefined) return { expected: "a text that can be a candidate" };
  const place = { file: textAt(finding, "file"), line: numberAt(finding, "line") ?? 1 };
  return {
    expected: `code that static analysis accepts under the protocol ${textAt(entry, "protocol")}`,
    got: `${textAt(finding, "rule")}: ${textAt(finding, "reason")}`,
    where: placeName(place),
    place,
    look: [`The line is: ${textAt(finding, "excerpt")}`],
  };
}

function buildFailed(entry: JsonObject): Partial<Explanation> {
  const words = textAt(objectAt(entry, "evidence"), "compiler_output");
  const found = /^(?:\.\/|\/\S*\/)?([^\s:()]+?)[:(](\d+)\)?(?::\d+)?:? *(?:fatal )?error[: ]+(.*)$/m.exec(words);
  const compiler = textAt(objectAt(entry, "device_info"), "compiler");
  const place = found === null ? null : { file: found[1]!, line: Number(found[2]) };
  const reason = textAt(entry, "reason");
  return {
    expected: `that ${compiler || "the compiler"} accepts it`,
    got: found?.[3] || (words === "" ? reason : reason.replace(/; evidence\.compiler_output holds.*$/, "")),
    where: place === null ? "" : placeName(place),
    place,
    look: [words === "" ? "The compiler left no words." : "The compiler's words are below; the first error counts."],
  };
}

// A death, or an exception of Python.
function raised(entry: JsonObject): Partial<Explanation> {
  const evidence = objectAt(entry, "evidence");
  const signal = textAt(evidence, "signal");
  const place = lastFrame(textAt(evidence, "traceback"));
  const hint = signalMeans(signal);
  const printed = textAt(evidence, "output") === "" ? [] : ["What it printed is below."];
  return {
    where: place === null ? "" : placeName(place),
    place,
    look: [...(hint === "" ? [] : [hint]), ...(place === null ? [] : ["The traceback is below."]), ...printed],
  };
}

// The innermost frame in the candidate's own files, which lie in no folder of Python or PyTorch.
export function lastFrame(traceback: string): Place | null {
  let place: Place | null = null;
  for (const found of traceback.matchAll(/^ *File "([^"]+)", line (\d+)/gm)) {
    const file = found[1]!;
    if (!/site-packages|dist-packages|\/lib\/python|^<|kernelbench_torch|kernelbench_runner/.test(file)) {
      place = { file, line: Number(found[2]) };
    }
  }
  return place;
}

function limits(entry: JsonObject): string {
  const keys = objectAt(entry, "protocol_keys");
  const call = numberAt(keys, "call_timeout_s");
  const whole = numberAt(keys, "evaluation_timeout_s");
  return `calls of at most ${call ?? "?"} s each (call_timeout_s), and ${whole ?? "?"} s for all of them (evaluation_timeout_s)`;
}

function placeName(place: Place): string {
  return place.file === "" ? `line ${place.line}` : `${place.file}, line ${place.line}`;
}
