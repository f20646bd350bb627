import { createHash } from 'node:crypto';
import { type CallRequest, isSecretName, withoutTokens } from '@signalbox/protocol';
import { withTexts } from '@signalbox/redaction';
import { canonicalJson } from '@signalbox/tool-calls';

/** The most bytes of arguments that a person is shown. */
export const maxArgumentBytes = 64 * 1024;

/** The name beside the arguments under which a person is shown what the caller answered to questions of the tool. */
const answersName = 'signalbox/answers';

/** The answers of a caller to questions of the tool, in a further round of a call. */
export type AnsweredRound = Pick<NonNullable<CallRequest['round']>, 'input_responses' | 'request_state'>;

/** The arguments of a call that waits: a hash that tells them from all others, and their text for people. */
export interface ShownArguments {
  hash: string;
  text: string;
}

/**
 * Returns what is kept of the arguments of a call that waits. The hash is over the canonical form (RFC 8785) of all of them; the text
 * is without tokens and without the values of fields that are named like secrets. Returns a problem for arguments that are too long, or
 * have no canonical form. The answers of a further round are hashed and shown as an argument would be.
 */
export function shownArguments(
  args: Readonly<Record<string, unknown>>,
  { input_responses: answers, request_state: state }: AnsweredRound = {},
): ShownArguments | { problem: string } {
  if (Object.hasOwn(args, answersName)) return { problem: `may have no argument named '${answersName}'` };
  const seen = answers === undefined ? args : { ...args, [answersName]: answers };
  const canonical = canonicalJson(seen);
  if (canonical === undefined) return { problem: 'has arguments that are not valid Unicode' };
  if (Buffer.byteLength(canonical) > maxArgumentBytes) {
    return { problem: `may have ${maxArgumentBytes} bytes of arguments, which are shown to that person` };
  }
  const hash = createHash('sha256').update(canonical);
  if (state !== undefined) hash.update(`\n${JSON.stringify(state)}`);
  return {
    hash: hash.digest('base64url'),
    text: JSON.stringify(withTexts(withoutSecrets(seen), withoutTokens)),
  };
}

function withoutSecrets(value: unknown, isSecret = false): unknown {
  if (typeof value === 'string') return isSecret ? '[redacted]' : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, isSecret));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      withoutSecrets(inner, isSecret || isSecretName(name)),
    ]),
  );
}
