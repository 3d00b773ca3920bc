// The settings that entries were judged in: device, protocol, size and baseline, which no figure mixes.
import type { Catalog } from "./documents.ts";
import { h } from "./dom.ts";
import type { PageContext } from "./page.ts";
import { addressOf } from "./router.ts";
import { settingKey, settingLabel, settingOf, verdictOf, type Setting } from "./samples.ts";
import { formatCount, oneLine, plural } from "./text.ts";

export interface SettingChoice {
  key: string;
  label: string;
  setting: Setting;
  rows: number[];
}

// Those with the most entries first. A text that was rejected saw no device: it is among the entries of each device by
// the same rules.
export function settingsOf(catalog: Catalog, rows: Iterable<number>): SettingChoice[] {
  const { entries } = catalog;
  const choices = new Map<string, SettingChoice>();
  const known = new Map<string, SettingChoice>();
  for (const row of rows) {
    const quick = [entries.device[row], entries.protocol[row], entries.size[row], entries.baseline[row]].join();
    let choice = known.get(quick);
    if (!choice) {
      const setting = settingOf(catalog, row);
      const key = settingKey(setting);
      choice = choices.get(key) ?? { key, label: settingLabel(setting), setting, rows: [] };
      choices.set(key, choice);
      known.set(quick, choice);
    }
    choice.rows.push(row);
  }
  const all = [...choices.values()];
  const somewhere = all.filter((choice) => choice.setting.device_name !== "");
  if (somewhere.length === 0) return all;
  for (const nowhere of all.filter((choice) => choice.setting.device_name === "")) {
    for (const choice of somewhere) {
      if (settingKey({ ...choice.setting, device_name: "" }) === nowhere.key)
        choice.rows = [...choice.rows, ...nowhere.rows];
    }
  }
  return somewhere.sort((a, b) => b.rows.length - a.rows.length);
}

// The place of each setting among all that there are, that with the most entries first. Filters do not change it, so that
// the setting that is shown stays while it has anything.
export function settingOrder(catalog: Catalog, rows: Iterable<number>): (key: string) => number {
  const places = new Map(settingsOf(catalog, rows).map(({ key }, at) => [key, at]));
  return (key) => places.get(key) ?? places.size;
}

// Says that the setting that was asked for, or the first, has nothing that passes the filters, so that another is shown.
export function settingNotice(emptied: string | null, shown: Setting | null): string | null {
  return emptied === null || shown === null
    ? null
    : `Nothing in ${emptied} passes these filters. Shown instead: ${settingLabel(shown)}.`;
}

// What ended before a device was looked at, where nothing else of its run and model says on which device it counts.
// What the engine failed at is told elsewhere.
export function nowhereNotice(catalog: Catalog, rows: number[], device: string): HTMLElement | null {
  const count = rows.filter((row) => verdictOf(catalog, row) !== "infrastructure").length;
  if (count === 0) return null;
  const one = count === 1;
  return h(
    "p",
    { class: "notice" },
    h(
      "a",
      { href: addressOf("entries", [], { device }) },
      `${plural(count, "evaluation")} ended before a device was looked at`,
    ),
    ` and ${one ? "counts" : "count"} in none of these figures: nothing else of ${one ? "its" : "their"} run and model was judged on a device by the same rules.`,
  );
}

// That of the address, or the first.
export function chosenSetting(context: PageContext, choices: SettingChoice[]): SettingChoice | undefined {
  return choices.find((choice) => choice.key === context.query.get("setting")) ?? choices[0];
}

export function select(
  context: PageContext,
  label: string,
  key: string,
  options: [string, string][],
  value: string,
): HTMLElement {
  return h(
    "label",
    {},
    `${label} `,
    h(
      "select",
      {
        onchange: (event: Event) =>
          context.setQuery({ [key]: (event.target as HTMLSelectElement).value || null, page: null }, true),
      },
      options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)),
    ),
  );
}

export function settingSelect(context: PageContext, choices: SettingChoice[], chosen: SettingChoice): HTMLElement {
  return select(
    context,
    "Setting",
    "setting",
    choices.map((choice) => [choice.key, `${oneLine(choice.label)} (${formatCount(choice.rows.length)})`]),
    chosen.key,
  );
}
