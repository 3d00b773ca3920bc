// The catalog of a source, kept new by a service's events.
import type { Catalog, Entries, Json, RunLine, Values } from "./documents.ts";
import { follow, withEntries, withRuns } from "./live.ts";
import { catalogName, DocumentError, type Service, type Source } from "./source.ts";

export interface CatalogListener {
  changed(): void;
  state(waiting: { seconds: number; why: string } | null): void;
}

export class CatalogStore {
  private constructor(
    readonly source: Source,
    private current: Catalog,
  ) {}

  static async load(source: Source): Promise<CatalogStore> {
    return new CatalogStore(source, checked(await source.document(catalogName)));
  }

  get catalog(): Catalog {
    return this.current;
  }

  // Does nothing but for a service.
  follow(listener: CatalogListener, wake: EventTarget): void {
    if (this.source.kind !== "service") return;
    let first = true;
    void follow(
      this.source as Service,
      {
        state: listener.state,
        opened: () => {
          if (!first) void this.reload(listener);
          first = false;
        },
        event: (name, data) => this.apply(name, data, listener),
      },
      wake,
    );
  }

  private apply(name: string, data: string, listener: CatalogListener): void {
    const event = JSON.parse(data) as { runs?: RunLine[]; sequence?: number; entries?: Entries; values?: Values; recounted?: Record<string, boolean> };
    if (name === "runs" && event.runs) {
      this.current = withRuns(this.current, event.runs);
    } else if (name === "entries" && event.entries && event.values) {
      const known = new Set(this.current.entries.id.slice(-1000));
      if (event.entries.id.some((id) => known.has(id))) return void this.reload(listener);
      this.current = withEntries(this.current, event.entries, event.values, event.recounted ?? {});
      if (event.sequence !== undefined && event.sequence !== this.current.entries.id.length)
        return void this.reload(listener);
    } else {
      return;
    }
    listener.changed();
  }

  private reloading: Promise<void> | null = null;

  // At most one at a time; failures are the events' to tell.
  private reload(listener: CatalogListener): Promise<void> {
    this.reloading ??= this.source
      .document(catalogName)
      .then((document) => {
        this.current = checked(document);
        listener.changed();
      })
      .catch(() => {})
      .finally(() => (this.reloading = null));
    return this.reloading;
  }
}

function checked(document: Json): Catalog {
  const schema =
    typeof document === "object" && document !== null && !Array.isArray(document) ? document["schema"] : undefined;
  if (schema !== 1) {
    throw new DocumentError(
      "other",
      `These documents have schema ${JSON.stringify(schema) ?? "none"}, and this page reads schema 1: ` +
        "they were written by another version of the program. Write them anew with `kernelbench site` or " +
        "`kernelbench report`, or open the page of the service itself.",
    );
  }
  return document as unknown as Catalog;
}
