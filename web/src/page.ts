// What a page is to the frame around it. A page's address is "#/NAME/PART...?filters": its parts and its query are all
// of its state, so that it is the same after a reload.
import type { Catalog } from "./documents.ts";
import type { Source } from "./source.ts";

export interface PageContext {
  source: Source;
  readonly catalog: Catalog; // the newest
  parts: string[]; // decoded, without the page's name
  readonly query: URLSearchParams;
  signal: AbortSignal; // aborted when the page is left
  // Changes the query in place, without a new entry in the browser's history unless `push`; null or an empty list
  // removes a key.
  setQuery(changes: Record<string, string | string[] | null>, push?: boolean): void;
  // Called after the query changed and when a service has told of something new, until the page is left.
  onChange(listener: () => void): void;
  // What "Download JSON" saves: that which is shown now. `name` without ".json".
  offerDownload(name: string, make: () => unknown): void;
}

export interface Page {
  title: string;
  body: HTMLElement;
}

// Throws DocumentError where a document is missing: the frame says so.
export type PageMaker = (context: PageContext) => Promise<Page>;
