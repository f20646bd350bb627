import { readFileSync } from 'node:fs';
import { messageOf, SignalboxError } from '@signalbox/protocol';

/** Reads the token in a file, without the line end. Throws `usage` if the file cannot be read or holds no single token. */
export function readTokenFile(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SignalboxError('usage', `the token file ${file} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  }
  return tokenInText(text, `the token file ${file}`);
}

/**
 * Returns the one word that a token is, without what an editor put around it. Throws `usage` for any other text, and never
 * repeats it; `where` names the place of the text.
 */
export function tokenInText(text: string, where: string): string {
  const token = text.trim();
  if (/^[!-~]{1,256}$/.test(token)) return token;
  throw new SignalboxError('usage', token === '' ? `${where} is empty` : `${where} does not hold one token`, {
    details: { hint: 'a token is one line, as signalbox token issue --out FILE writes it' },
  });
}
