// A service's events, for as long as the page is open: asked for again, ever later, when the service goes away.
import type { Catalog, Entries, RunLine, Values } from "./documents.ts";
import { DocumentError, type Service } from "./source.ts";

export interface LiveListener {
  event(name: string, data: string): void;
  // Null: it answers. Else how many seconds until it is asked again, and why.
  state(waiting: { seconds: number; why: string } | null): void;
  opened(): void; // events before this one may have been missed
}

export async function follow(service: Service, listener: LiveListener, wake: EventTarget): Promise<void> {
  for (let attempt = 0; ;) {
    let why = "The service does not answer";
    try {
      const answer = await service.open("v1/pages-events");
      listener.state(null);
      listener.opened();
      await read(answer, (name, data) => {
        attempt = 0;
        listener.event(name, data);
      });
    } catch (error) {
      if (error instanceof DocumentError && error.kind === "token") return;
      if (error instanceof DocumentError && error.kind === "other") why = error.message;
    }
    const delay = Math.min(30, 2 ** attempt++);
    await countDown(delay, wake, (seconds) => listener.state({ seconds, why }));
  }
}

// `wake` ends the wait with its event "wake".
function countDown(seconds: number, wake: EventTarget, tell: (seconds: number) => void): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(timer);
      wake.removeEventListener("wake", end);
      resolve();
    };
    const timer = setInterval(() => (--seconds > 0 ? tell(seconds) : end()), 1000);
    wake.addEventListener("wake", end);
    tell(seconds);
  });
}

async function read(answer: Response, event: (name: string, data: string) => void): Promise<void> {
  if (!answer.body) return;
  const reader = answer.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replace(/\r\n/g, "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let name = "message";
      const data: string[] = [];
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      }
      if (data.length > 0) event(name, data.join("\n"));
    }
  }
}

// A catalog with what `runs` tells, as a new object: what was derived of the old one is not of it.
export function withRuns(catalog: Catalog, lines: RunLine[]): Catalog {
  const runs = new Map(catalog.runs.map((line) => [line.run, line]));
  for (const line of lines) runs.set(line.run, line);
  return { ...catalog, runs: [...runs.values()] };
}

// And with new entries. `recounted` says of older ones, by their place, whether they count now.
export function withEntries(
  catalog: Catalog,
  more: Entries,
  values: Values,
  recounted: Record<string, boolean>,
): Catalog {
  const entries = {} as Record<string, unknown[]>;
  const old = catalog.entries as unknown as Record<string, unknown[]>;
  for (const [key, column] of Object.entries(more as unknown as Record<string, unknown[]>)) {
    entries[key] = (old[key] ?? []).concat(column);
  }
  const all = entries as unknown as Entries;
  for (const [row, counts] of Object.entries(recounted)) all.counts[Number(row)] = counts;
  return { ...catalog, entries: all, values };
}
