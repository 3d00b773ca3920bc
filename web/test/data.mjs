// Stores of made-up evaluations, and what the program makes of them. Each is made once for all test files.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
export const binary = process.env.KB_BINARY;
export const scratch = process.env.KB_SCRATCH;

export function command(program, ...words) {
  const done = spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (done.error || done.status !== 0) {
    throw new Error(`${program} ${words.join(" ")}: ${done.error ?? `exit status ${done.status}`}\n${done.stderr ?? ""}`);
  }
  return done.stdout;
}

const python = process.env.KERNELBENCH_PYTHON ?? "python3";

export function store(kind = "plain") {
  const path = join(scratch, `${kind}.sqlite`);
  if (!existsSync(path)) command(python, join(here, kind === "hostile" ? "hostile.py" : "store.py"), path, "--binary", binary);
  return path;
}

export function site(kind = "plain") {
  if (kind === "plain" && process.env.KB_SITE) return process.env.KB_SITE;
  const folder = join(scratch, `${kind}-site`);
  if (!existsSync(folder)) command(binary, "site", folder, "--store", store(kind));
  return folder;
}

export function report(kind = "plain") {
  const path = join(scratch, `${kind}-report`, "report.html");
  if (!existsSync(path)) {
    mkdirSync(join(path, ".."), { recursive: true });
    command(binary, "report", "--store", store(kind), "-o", path);
  }
  return path;
}

export async function catalogOf(folder) {
  return JSON.parse(await readFile(join(folder, "data/catalog.json"), "utf8"));
}

// As namePart() of src/documents.ts.
export function namePart(text) {
  const bytes = [...Buffer.from(text)].map((byte) => String.fromCharCode(byte));
  return bytes.map((letter, at) => (/[\w-]/.test(letter) || (letter === "." && at > 0) ? letter : `~${letter.charCodeAt(0).toString(16).padStart(2, "0")}`)).join("") || "~";
}

// One address of each kind of page, and an entry of each verdict.
export function addressesOf(catalog) {
  const { entries, values } = catalog;
  const found = { runs: "#/runs", entries: "#/entries", problems: "#/problems", leaderboard: "#/leaderboard", machine: "#/machine", all: "#/run" };
  const part = encodeURIComponent;
  catalog.runs.forEach(({ run, strategy }) => (found[`run, ${strategy}`] ??= `#/run/${part(run)}`));
  const models = values.model.filter((model) => model !== "");
  if (models.length > 1) found.compare = `#/compare/${part(models[0])}/${part(models[1])}`;
  if (entries.problem.length > 0) found.problem = `#/problem/${part(values.problem[entries.problem[0]])}`;
  entries.id.forEach((id, row) => {
    const verdict = values.verdict[entries.verdict[row]];
    if (!id.startsWith("job-")) found[`entry, ${verdict}`] ??= `#/entry/${part(id)}`;
  });
  const entry = found["entry, correct"];
  if (entry) for (const tab of ["code", "made", "setting"]) found[`entry, ${tab}`] = `${entry}?tab=${tab}`;
  found["leaderboard of entries"] = "#/leaderboard?of=entries";
  return found;
}
