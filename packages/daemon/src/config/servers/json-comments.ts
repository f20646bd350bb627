/**
 * Replaces comments in JSON text by blanks, so that every line and column stays where it is. Strings are not changed; a
 * comment without an end reaches to the end of the text.
 */
export function blankComments(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\r\n]/g, ' '),
  );
}
