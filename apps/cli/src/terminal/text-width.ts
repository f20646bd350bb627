import stringWidth from 'string-width';

const printableAscii = /^[ -~]*$/;
const graphemes = new Intl.Segmenter();

/** Returns how many columns of a terminal a text takes: East Asian characters and emoji take two. */
export function textWidth(text: string): number {
  return printableAscii.test(text) ? text.length : stringWidth(text);
}

/** More UTF-16 units than characters in one column of a terminal have, but in texts made to be slow. */
const unitsPerColumn = 32;

/** Cuts a text to so many columns of a terminal; `…` stands for the rest. No character is cut in two. */
export function cutText(text: string, width: number): string {
  const head = text.slice(0, unitsPerColumn * (width + 1));
  if (head.length === text.length && textWidth(text) <= width) return text;
  let cut = '';
  let used = 1;
  for (const { segment } of graphemes.segment(head)) {
    used += textWidth(segment);
    if (used > width) break;
    cut += segment;
  }
  return `${cut}…`;
}
