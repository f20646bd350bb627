import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const printableAscii = /^[ -~]*$/;

/** Returns how many columns of a terminal a text takes: East Asian characters and emoji take two. */
export function textWidth(text: string): number {
  return printableAscii.test(text) ? text.length : stringWidth(text);
}

/** Loads the library only for a text that needs it: the emoji that it knows take 30 ms, a sixth of a short command. */
function stringWidth(text: string): number {
  const { default: width } = require('string-width') as typeof import('string-width');
  return width(text);
}

/** The most UTF-16 units for one column of a terminal. Only texts that are made to be slow have more. */
const unitsPerColumn = 32;

/** Cuts a text to so many columns of a terminal; `…` stands for the rest. No character is cut in two. */
export function cutText(text: string, width: number): string {
  const head = text.slice(0, unitsPerColumn * (width + 1));
  if (head.length === text.length && textWidth(text) <= width) return text;
  let cut = '';
  let used = 1;
  for (const { segment } of new Intl.Segmenter().segment(head)) {
    used += textWidth(segment);
    if (used > width) break;
    cut += segment;
  }
  return `${cut}…`;
}
