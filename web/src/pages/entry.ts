// One evaluation: the verdict and why on the first screen, and all that is known below.
import type { JsonObject } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import { headPart } from "../entry/head.ts";
import { resultPart } from "../entry/result.ts";
import { codePart } from "../entry/code.ts";
import { conversationPart } from "../entry/conversation.ts";
import { jobPage } from "../entry/job.ts";
import { loadEntry } from "../entry/loads.ts";
import { textAt } from "../entry/read.ts";
import { settingPart } from "../entry/setting.ts";
import type { Page, PageContext } from "../page.ts";
import { addressOf } from "../router.ts";
import { problemTitle } from "../rows.ts";
import { oneLine } from "../text.ts";

const kTabs: { key: string; title: string; make: (context: PageContext, entry: JsonObject) => Promise<Node> }[] = [
  { key: "", title: "Result", make: resultPart },
  { key: "code", title: "Code", make: codePart },
  { key: "made", title: "How it was made", make: conversationPart },
  { key: "setting", title: "Setting, judging again", make: async (_, entry) => settingPart(entry) },
];

export async function makeEntryPage(context: PageContext): Promise<Page> {
  const id = context.parts[0] ?? "";
  if (id.startsWith("job-")) return jobPage(context, id);
  const entry = await loadEntry(context, id);
  context.offerDownload(`entry-${id}`, () => entry);
  const problem = textAt(entry, "problem");
  const tabs = tabbed(context, entry);
  return {
    title: oneLine(
      `${problem} ${problemTitle(context.catalog, problem)}, ${textAt(entry, "verdict").replaceAll("_", " ")}`,
      120,
    ),
    body: h("div", { class: "entry" }, headPart(context, entry), tabs),
  };
}

// Each part is made when it is first opened and stays as it was left.
function tabbed(context: PageContext, entry: JsonObject): Child {
  const bodies = new Map<string, HTMLElement>();
  const links = new Map<string, HTMLAnchorElement>();
  const nav = h("nav", { class: "entry-tabs", "aria-label": "Parts of this entry" });
  const box = h("div", { class: "tab-box" });
  for (const { key, title } of kTabs) {
    const href = addressOf("entry", context.parts, key === "" ? {} : { tab: key });
    const link = h("a", { href }, title);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      context.setQuery({ tab: key === "" ? null : key }, true);
    });
    links.set(key, link);
    nav.append(link);
  }
  const show = () => {
    const wanted = context.query.get("tab") ?? "";
    const tab = kTabs.find((each) => each.key === wanted) ?? kTabs[0]!;
    for (const [key, link] of links) {
      if (key === tab.key) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    let body = bodies.get(tab.key);
    if (body === undefined) {
      body = h("div", {}, h("p", { class: "muted" }, "Loading …"));
      bodies.set(tab.key, body);
      void fill(body, () => tab.make(context, entry));
    }
    if (box.firstChild !== body) box.replaceChildren(body);
  };
  context.onChange(show);
  show();
  const others = `On paper is the part that is open. The parts are ${kTabs.map(({ title }) => title).join("; ")}: open another and print it.`;
  return [nav, h("p", { class: "muted on-paper" }, others), box];
}

async function fill(body: HTMLElement, make: () => Promise<Node>): Promise<void> {
  try {
    replace(body, await make());
  } catch (error) {
    console.error(error);
    replace(
      body,
      h(
        "p",
        { role: "alert" },
        `This part cannot be shown: ${error instanceof Error ? error.message : String(error)} `,
        h("button", { type: "button", onclick: () => void fill(body, make) }, "Try again"),
      ),
    );
  }
}
