// The machine: its devices and how well they measure, what waits, and what `doctor` says of it.
import { documentNames, type Json, type JsonObject, type MachineDocument } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { runLabel } from "../rows.ts";
import { addressOf } from "../router.ts";
import { DocumentError } from "../source.ts";
import { plainTable } from "../table.ts";
import { dateElement, formatBytes, formatCount, formatNumber, formatShare, none, oneLine, plural } from "../text.ts";
import { withCode } from "../messages.ts";

const object = (of: Json | undefined): JsonObject | null =>
  typeof of === "object" && of !== null && !Array.isArray(of) ? of : null;
const list = (of: Json | undefined): JsonObject[] =>
  Array.isArray(of) ? of.filter((each): each is JsonObject => object(each) !== null) : [];
const word = (of: Json | undefined): string => (typeof of === "string" ? of : "");
const words = (of: Json | undefined): string =>
  of === null || of === undefined ? none : typeof of === "string" ? oneLine(of, 300) : oneLine(JSON.stringify(of), 300);

export const makeMachinePage: PageMaker = async (context) => {
  let machine = await read(context);
  const body = h("div", {});
  const draw = () =>
    replace(
      body,
      h("h1", {}, "Machine"),
      machine.live
        ? h("p", { class: "muted" }, "As the service sees it, ", dateElement(machine.made), ".")
        : h(
            "p",
            { class: "notice" },
            "Not live: this is the machine on which these pages were written, ",
            dateElement(machine.made),
            ".",
          ),
      queue(context, machine),
      devices(machine.devices),
      doctor(machine.doctor, machine.service === null ? null : askDoctor),
    );
  const askDoctor = async () => {
    machine = { ...machine, doctor: object(await context.source.document(documentNames.doctor())) };
    if (!context.signal.aborted) draw();
  };
  draw();
  let reading = false;
  context.onChange(() => {
    if (!machine.live || reading) return;
    reading = true;
    read(context)
      .then(
        (next) => {
          machine = next;
          if (!context.signal.aborted && !body.contains(document.activeElement)) draw();
        },
        (error: unknown) => {
          if (!(error instanceof DocumentError)) throw error;
        },
      )
      .finally(() => (reading = false));
  });
  context.offerDownload("machine", () => machine);
  return { title: "Machine", body };
};

const read = async (context: PageContext) =>
  (await context.source.document(documentNames.machine())) as unknown as MachineDocument;

function queue(context: PageContext, machine: MachineDocument): Child {
  const lines = context.catalog.runs.filter((line) => line.jobs.queued + line.jobs.running > 0);
  const sum = (key: "queued" | "running") => lines.reduce((total, line) => total + line.jobs[key], 0);
  const identity = object(machine.service?.["identity"]);
  const open = machine.service?.["open"];
  const queued = object(machine.service?.["queue"]);
  const ended = byCount(object(machine.service?.["ended"]));
  const figure = (value: string, name: string) =>
    h("li", {}, h("span", { class: "value" }, value), h("span", { class: "name" }, name));
  return h(
    "section",
    {},
    h("h2", {}, "Queue"),
    h(
      "ul",
      { class: "figures" },
      figure(formatCount(sum("running")), "running"),
      figure(formatCount(sum("queued")), "queued"),
      typeof open === "number" && figure(formatCount(open), `evaluations that clients wait for${byCount(queued, ": ")}`),
    ),
    ended !== "" && h("p", { class: "muted" }, `Clients' evaluations since the service began: ${ended}.`),
    lines.length === 0
      ? h("p", { class: "muted" }, "No run waits for anything.")
      : plainTable(
          "Runs that wait",
          ["Run", "Running", "Queued", "Judged now"],
          [1, 2],
          lines.map((line) => [
            h("a", { href: addressOf("run", [line.run]) }, oneLine(runLabel(line.run), 60)),
            formatCount(line.jobs.running),
            formatCount(line.jobs.queued),
            line.judging.map((job) => oneLine(`${job.problem} ${job.candidate}`, 60)).join(", ") || none,
          ]),
        ),
    identity && [
      h("h3", {}, "Service"),
      h(
        "dl",
        { class: "facts" },
        [h("dt", {}, "process"), h("dd", {}, words(machine.service?.["pid"]))],
        Object.entries(identity).map(([name, value]) => [h("dt", {}, oneLine(name, 60)), h("dd", {}, words(value))]),
      ),
    ],
  );
}

// "12 correct, 3 incorrect"; "" where there is none.
function byCount(counts: JsonObject | null, before = ""): string {
  const some = Object.entries(counts ?? {}).filter(([, count]) => typeof count === "number" && count > 0);
  const texts = some.map(([name, count]) => `${formatCount(count as number)} ${oneLine(name.replaceAll("_", " "), 60)}`);
  return texts.length === 0 ? "" : before + texts.join(", ");
}

// What is known of a device, with units; keys that have no words here come after these as they are.
const known: Record<string, [string, (value: Json) => string]> = {
  kind: ["kind", words],
  cores: ["cores in use", (value) => (typeof value === "number" ? formatCount(value) : words(value))],
  seat: ["seats", seat],
  memory: ["memory", bytes],
  last_level_cache: ["last-level cache", bytes],
  copy_gb_s: [
    "copying, measured",
    (value) => (typeof value === "number" ? `${formatNumber(value)} GB/s` : words(value)),
  ],
  rates: [
    "arithmetic, measured",
    (value) =>
      Object.entries(object(value) ?? {})
        .map(
          ([precision, rate]) => `${precision} ${typeof rate === "number" ? formatNumber(rate) : words(rate)} TFLOP/s`,
        )
        .join(", ") || none,
  ],
  flush: ["a call finds cold", words],
  compute_capability: ["compute capability", words],
  cuda: ["CUDA", words],
  torch: ["PyTorch", words],
  python: ["Python", words],
  compiler: ["compiler", words],
};

function bytes(value: Json): string {
  return typeof value === "number" ? formatBytes(value) : words(value);
}

// The cores of judge, runner and reference, and their nice.
function seat(value: Json): string {
  const of = object(value);
  const cores = object(of?.["cores"]);
  const where =
    cores === null
      ? "judge, runner and reference share all cores"
      : Object.entries(cores)
          .map(([side, at]) => `${side} on ${Array.isArray(at) ? at.join(", ") : words(at)}`)
          .join("; ");
  return `${where}; nice ${words(of?.["nice"])}`;
}

function devices(all: JsonObject[]): Child {
  return h(
    "section",
    {},
    h("h2", {}, "Devices"),
    all.length === 0 &&
      h(
        "div",
        { class: "empty" },
        "No device has judged anything here yet: ",
        h("code", {}, "kernelbench doctor"),
        " says what this machine lacks.",
      ),
    h(
      "div",
      { class: "columns" },
      all.map((device) =>
        h(
          "section",
          { class: "card" },
          h("h3", {}, words(device["name"])),
          h(
            "dl",
            { class: "facts" },
            Object.entries(known)
              .filter(([key]) => device[key] !== undefined && device[key] !== null)
              .map(([key, [title, show]]) => [h("dt", {}, title), h("dd", {}, show(device[key]!))]),
            Object.entries(device)
              .filter(([key, value]) => !(key in known) && key !== "name" && key !== "calibration" && value !== null)
              .map(([key, value]) => [h("dt", {}, oneLine(key.replaceAll("_", " "), 60)), h("dd", {}, words(value))]),
            h("dt", {}, "calibration"),
            h("dd", {}, calibration(device)),
          ),
        ),
      ),
    ),
  );
}

// By how much a ratio may be wrong here whatever the number of rounds: of the time, and of the ratio.
function calibration(device: JsonObject): Child {
  const of = object(device["calibration"]);
  if (of === null)
    return withCode(
      `none of its own: floors of the kind's default hold. \`kernelbench doctor --calibrate --device ${device["kind"] === "cpu" ? "cpu" : "cuda"}\` measures them`,
    );
  const floor = (key: string) => {
    const each = object(of[key]);
    const us = each?.["us"];
    const relative = each?.["relative"];
    return (
      each &&
      `${key} candidates: ${typeof us === "number" ? `${formatNumber(us)} µs` : none} and ${typeof relative === "number" ? formatShare(relative, 2) : none} of the ratio`
    );
  };
  const told = [floor("native"), floor("module")].filter(Boolean).join("; ");
  const origin = word(of["origin"]);
  return [told || words(of), origin !== "" && h("span", { class: "muted" }, `, from ${oneLine(origin, 200)}`)];
}

// Asks when it is pressed, and says why where that fails.
function askButton(ask: () => Promise<void>, label: string): HTMLElement {
  const said = h("span", { class: "muted", role: "status" });
  const button = h(
    "button",
    {
      type: "button",
      onclick: () => {
        button.disabled = true;
        replace(said, " This takes some seconds…");
        ask()
          .catch((error: unknown) => {
            if (!(error instanceof DocumentError)) throw error;
            replace(said, ` ${oneLine(error.message, 300)}`);
          })
          .finally(() => (button.disabled = false));
      },
    },
    label,
  );
  return h("p", {}, button, said);
}

// `ask` is null where nobody can be asked.
function doctor(of: JsonObject | null, ask: (() => Promise<void>) | null): Child {
  if (of === null)
    return h(
      "section",
      {},
      h("h2", {}, "Doctor"),
      h("p", { class: "muted" }, "Not asked. ", h("code", {}, "kernelbench doctor"), " tells on the machine itself."),
      ask && askButton(ask, "Ask now"),
    );
  const backends = list(of["backends"]);
  const checks = list(of["checks"]);
  const probes = list(of["probes"]);
  const bad = checks.filter((check) => check["state"] !== "ok");
  const open = probes.filter((probe) => probe["holds"] !== true);
  const check = (each: JsonObject): Child[] => [
    state(word(each["state"])),
    words(each["group"]),
    words(each["name"]),
    oneLine(word(each["detail"]), 300),
    oneLine(word(each["remedy"]), 300),
  ];
  return h(
    "section",
    {},
    h("h2", {}, "Doctor"),
    h(
      "p",
      {},
      of["healthy"] === true ? state("ok", "healthy") : state("missing", "something is missing"),
      `, isolation by ${words(of["isolation"])}: `,
      `${plural(probes.length - open.length, "attempt")} of ${formatCount(probes.length)} to break out failed, as they must.`,
    ),
    ask && askButton(ask, "Ask again"),
    bad.length > 0 && [
      h("h3", {}, "What to mend"),
      plainTable("Checks that are not in order", ["State", "Of", "Check", "Found", "Remedy"], [], bad.map(check)),
    ],
    open.length > 0 && [
      h("h3", {}, "Barriers that do not hold"),
      plainTable(
        "Barriers that do not hold",
        ["Barrier", "From", "What must not work", "Found"],
        [],
        open.map((probe) => [
          words(probe["barrier"]),
          words(probe["runner"]),
          words(probe["forbidden"]),
          oneLine(word(probe["detail"]), 300),
        ]),
      ),
    ],
    h("h3", {}, "Backends"),
    plainTable(
      "Backends",
      ["Backend", "Judged", "With, or lacks"],
      [],
      backends.map((backend) => [
        words(backend["backend"]),
        backend["judged"] === true ? state("ok", "yes") : state("off", "no"),
        backend["judged"] === true
          ? words(backend["with"])
          : Array.isArray(backend["lacks"])
            ? backend["lacks"].map((each) => oneLine(String(each), 300)).join("; ")
            : none,
      ]),
    ),
    h(
      "details",
      {},
      h("summary", {}, `All ${plural(checks.length, "check")}`),
      plainTable("Checks", ["State", "Of", "Check", "Found", "Remedy"], [], checks.map(check)),
    ),
    h(
      "details",
      {},
      h("summary", {}, `All ${plural(probes.length, "attempt")} to break out`),
      plainTable(
        "Attempts",
        ["Holds", "Barrier", "From", "What must not work", "Found"],
        [],
        probes.map((probe) => [
          probe["holds"] === true ? state("ok", "yes") : state("missing", "no"),
          words(probe["barrier"]),
          words(probe["runner"]),
          words(probe["forbidden"]),
          oneLine(word(probe["detail"]), 300),
        ]),
      ),
    ),
  );
}

const marks: Record<string, string> = { ok: "✓", warning: "!", missing: "✗", off: "–" };
const state = (key: string, label = key): HTMLElement =>
  h("span", { class: `check-${key in marks ? key : "warning"}` }, `${marks[key] ?? "!"} ${label}`);
