/** A part of a text with a form of its own. A link has an address that a browser may open, and nothing else has one. */
export type Inline =
  | { is: 'text' | 'code'; text: string }
  | { is: 'strong' | 'emphasis'; of: readonly Inline[] }
  | { is: 'link'; href: string; of: readonly Inline[] }
  | { is: 'image'; text: string; address: string };

/** A block of a text. */
export type Block =
  | { is: 'heading'; of: readonly Inline[] }
  | { is: 'paragraph'; of: readonly Inline[] }
  | { is: 'code'; text: string }
  | { is: 'rule' }
  | { is: 'quote'; of: readonly Block[] }
  | { is: 'list'; start: number | undefined; items: readonly (readonly Block[])[] }
  | { is: 'table'; rows: readonly (readonly (readonly Inline[])[])[] };

/** The longest text that is read as Markdown, and how deep its blocks and forms may be nested. The rest is text. */
const most = { length: 20_000, depth: 6 };

/**
 * Reads a text as Markdown: headings, paragraphs, lists, quotes, code, tables, rules, emphasis, links and images. Anything else, HTML among
 * it, is text. Returns `undefined` if nothing in it has a form, or it is too long.
 */
export function readMarkdown(text: string): readonly Block[] | undefined {
  if (text.length > most.length) return undefined;
  const blocks = blocksOf(text.split(lineEnd), 0);
  const isPlain = blocks.every((one) => one.is === 'paragraph' && one.of.every(({ is }) => is === 'text'));
  return isPlain ? undefined : blocks;
}

/** The ends of lines. The patterns below have no other end: `.` matches none of these. */
const lineEnd = /\r\n|[\n\r\u2028\u2029]/;

const forms = {
  fence: /^ {0,3}(`{3,}|~{3,})[^`]*$/,
  heading: /^ {0,3}#{1,6} /,
  rule: /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/,
  quote: /^ {0,3}> ?/,
  item: /^( {0,3}(?:[-*+]|(\d{1,9})[.)]) +)\S/,
  tableRule: /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/,
};

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ is: 'paragraph', of: inlinesOf(paragraph.join('\n'), 0) });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; ) {
    const found = blockAt(lines, at, depth);
    const line = lines[at]!;
    if (found) {
      endParagraph();
      blocks.push(found.block);
    } else if (line.trim() === '') endParagraph();
    else paragraph.push(line);
    at = found?.next ?? at + 1;
  }
  endParagraph();
  return blocks;
}

/** Reads the block that begins at a line, if it is none of a paragraph; `next` is the line behind it. */
function blockAt(
  lines: readonly string[],
  at: number,
  depth: number,
): { block: Block; next: number } | undefined {
  const line = lines[at]!;
  const [, fence] = forms.fence.exec(line) ?? [];
  if (fence) {
    const last = endOf(lines, at, (one) => !one.trim().startsWith(fence));
    return { block: { is: 'code', text: lines.slice(at + 1, last).join('\n') }, next: last + 1 };
  }
  if (forms.heading.test(line)) return { block: headingOf(line), next: at + 1 };
  if (forms.rule.test(line)) return { block: { is: 'rule' }, next: at + 1 };
  if (depth < most.depth && forms.quote.test(line)) {
    const next = endOf(lines, at, (one) => forms.quote.test(one));
    const inner = lines.slice(at, next).map((one) => one.replace(forms.quote, ''));
    return { block: { is: 'quote', of: blocksOf(inner, depth + 1) }, next };
  }
  if (depth < most.depth && forms.item.test(line)) return listAt(lines, at, depth);
  return tableAt(lines, at);
}

/** Reads a heading without the `#` that may close it. No pattern does, since one takes long for many spaces. */
function headingOf(line: string): Block {
  const text = line.replace(forms.heading, '').trim();
  const last = text.slice(text.lastIndexOf(' ') + 1);
  const isClosed = last.length < text.length && last === '#'.repeat(last.length);
  return { is: 'heading', of: inlinesOf(isClosed ? text.slice(0, -last.length).trimEnd() : text, 0) };
}

/** Returns the first line behind `from` that does not belong to its block. */
function endOf(lines: readonly string[], from: number, belongs: (line: string) => boolean): number {
  let end = from + 1;
  while (end < lines.length && belongs(lines[end]!)) end++;
  return end;
}

function listAt(lines: readonly string[], from: number, depth: number) {
  const items: Block[][] = [];
  const number = forms.item.exec(lines[from]!)?.[2];
  let at = from;
  for (;;) {
    const [, mark = '', ownNumber] = forms.item.exec(lines[at] ?? '') ?? [];
    if (mark === '' || (ownNumber === undefined) !== (number === undefined)) break;
    const isInner = (line: string, index: number): boolean =>
      line.startsWith(' '.repeat(mark.length)) ||
      (line.trim() === '' && (lines[index + 1] ?? '').startsWith(' '.repeat(mark.length)));
    let end = at + 1;
    while (end < lines.length && isInner(lines[end]!, end)) end++;
    const inner = lines.slice(at, end).map((line) => line.slice(mark.length));
    items.push(blocksOf(inner, depth + 1));
    // An empty line between two items does not end the list.
    at = lines[end]?.trim() === '' && forms.item.test(lines[end + 1] ?? '') ? end + 1 : end;
  }
  const start = number === undefined ? undefined : Number(number);
  return { block: { is: 'list' as const, start, items }, next: at };
}

function tableAt(lines: readonly string[], at: number): { block: Block; next: number } | undefined {
  if (!lines[at]!.includes('|') || !forms.tableRule.test(lines[at + 1] ?? '')) return undefined;
  const next = endOf(lines, at + 1, (line) => line.includes('|'));
  const rows = [lines[at]!, ...lines.slice(at + 2, next)].map((line) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => inlinesOf(cell.trim(), 0)),
  );
  return { block: { is: 'table', rows }, next };
}

/** The marks of forms inside a line, the longer ones first. */
const marks = ['**', '__', '*', '_', '`', '![', '['] as const;

function inlinesOf(text: string, depth: number): Inline[] {
  const parts: Inline[] = [];
  let plain = '';
  const add = (part: Inline): void => {
    if (plain !== '') parts.push({ is: 'text', text: plain });
    plain = '';
    parts.push(part);
  };
  for (let at = 0; at < text.length; ) {
    const mark = depth < most.depth ? marks.find((one) => text.startsWith(one, at)) : undefined;
    const found = mark && inlineAt(text, at, mark, depth);
    if (found) {
      add(found.part);
      at = found.next;
    } else if (text[at] === '\\' && /[\\`*_[\]!#>|-]/.test(text[at + 1] ?? '')) {
      plain += text[at + 1];
      at += 2;
    } else {
      const { length } = mark ?? 'x';
      plain += text.slice(at, at + length);
      at += length;
    }
  }
  if (plain !== '') parts.push({ is: 'text', text: plain });
  return parts;
}

function inlineAt(
  text: string,
  at: number,
  mark: (typeof marks)[number],
  depth: number,
): { part: Inline; next: number } | undefined {
  if (mark === '[' || mark === '![') return linkAt(text, at, mark, depth);
  const from = at + mark.length;
  const end = text.indexOf(mark, from + 1);
  const inner = end < 0 ? '' : text.slice(from, end);
  if (inner === '' || inner.includes('\n\n')) return undefined;
  const next = end + mark.length;
  if (mark === '`') return { part: { is: 'code', text: inner }, next };
  // Emphasis begins and ends at a word, and `_` not within one: snake_case and 2 * 3 * 4 are no emphasis.
  const isWithin = mark.startsWith('_') && (/\w/.test(text[at - 1] ?? '') || /\w/.test(text[next] ?? ''));
  if (isWithin || /^\s|\s$/.test(inner)) return undefined;
  return {
    part: { is: mark.length === 2 ? 'strong' : 'emphasis', of: inlinesOf(inner, depth + 1) },
    next,
  };
}

function linkAt(text: string, at: number, mark: '[' | '![', depth: number) {
  const from = at + mark.length;
  const middle = text.indexOf('](', from);
  const end = middle < 0 ? -1 : text.indexOf(')', middle);
  if (end < 0) return undefined;
  const label = text.slice(from, middle);
  const address = text.slice(middle + 2, end).trim();
  const next = end + 1;
  if (label.includes('\n') || /\s/.test(address)) return undefined;
  if (mark === '![') return { part: { is: 'image' as const, text: label, address }, next };
  const href = webAddress(address);
  if (href === undefined) return undefined;
  return { part: { is: 'link' as const, href, of: inlinesOf(label, depth + 1) }, next };
}

/** Returns an address of the web in its full form; `undefined` for any other, such as one of a script. */
function webAddress(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  return new URL(address).href;
}
