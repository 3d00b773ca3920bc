// What words in an evaluation mean (docs/reference/evaluation.md), for readers who meet them the first time.

import { lookup } from "./read.ts";

const kDistributions: Record<string, string> = {
  natural: "inputs as get_inputs() draws them",
  centred: "inputs shifted so that their mean is 0",
  outliers: "inputs of which a few are 256 times larger",
  scaled: "inputs with mean 0, 256 times larger",
  sparse: "inputs of which nine in ten elements are 0",
  structured: "inputs whose signs alternate",
  stressed: "all inputs but the natural ones, together",
};

export function distributionMeans(name: string): string {
  return lookup(kDistributions, name) ?? `${name} inputs`;
}

// "eager PyTorch"
export function baselineName(baseline: string): string {
  if (baseline === "eager") return "eager PyTorch";
  if (baseline === "eager-fp32") return "eager PyTorch without TF32";
  const mode = /^compile-(.+)$/.exec(baseline)?.[1];
  if (mode !== undefined) return mode === "default" ? "torch.compile" : `torch.compile (${mode})`;
  return baseline === "" ? "the reference" : baseline;
}

// Why a correct candidate has no speedup.
const kNoSpeedup: Record<string, string> = {
  not_measured: "The protocol asks for no times (its key measure is false).",
  authorship: "The protocol does not accept whose work it is, so its time does not count.",
  too_short:
    "It is too short to be measured: the speedup would be more than twice what its interval makes certain. " +
    "A larger size resolves more.",
  machine_busy: "Other programs used the machine in most rounds. Judge it again when the machine is quiet.",
  no_room: "The device's memory does not hold the reference's process beside the candidate.",
};

export function noSpeedupMeans(word: string): string {
  return lookup(kNoSpeedup, word) ?? (word === "" ? "The evaluation does not say why." : word);
}

// First words of notes.
const kNotes: Record<string, string> = {
  wide_interval: "The rounds scatter so much that the interval is wider than the protocol asks for.",
  surely_slow: "It is so slow that measuring it more closely was not worth the time.",
  too_short_to_resolve: "Its time is of the size of what a call costs by itself, which is uncertain.",
  launch_bound: "Much of the time is launching kernels, which differs between processes that do the same.",
  baseline_disturbed: "The baseline was slower beside the candidate than by itself; the quicker figure counts.",
  machine_busy: "Other programs used the machine, so that rounds had to be left out.",
  slower_elsewhere: "It is slower on inputs other than the natural ones, and those count.",
  timing_mismatch: "Its own events say less time than the judge's clock. The clock counts.",
  by_clock: "Its events claim more than is certain; what the judge's clock alone bears out counts.",
  timing_by_candidate: "This way of timing believes the candidate's own events.",
  faster_than_memory: "At the measured rate nothing can read the inputs and write the outputs in this time: look at what it leaves out.",
  authorship: "Whose work it is does not suit the protocol, or is not known.",
  state_copied: "It was judged with the reference's weights, which were copied into it.",
  other_weights: "Its weights are not those of the reference.",
  build_fallback: "The compiler refused an extension, and the module went on without it.",
  weakened: "A barrier was taken away for this evaluation. It proves a barrier and says nothing about a candidate.",
  compared_in_part: "Its errors on the other inputs are not all known.",
  not_audited: "The protocol counts the lower of two audits, and none was made.",
  static: "Static analysis warns of a line of the code.",
  no_fp64: "The reference cannot run in fp64, so what a block may err comes from fixed tolerances.",
  own_anchor: "It was near its limit, and was compared once more with the reference's error on the same inputs.",
  weak_comparison: "This protocol's tolerance accepts answers that need no computation on this problem.",
  draws_random: "The reference draws random numbers.",
};

// Notes that doubt what the numbers seem to say.
const kDoubts = new Set([
  "faster_than_memory",
  "timing_mismatch",
  "by_clock",
  "timing_by_candidate",
  "weakened",
  "weak_comparison",
  "build_fallback",
  "not_audited",
]);

export function noteWord(text: string): string {
  return /^[a-z_0-9]+(?=:)/.exec(text)?.[0] ?? "";
}

export function noteMeans(word: string): string {
  return lookup(kNotes, word) ?? "";
}

export function isDoubt(word: string): boolean {
  return kDoubts.has(word);
}

const kSignals: [string, string][] = [
  [
    "SIGSEGV",
    "It touched memory outside of the tensors: look at index arithmetic at the edges, at strides, and at where " +
      "pointers come from.",
  ],
  ["SIGBUS", "It touched memory that is not there: look at index arithmetic and at pointers."],
  ["SIGFPE", "It divided an integer by 0: look at sizes that are computed."],
  ["SIGILL", "It ran an instruction that this CPU does not have: guard vector intrinsics by #ifdef."],
  ["SIGABRT", "It ended itself: an assertion, an uncaught exception or a damaged heap. Its output may say which."],
  ["SIGKILL", "Linux ended it, mostly because memory ran out."],
  ["SIGSYS", "It made a system call that candidates may not make."],
];

export function signalMeans(signal: string): string {
  return kSignals.find(([name]) => signal.startsWith(name))?.[1] ?? "";
}

// Barriers of `isolation_info`.
export const kBarriers: Record<string, string> = {
  "mount-namespace": "files of its own; the machine's are not there or cannot be written",
  "pid-namespace": "sees no other processes",
  "network-namespace": "has no network",
  "ipc-namespace": "shares no memory with other programs",
  "uts-namespace": "cannot change the machine's name",
  user: "runs as a user without rights",
  capabilities: "has no rights of an administrator",
  seccomp: "cannot start programs, open sockets or reach other processes",
  landlock: "can write nowhere but in a private /tmp",
  rlimits: "bounded memory and file sizes",
  cgroup: "bounded threads and memory in all",
  environment: "sees no environment variables of the judge",
  "fresh-inputs": "each call has inputs that did not exist before",
  poison: "outputs are filled with garbage before each call",
  freeze: "is stopped between calls",
  "secret-positions": "does not know where outputs will lie",
  "input-check": "inputs are compared after each call",
  "stress-inputs": "some rounds have inputs unlike those of get_inputs()",
  "weight-seeds": "weights are drawn anew",
};
