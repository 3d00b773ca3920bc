// The results of a run, or of all runs of the store together: figures and plots. Its filters, its setting and what its
// charts show are in the address.
import type { JsonObject, RunDocument } from "../documents.ts";
import { documentNames } from "../documents.ts";
import { h, replace } from "../dom.ts";
import { entriesTable, rowsAsJson } from "../entriestable.ts";
import { filterBar } from "../filterbar.ts";
import { countOutcomes, outcomeLegend } from "../outcomes.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { addressOf } from "../router.ts";
import type { Filters, ListKey } from "../rows.ts";
import { deviceLabel, filterKeys, filtersOf, isFiltered, queryOfFilters, runLabel } from "../rows.ts";
import { runFacts } from "../run_facts.ts";
import type { RunView, SettingChoice } from "../run_view.ts";
import { partsOf, scoreIn, viewNote, viewRun } from "../run_view.ts";
import { naturalOrder, selectSamples, settingKey } from "../samples.ts";
import { nowhereNotice, settingNotice, settingsOf } from "../settings.ts";
import type { Slot } from "../slots.ts";
import { slots } from "../slots.ts";
import type { Table } from "../table.ts";
import { oneLine } from "../text.ts";
import type { Documents } from "./run_parts.ts";
import { lowerParts, section, upperParts } from "./run_parts.ts";

const barKeys: ListKey[] = ["model", "level", "deck", "device", "protocol", "size", "baseline", "outcome", "verdict",
  "authorship", "backend", "flag", "problem"];

async function documentsOf(context: PageContext, run: string | null): Promise<Documents> {
  if (run === null) return { score: (await context.source.document(documentNames.scores())) as JsonObject, trajectory: null, settings: null };
  const { score, trajectory, settings } = (await context.source.document(documentNames.run(run))) as unknown as RunDocument;
  return { score, trajectory, settings };
}

function scopeOf(context: PageContext, run: string | null): number[] {
  const { entries, values } = context.catalog;
  const number = run === null ? -1 : values.run.indexOf(run);
  const rows: number[] = [];
  for (let row = 0; row < entries.id.length; ++row) if (run === null || entries.run[row] === number) rows.push(row);
  return rows;
}

interface State {
  settings: SettingChoice[];
  view: RunView | null;
  emptied: string | null;
  nowhere: number[];
  rows: number[]; // of the table of entries
}

function stateOf(context: PageContext, run: string | null, documents: Documents): State {
  const filters = filtersOf(context.query);
  const scope = scopeOf(context, run);
  const filtered = isFiltered(filters, run === null ? [] : ["run"]);
  const selected = selectSamples(context.catalog, scope, run === null ? filters : { ...filters, run: [] });
  const { settings, view, emptied, nowhere } = viewRun({
    catalog: context.catalog, scope, shown: filtered ? new Set(selected.counting) : null, score: documents.score,
    setting: context.query.get("setting"), file: run === null ? "all-runs" : run || "no-run",
  });
  return { settings, view, emptied, nowhere, rows: filters.all ? selected.all : selected.counting };
}

function settingChoice(context: PageContext, { settings, view, emptied, nowhere }: State): HTMLElement | null {
  if (!view || settings.length < 2) return emptied === null ? null : emptiedNotice(emptied, view);
  const chosen = context.query.get("setting");
  const select = h("select", { onchange: () => context.setQuery({ setting: select.value === settings[0]?.key ? null : select.value }, true) },
    settings.map(({ key, label, entries }, i) =>
      h("option", { value: key, selected: chosen === key || (i === 0 && !settings.some((each) => each.key === chosen)) }, `${oneLine(label, 120)}: ${entries}`)));
  return h("div", {}, h("p", { class: "setting" }, h("label", {}, "Setting: ", select), " ",
    h("span", { class: "muted" }, "Figures never mix devices, protocols, sizes or baselines: these are of one.")),
    emptiedNotice(emptied, view), nowhereNotice(context.catalog, nowhere, view.setting.device));
}

function emptiedNotice(emptied: string | null, view: RunView | null): HTMLElement | null {
  const notice = settingNotice(emptied, view?.setting ?? null);
  return notice === null ? null : h("p", { class: "notice", role: "status" }, oneLine(notice, 400));
}

function emptyState(context: PageContext, run: string | null): HTMLElement {
  const name = run === null ? "NAME" : oneLine(run, 80);
  const scope = scopeOf(context, run);
  if (scope.length) return h("div", { class: "empty" }, "No evaluation passes all of these filters: take one off above.");
  return h("div", { class: "empty" }, "Nothing was judged yet. ", h("code", {}, `kernelbench run --run ${name} level1 CANDIDATES`), " judges candidates that you have, ",
    h("code", {}, `kernelbench generate --run ${name} level1 --model MODEL`), " has a model write some.");
}

function asJson(run: string | null, context: PageContext, state: State, documents: Documents): unknown {
  const { view } = state;
  const here = view && settingsOf(context.catalog, state.rows).find(({ key }) => key === settingKey(view.setting));
  const entries = rowsAsJson(context.catalog, here ? here.rows : state.rows);
  if (!view?.filtered) return { run, setting: view?.setting ?? null, score: documents.score, trajectory: documents.trajectory, entries };
  const parts = partsOf(view, "deck");
  const models = view.models.map((model) => ({
    model: model.model, ...view.setting, all: model.score,
    levels: Object.fromEntries(parts.map((part) => [part, scoreIn(view, model, "deck", part)]).filter(([, score]) => score)),
  }));
  const filters = Object.fromEntries([...context.query].filter(([key]) => filterKeys.includes(key)).map(([key]) => [key, context.query.getAll(key)]));
  return { run, setting: view.setting, filters, models, entries };
}

// What of the address decides which entries are in view.
const signature = (query: URLSearchParams): string =>
  [...query].filter(([key]) => filterKeys.includes(key) || key === "setting").map((pair) => pair.join("=")).sort(naturalOrder).join("&");

// The list of the entries of an outcome in the view's setting. A text that was rejected saw no device.
function entriesAddress(context: PageContext, run: string | null, view: RunView | null, outcome: string): string {
  const filters = filtersOf(context.query);
  const { setting } = view ?? {};
  const of: Partial<Filters> = setting
    ? { device: [deviceLabel({ kind: setting.device, name: setting.device_name }), setting.device], protocol: [setting.protocol], size: [setting.size], baseline: [setting.baseline] }
    : {};
  return addressOf("entries", [], queryOfFilters({ ...filters, ...of, ...(run === null ? {} : { run: [run] }), outcome: [outcome] }));
}

class RunPage {
  private state: State;
  private known: string;
  private catalog;
  private readonly note = h("p", { class: "muted", role: "status" });
  private readonly facts = h("div", {});
  private readonly legend = h("div", {});
  private readonly body = slots();
  private readonly list: Table<number>;
  private readonly table: HTMLElement;
  private later = 0; // a timer that draws what stands further below; 0: none
  private asking = false;

  constructor(private readonly context: PageContext, private readonly run: string | null, private documents: Documents) {
    this.state = stateOf(context, run, documents);
    this.known = signature(context.query);
    this.catalog = context.catalog;
    this.list = entriesTable(context, this.state.rows, { caption: "Evaluations", name: "entries", empty: "No evaluation passes all of these filters." });
    this.table = section("Evaluations", this.list.element);
    this.drawHead();
    this.body.show(true, this.upper());
    this.body.show(true, this.lower());
    context.onChange(() => this.update(false));
    context.offerDownload(run === null ? "results" : `run-${run || "none"}`, () => asJson(run, context, this.state, this.documents));
  }

  get title(): string {
    return this.run === null ? "Results of all runs" : `Run ${oneLine(runLabel(this.run), 120)}`;
  }

  element(): HTMLElement {
    const { context, run } = this;
    const unfiltered = () => filtersOf(new URLSearchParams(context.query.get("all") === "1" ? "all=1" : ""));
    const bar = filterBar(context, {
      keys: run === null ? ["run", ...barKeys] : barKeys,
      rows: () => {
        const { all, counting } = selectSamples(context.catalog, scopeOf(context, run), unfiltered());
        return unfiltered().all ? all : counting;
      },
      shown: () => this.state.rows.length,
    });
    return h("div", { class: "run-page" }, h("h1", {}, this.title), this.facts, bar, this.note, this.legend, this.body.element,
      this.table);
  }

  private drawHead(): void {
    const { context, run, documents, state: { view, rows } } = this;
    replace(this.facts, runFacts(context.catalog, run, documents.settings));
    this.table.hidden = !view && !rows.length; // then the page says why
    const here = view ? view.models.flatMap(({ entries }) => entries) : rows;
    replace(this.legend, outcomeLegend(countOutcomes(context.catalog, here), (key) => entriesAddress(context, run, view, key)));
    this.note.textContent = !view ? "" : view.filtered
      ? `Figures of the ${viewNote(view)} Candidates that are queued or running are in none of them.`
      : `Figures of ${viewNote(view)} They are those that kernelbench score${run === null ? "" : ` ${oneLine(run, 80)}`} prints.`;
  }

  private upper(): Slot[] {
    const { context, run, documents, body, state } = this;
    const { view } = state;
    return [
      ["setting", context.query.get("setting") ?? "", () => settingChoice(context, state)],
      ["empty", "", () => (view ? null : emptyState(context, run))],
      ...(view ? upperParts({ context, view, documents, body }) : nothing("models", "shares", "fast")),
    ];
  }

  private lower(): Slot[] {
    const { context, documents, body, state: { view } } = this;
    return view ? lowerParts({ context, view, documents, body }) : nothing("levels", "problems", "speedups", "cost", "progress", "samples");
  }

  // A part is made again when the entries in view have changed, or what of the address it shows. What stands further
  // below follows after the browser has shown the first parts. News of a live run waits for its scores.
  private update(force: boolean): void {
    const now = signature(this.context.query);
    const again = force || now !== this.known;
    if (again) {
      this.known = now;
      this.state = stateOf(this.context, this.run, this.documents);
    }
    if (again || this.catalog !== this.context.catalog) this.drawHead();
    if (!force && this.catalog !== this.context.catalog) this.refresh();
    this.catalog = this.context.catalog;
    this.body.show(again, this.upper(), force);
    if (!again && !this.later) return this.body.show(false, this.lower());
    clearTimeout(this.later);
    this.later = window.setTimeout(() => {
      this.later = 0;
      if (this.context.signal.aborted) return;
      this.list.update(this.state.rows);
      this.body.show(true, this.lower(), force);
    }, 30);
  }

  // A live run's scores are asked for again, at most every three seconds.
  private refresh(): void {
    if (this.asking) return;
    this.asking = true;
    setTimeout(() => {
      this.asking = false;
      if (this.context.signal.aborted) return;
      // The frame says when a service does not answer.
      documentsOf(this.context, this.run).then((newer) => (this.documents = newer), () => {}).finally(() => {
        if (!this.context.signal.aborted) this.update(true);
      });
    }, 3000);
  }
}

const nothing = (...names: string[]): Slot[] => names.map((name) => [name, "", () => null]);

export const makeRunPage: PageMaker = async (context) => {
  const run = context.parts.length ? context.parts[0] ?? "" : null;
  const page = new RunPage(context, run, await documentsOf(context, run));
  return { title: page.title, body: page.element() };
};
