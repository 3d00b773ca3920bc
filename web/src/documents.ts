// The documents that pages show (docs/reference/pages.md). The program writes them; no page asks for anything else.
// Each has a name, which is its path below data/ in a folder of files, its address below /v1/pages/ in a service, and
// its key in a report.

export interface Catalog {
  schema: 1;
  made: string; // UTC, ISO 8601
  version: string; // of the program
  scope: string; // "store", or what the store was cut down to, as a sentence
  left_out: string[]; // kinds of documents that there are none of, for their size: "rounds", "conversations", "sources"
  values: Values;
  entries: Entries;
  runs: RunLine[];
  problems: ProblemLine[];
  published: PublishedRow[];
}

// What columns with numbers of values point into.
export interface Values {
  run: string[]; // "" of evaluations without a run
  model: string[]; // "" of candidates that are nobody's
  problem: string[];
  size: string[];
  device: { kind: string; name: string }[]; // {"cuda", "NVIDIA H200"}; name "" of a text that was rejected
  protocol: string[];
  baseline: string[];
  verdict: string[]; // those of docs/reference/evaluation.md, and "infrastructure" of a job that the engine failed at
  authorship: string[]; // "custom", "mixed", "library", "" if it is not known
  backend: string[];
  flag: string[]; // "tampered", "audit", or the code of a note that doubts a time, as "faster_than_memory"
}

// One column each, all of the same length, newest entry last. Numbers of values are indices into Values.
export interface Entries {
  id: string[]; // of a job that the engine failed at "job-NUMBER": it has no document
  created: number[]; // seconds since 1970
  run: number[];
  model: number[];
  sample: (number | null)[];
  candidate: string[]; // its path, or the name that its run gave it
  problem: number[];
  size: number[];
  device: number[];
  protocol: number[];
  baseline: number[];
  verdict: number[];
  speedup: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  baseline_us: (number | null)[];
  candidate_us: (number | null)[];
  fraction: (number | null)[]; // of the speed of light
  authorship: number[];
  own: (number | null)[]; // custom / (custom + library), 0 to 1
  backend: number[];
  flags: number[][];
  counts: boolean[]; // whether scores of all entries count it: the newest of its sample (docs/reference/scores.md)
}

export interface RunLine {
  run: string;
  created: string;
  last: string; // when its newest evaluation ended
  strategy: string | null; // of what was generated: "oneshot", "refine", "evolve", "agent", ...
  models: string[];
  jobs: { queued: number; running: number; done: number; failed: number };
  judging: { problem: string; candidate: string; since: string | null }[]; // at most 16
  verdicts: Record<string, number>;
  evaluations_per_s: number | null; // over the last minutes; null where it does not run
  usd: number | null; // null where it is not known, or nothing was asked
  input_tokens: number | null;
  output_tokens: number | null;
}

export interface ProblemLine {
  problem: string; // "1/19"
  title: string; // "ReLU"
  deck: string; // "level1", "v3:level4", "modern", "other"
  level: string; // "1"; as the deck where there are no levels
  family: string;
  dominated_by: string; // "memory", "tensor cores", "launch", ""
  scored: boolean;
  unscored_reason: string; // "" if it is scored
}

export interface PublishedRow {
  name: string;
  geometric_mean: number;
  problems: number;
  scored: boolean;
  cap: number | null;
  device: string;
  torch: string;
  published: string;
  source: string;
  date: string;
}

// Documents whose insides are described elsewhere are read with care, key by key.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface RunDocument {
  line: RunLine;
  settings: JsonObject | null; // how it was generated
  score: JsonObject; // as `score RUN --json` prints it (docs/reference/scores.md)
  trajectory: JsonObject | null; // as `trajectory RUN --json`
}

export interface RoundsDocument {
  samples: JsonObject[]; // of docs/reference/evaluation.md
}

export interface SourceDocument {
  sha256: string;
  files: { path: string; text: string }[]; // one with path "" where it is not a folder
}

export interface ConversationDocument {
  answers: ConversationAnswer[] | null; // of a model that was asked
  transcript: Transcript | null; // of an agent
  parents: string[]; // ids of evaluations that the model was shown, or that a candidate descends from
}

// The lines of `trajectory RUN --candidate N --json` (docs/reference/transcripts.md).
export interface Transcript {
  episode: JsonObject;
  turns: JsonObject[];
  end: JsonObject | null;
}

export interface ConversationAnswer {
  created: string;
  model: string;
  system: string;
  messages: { role: string; text: string }[];
  response: string;
  reasoning: string;
  finish: string;
  complaint: string;
  input_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  usd: number | null;
  seconds: number;
}

export interface ProblemDocument {
  line: ProblemLine;
  text: string; // its reference in PyTorch
  sizes: string[];
  figures: Record<string, JsonObject>; // by size: what it moves and computes
  baselines: JsonObject[]; // rows of docs/reference/baselines.md
  audits: JsonObject[]; // of docs/reference/problems.md
}

export interface MachineDocument {
  live: boolean; // else it tells of the machine on which the files were written
  made: string;
  service: JsonObject | null; // as GET /v1/service, with `queue` by state and `ended` by verdict; only for who sees all
  devices: JsonObject[]; // device_info of docs/reference/evaluation.md, with `calibration`
  doctor: JsonObject | null; // as `doctor --json`, if it was asked
}

// A part of a document's name: what is neither a letter, a digit, ".", "_" nor "-" becomes "~" and two hexadecimal
// digits a byte, and so does a first ".".
export function namePart(text: string): string {
  let name = "";
  for (const byte of new TextEncoder().encode(text)) {
    const letter = String.fromCharCode(byte);
    const plain = /[A-Za-z0-9_-]/.test(letter) || (letter === "." && name !== "");
    name += plain ? letter : "~" + byte.toString(16).padStart(2, "0");
  }
  return name === "" ? "~" : name;
}

export const documentNames = {
  catalog: () => "catalog.json",
  scores: () => "scores.json", // as `score --json`
  run: (run: string) => `runs/${namePart(run)}.json`,
  compare: (a: string, b: string) => `compare/${namePart(a)}/${namePart(b)}.json`, // models; as `compare A B --json`
  entry: (id: string) => `entries/${namePart(id)}.json`, // an evaluation without samples, measurements and source
  rounds: (id: string) => `rounds/${namePart(id)}.json`,
  source: (sha256: string) => `sources/${namePart(sha256)}.json`,
  conversation: (id: string) => `conversations/${namePart(id)}.json`,
  problem: (problem: string) => `problems/${namePart(problem)}.json`,
  machine: () => "machine.json",
  doctor: () => "doctor.json", // as `doctor --json`: a service is asked now, which takes seconds
};
