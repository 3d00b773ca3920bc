// Addresses: "#/NAME/PART/PART?key=value".
export interface Address {
  page: string;
  parts: string[];
  query: URLSearchParams;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const [page = "", ...parts] = path.split("/").map(decode);
  return {
    page,
    parts: parts.filter((part) => part !== ""),
    query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)),
  };
}

export function addressOf(
  page: string,
  parts: string[] = [],
  query: URLSearchParams | Record<string, string> = {},
): string {
  const search = new URLSearchParams(query).toString();
  return `#/${[page, ...parts].map(encodeURIComponent).join("/")}${search === "" ? "" : "?" + search}`;
}
