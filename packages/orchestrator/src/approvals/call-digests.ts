import { createHash } from 'node:crypto';
import { type CallRequest, type RequestMeta, withoutTokens } from '@signalbox/protocol';
import { isSecretName } from '@signalbox/protocol/internal';
import { withTexts } from '@signalbox/redaction';
import { canonicalJson } from '@signalbox/tool-calls';

/** The most bytes of arguments, and of the data beside them, that a person is shown. */
export const maxArgumentBytes = 64 * 1024;

/** The name beside the arguments under which a person is shown the caller's answers to questions of the tool. */
const answersName = 'signalbox/answers';

/** The answers of a caller to questions of the tool, in a further round of a call. */
export type AnsweredRound = Pick<NonNullable<CallRequest['round']>, 'input_responses' | 'request_state'>;

/** A value that a person is shown: a hash that distinguishes it from all others, and its text without secrets. */
export interface ShownJson {
  hash: string;
  text: string;
}

/** The arguments of a waiting call. `meta` is the data that its tool's server gets beside them; absent if there is none. */
export interface ShownArguments extends ShownJson {
  meta?: ShownJson;
}

/**
 * Returns the stored form of a waiting call's arguments. The hash covers the canonical form (RFC 8785) of all of them; the text has no
 * tokens, and no values of fields that are named like secrets. Returns a problem for arguments that are too long, or that have no canonical
 * form. The answers of a further round are hashed and shown like an argument. `meta` counts towards the length but has its own hash,
 * because two calls that differ only there are the same call.
 */
export function shownArguments(
  args: Readonly<Record<string, unknown>>,
  { input_responses: answers, request_state: state }: AnsweredRound = {},
  meta?: RequestMeta,
): ShownArguments | { problem: string } {
  if (Object.hasOwn(args, answersName)) return { problem: `may have no argument named '${answersName}'` };
  const seen = answers === undefined ? args : { ...args, [answersName]: answers };
  const canonical = canonicalJson(seen);
  if (canonical === undefined) return { problem: 'has arguments that are not valid Unicode' };
  const beside = meta === undefined ? '' : canonicalJson(meta);
  if (beside === undefined) return { problem: "has a '_meta' that is not valid Unicode" };
  if (Buffer.byteLength(canonical) + Buffer.byteLength(beside) > maxArgumentBytes) {
    const what = meta === undefined ? 'arguments' : "arguments and '_meta'";
    const instead = 'send less, for example the name of a file instead of its content';
    return {
      problem: `may have ${maxArgumentBytes} bytes of ${what}, which are shown to that person; ${instead}`,
    };
  }
  const hash = createHash('sha256').update(canonical);
  if (state !== undefined) hash.update(`\n${JSON.stringify(state)}`);
  return {
    hash: hash.digest('base64url'),
    text: shownText(seen),
    ...(meta !== undefined && {
      meta: { hash: createHash('sha256').update(beside).digest('base64url'), text: shownText(meta) },
    }),
  };
}

function shownText(value: unknown): string {
  return JSON.stringify(withTexts(withoutSecrets(value), withoutTokens));
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
