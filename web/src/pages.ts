// The pages by their name in the address.
import type { PageMaker } from "./page.ts";
import { makeComparePage } from "./pages/compare.ts";
import { makeEntriesPage } from "./pages/entries.ts";
import { makeEntryPage } from "./pages/entry.ts";
import { makeLeaderboardPage } from "./pages/leaderboard.ts";
import { makeMachinePage } from "./pages/machine.ts";
import { makeProblemPage } from "./pages/problem.ts";
import { makeProblemsPage } from "./pages/problems.ts";
import { makeRunPage } from "./pages/run.ts";
import { makeRunsPage } from "./pages/runs.ts";

export const pages: Record<string, PageMaker> = {
  runs: makeRunsPage,
  run: makeRunPage,
  entries: makeEntriesPage,
  entry: makeEntryPage,
  leaderboard: makeLeaderboardPage,
  compare: makeComparePage,
  problems: makeProblemsPage,
  problem: makeProblemPage,
  machine: makeMachinePage,
};

// In the head of every page; `also` are pages that belong to one.
export const navigation: { page: string; title: string; also: string[] }[] = [
  { page: "runs", title: "Runs", also: [] },
  { page: "run", title: "Results", also: [] },
  { page: "entries", title: "Entries", also: ["entry"] },
  { page: "leaderboard", title: "Leaderboard", also: ["compare"] },
  { page: "problems", title: "Problems", also: ["problem"] },
  { page: "machine", title: "Machine", also: [] },
];
