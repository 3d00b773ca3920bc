// Rows of a file of comma-separated values, by RFC 4180.
export function parseCsv(text) {
  const rows = [[""]];
  let quoted = false;
  for (let at = 0; at < text.length; ++at) {
    const row = rows.at(-1);
    const letter = text[at];
    if (quoted && letter === '"' && text[at + 1] === '"') row[row.length - 1] += text[at++];
    else if (letter === '"') quoted = !quoted;
    else if (quoted || !",\r\n".includes(letter)) row[row.length - 1] += letter;
    else if (letter === ",") row.push("");
    else if (letter === "\n") rows.push([""]);
  }
  rows.pop();
  return rows;
}
