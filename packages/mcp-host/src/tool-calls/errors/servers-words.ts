const longest = 1_000;

/**
 * Makes the words of a server fit for callers and operators: on one line, without the middle of a long text, since command-line tools begin
 * with what failed and end with the cause. Of an HTML page only the title is left. It comes after the secrets were taken out: a part
 * of a secret would not be found any more.
 */
export function serversWords(redacted: string): string {
  const text = withoutPage(redacted).replaceAll(/\s+/g, ' ').trim();
  if (text.length <= longest) return text;
  const half = longest / 2;
  return `${text.slice(0, half)} […${text.length - longest} characters…] ${text.slice(-half)}`;
}

const longestRead = 128 * 1024;

/** Leaves out the middle of a very long text, far from the parts of it that {@link serversWords} shows. */
export function boundedWords(text: string): string {
  if (text.length <= longestRead) return text;
  return `${text.slice(0, longestRead / 2)} … ${text.slice(-longestRead / 2)}`;
}

/** Leaves only the title of an HTML page. Its other text may be cut by tags at any place. */
function withoutPage(text: string): string {
  const page = /^(HTTP \d+): \s*<(?:!doctype|html)/i.exec(text);
  if (!page) return text;
  const title = /<title[^<>]*>([^<]{1,300})<\/title>/i.exec(text)?.[1]?.trim();
  return title ? `${page[1]}: ${title}` : `${page[1]} with an HTML page`;
}
