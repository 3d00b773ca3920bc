// The time of each round, on both sides, with what witnesses say of those that are void.
import type { JsonObject } from "../documents.ts";
import { type Child } from "../dom.ts";
import type { PageContext } from "../page.ts";
import { oneLine, plural } from "../text.ts";
import { loadRounds } from "./loads.ts";
import { note, section } from "./parts.ts";
import { numberAt, objectAt, textAt } from "./read.ts";
import { callsOf, roundsChart } from "./rounds_chart.ts";

const kMostRounds = 2000;

export async function roundsPart(context: PageContext, entry: JsonObject): Promise<Child> {
  const tried = numberAt(entry, "candidate_us") !== null || objectAt(entry, "mismatch") !== null;
  if (!tried && textAt(entry, "verdict") !== "correct") return null;
  const loaded = await loadRounds(context, textAt(entry, "id"));
  if ("missing" in loaded) return section("Rounds", note(loaded.missing));
  const samples = loaded.document.slice(0, kMostRounds);
  const calls = samples.flatMap(callsOf);
  if (calls.length === 0) return null;
  const cut = loaded.document.length > samples.length;
  return section(
    "Rounds",
    roundsChart(entry, samples, calls),
    voidWords(samples),
    cut ? note(`Of ${plural(loaded.document.length, "round")} the first ${samples.length} are shown.`) : null,
  );
}

function voidWords(samples: JsonObject[]): Child {
  const reasons = new Map<string, number>();
  for (const sample of samples) {
    const why = textAt(sample, "void");
    if (why !== "") reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  const total = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  return note(
    `${plural(total, "round is", "rounds are")} void for what a witness saw: `,
    [...reasons].map(([why, count]) => `${oneLine(why, 100)} (${count})`).join(", "),
    ". Rounds with other inputs take their place. A round is never void for the time that a call took.",
  );
}
