const vowel = /[aeiouy]/;
const doubled = /([^aeiouylsz])\1$/;

/**
 * Removes the ending of an English word, so that `merges`, `merged` and `merging` have the same stem. A stem serves
 * only for comparing and need not be a word. Text with anything but the letters a to z stays as it is.
 */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const stem = withoutTense(singular(word));
  const open = stem.endsWith('e') && stem.length > 3 ? stem.slice(0, -1) : stem;
  return open.endsWith('y') ? `${open.slice(0, -1)}i` : open;
}

function singular(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

/** Turns `stopped` and `stopping` into `stop`. A word keeps its ending if the rest has no vowel. */
function withoutTense(word: string): string {
  const stem = /^(.{3,}?)(?:ing|ed)$/.exec(word)?.[1];
  if (stem === undefined || !vowel.test(stem)) return word;
  return doubled.test(stem) ? stem.slice(0, -1) : stem;
}
