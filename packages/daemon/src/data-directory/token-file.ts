import { readFileSync } from 'node:fs';
import { parseTokenFile, type TokenFile, tokenFault } from '@signalbox/protocol/names';
import { messageOf, SignalboxError } from '@signalbox/protocol/signalbox-error';

/** Reads a token file. Throws `usage` if the file cannot be read or holds no single token. */
export function readTokenFile(file: string): TokenFile {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') {
      throw new SignalboxError('usage', `there is no token file ${file}`, {
        cause,
        details: {
          hint: `an operator makes one with: signalbox token issue --agent NAME --role ROLE --out ${file}`,
        },
      });
    }
    throw new SignalboxError('usage', `the token file ${file} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  }
  return tokenInText(text, `the token file ${file}`);
}

/** Reads the text of a token file. Throws `usage` for any other text, and never repeats it; `where` names the place of the text. */
export function tokenInText(text: string, where: string): TokenFile {
  const file = parseTokenFile(text);
  const fault = file && tokenFault(file.token);
  if (file && fault === undefined) return file;
  const problem = fault ?? (text.trim() === '' ? 'is empty' : 'does not hold one token');
  throw new SignalboxError('usage', `${where} ${problem}`, {
    details: {
      hint: 'a token is one line, as signalbox token issue --out FILE writes it; a second line may hold the address of the broker',
    },
  });
}
