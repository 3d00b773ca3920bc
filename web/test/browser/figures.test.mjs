// What the pages count by themselves, when filters are on, is what `score --json` says of the same samples.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { catalogOf, scratch, site } from "../data.mjs";

const folder = site();
const sources = fileURLToPath(new URL("../../src", import.meta.url));
const bundle = join(scratch, "figures.mjs");
await build({
  stdin: { contents: 'export * from "./samples.ts"; export * from "./figures.ts";', resolveDir: sources, loader: "ts" },
  outfile: bundle, bundle: true, platform: "node", format: "esm", logLevel: "error",
});
const { groupSamples, missingOf, newestSamples, outcomesOf, scoreOf, settingKey } = await import(pathToFileURL(bundle).href);

// The same but for the last digits of numbers.
function near(mine, theirs, path) {
  if (typeof theirs === "number" && typeof mine === "number") {
    assert.ok(Math.abs(mine - theirs) <= 1e-9 * Math.max(1, Math.abs(theirs)), `${path}: ${mine}, and score says ${theirs}`);
  } else if (Array.isArray(theirs)) {
    assert.equal(mine?.length, theirs.length, path);
    theirs.forEach((each, at) => near(mine[at], each, `${path}[${at}]`));
  } else if (theirs !== null && typeof theirs === "object") {
    for (const key of Object.keys(theirs)) near(mine?.[key], theirs[key], `${path}.${key}`);
  } else assert.equal(mine, theirs, path);
}

test("scores of all models, whole and by level", async () => {
  const catalog = await catalogOf(folder);
  const scores = JSON.parse(readFileSync(join(folder, "data/scores.json"), "utf8"));
  const groups = groupSamples(catalog, newestSamples(catalog, catalog.entries.id.map((_, row) => row)));
  const levels = new Map(catalog.problems.map(({ problem, deck }) => [problem, deck]));
  assert.ok(scores.models.length > 5);
  for (const model of scores.models) {
    const name = `${model.model} on ${model.device_name}`;
    const group = groups.find((each) => each.model === model.model && settingKey(each.setting) === settingKey(model));
    assert.ok(group, name);
    const outcomes = outcomesOf(catalog, group, scores.first_samples, missingOf(model));
    near(scoreOf(outcomes, scores.thresholds, scores.cap), model.all, name);
    for (const [level, theirs] of Object.entries(model.levels)) {
      const those = outcomes.filter(({ problem }) => (levels.get(problem) ?? "other") === level);
      near(scoreOf(those, scores.thresholds, scores.cap), theirs, `${name}, ${level}`);
    }
  }
});
