import { createHmac } from 'node:crypto';
import { deepestLevel, redactorOf, withoutSecrets, withTexts } from '@signalbox/mcp-host/redaction';
import type { NamedSecret } from '@signalbox/mcp-host/tool-calls';
import { canonicalJson } from '@signalbox/mcp-host/tool-calls';
import {
  type CallRequest,
  isDeeperThan,
  isJsonObject,
  type RequestMeta,
  readJson,
  withoutTokens,
} from '@signalbox/protocol';

/** The most bytes of arguments, and of the data beside them, that a person is shown. */
export const maxArgumentBytes = 64 * 1024;

/** The name beside the arguments under which a person is shown the caller's answers to questions of the tool. */
const answersName = 'signalbox/answers';

/** The name beside the arguments under which a person is shown the state that the tool's server gave, and gets back with the answers. */
const stateName = 'signalbox/request_state';

/** The most forms of secrets in one call whose entries are looked up. */
const mostForms = 64;

/** The fields of `_meta` in which claude and codex name a call and its turn. Their values differ in each call. */
const ownFields: ReadonlySet<string> = new Set(['claudecode/toolUseId', 'x-codex-turn-metadata']);

/** The answers of a caller to questions of the tool, in a further round of a call. */
export type AnsweredRound = Pick<NonNullable<CallRequest['round']>, 'input_responses' | 'request_state'>;

/** A value that a person is shown: a hash that distinguishes it from all others, and its text without what must stay hidden. */
export interface ShownJson {
  hash: string;
  text: string;
}

/** The arguments of a waiting call. `meta` is the data that its tool's server gets beside them; absent if there is none. */
export interface ShownArguments extends ShownJson {
  meta?: ShownJson;
  /** The number of values in both that must stay hidden. */
  hidden: number;
}

/** The values that no person is shown, and the key of the hashes. */
export interface HidingRules {
  /** The secrets of hosted servers: those of the configuration, and the access tokens that were granted for it. */
  secrets: readonly NamedSecret[];
  /** Without the key nobody can find a short value by hashing guesses. */
  key: string;
}

/**
 * Returns the stored form of a waiting call's arguments. The hash covers the canonical form (RFC 8785) of all of them. The text has all
 * that the tool gets, except tokens and the secrets of `rules`: in place of each stand its length and a hash, and for a secret the entry
 * that it comes from. Returns a problem for arguments that are too long, or that have no canonical form. The answers and the state of a
 * further round are hashed and shown like arguments.
 * `meta` counts towards the length but has its own hash, because two calls that differ only there are the same call. That hash leaves out
 * the fields in which a client names each call, so that a call can equal an earlier one.
 */
export function shownArguments(
  args: Readonly<Record<string, unknown>>,
  rules: HidingRules,
  { input_responses: answers, request_state: state }: AnsweredRound = {},
  meta?: RequestMeta,
): ShownArguments | { problem: string } {
  const taken = [answersName, stateName].find((name) => Object.hasOwn(args, name));
  if (taken !== undefined) return { problem: `may have no argument named '${taken}'` };
  const seen = {
    ...args,
    ...(answers !== undefined && { [answersName]: answers }),
    ...(state !== undefined && { [stateName]: state }),
  };
  if ([seen, meta].some((data) => isDeeperThan(data, deepestLevel)))
    return {
      problem: `may have arguments of at most ${deepestLevel} levels, which are shown to that person`,
    };
  const canonical = canonicalJson(seen);
  if (canonical === undefined) return { problem: 'has arguments that are not valid Unicode' };
  const beside = meta === undefined ? '' : canonicalJson(meta);
  if (beside === undefined) return { problem: "has a '_meta' that is not valid Unicode" };
  if (Buffer.byteLength(canonical) + Buffer.byteLength(beside) > maxArgumentBytes) {
    const what = [
      'arguments',
      ...(state === undefined ? [] : [`'${stateName}'`]),
      ...(meta === undefined ? [] : ["'_meta'"]),
    ].join(' and ');
    const instead = 'send less, for example the name of a file instead of its content';
    return {
      problem: `may have ${maxArgumentBytes} bytes of ${what}, which are shown to that person; ${instead}`,
    };
  }
  let hidden = 0;
  const hide = hiderOf(rules, () => hidden++);
  const shownText = (value: unknown): string =>
    JSON.stringify(withTexts(withoutSecretNumbers(value, hide), hide));
  const whole = { hash: hashOf(rules.key, `arguments\n${canonical}`), text: shownText(seen) };
  const besides = meta !== undefined && {
    meta: { hash: hashOf(rules.key, `meta\n${canonicalJson(withoutNames(meta))}`), text: shownText(meta) },
  };
  return { ...whole, ...besides, hidden };
}

function withoutNames(meta: RequestMeta): RequestMeta {
  return Object.fromEntries(Object.entries(meta).filter(([name]) => !ownFields.has(name)));
}

/** Hides numbers whose digits are a secret: a PIN may be an argument of either type. */
function withoutSecretNumbers(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'number') {
    const digits = String(value);
    const shown = hide(digits);
    return shown === digits ? value : shown;
  }
  if (Array.isArray(value)) return value.map((one) => withoutSecretNumbers(one, hide));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withoutSecretNumbers(one, hide)]),
  );
}

/** Returns the text of shown arguments as those get it who do not decide: without values that are secrets by their name or form. */
export function redactedText(shown: string): string {
  return JSON.stringify(withoutSecrets(readJson(shown)));
}

/** Makes a function that hides what no person is shown. `onHidden` is called for each value. */
function hiderOf({ secrets, key }: HidingRules, onHidden: () => void): (text: string) => string {
  const mark = (found: string, source = ''): string => {
    onHidden();
    const hash = hashOf(key, `hidden\n${found}`).slice(0, 12);
    return `[hidden: ${[...found].length} characters, hash ${hash}${source === '' ? '' : `, ${source}`}]`;
  };
  const sourceOf = sourceFinder(secrets);
  const values = secrets.map(({ value }) => value);
  const hideSecrets = redactorOf(values, { mark: (found) => mark(found, sourceOf(found)) });
  return (text) => withoutTokens(hideSecrets(text), (token) => mark(token));
}

/**
 * Makes a function that says where a secret comes from, by the form in which it was found. Of several places it names one and counts the
 * others. Beyond {@link mostForms} it returns an empty text, so that a call with many spellings of one secret holds up no others.
 */
function sourceFinder(secrets: readonly NamedSecret[]): (found: string) => string {
  const known = new Map<string, string>();
  return (found) => {
    const before = known.get(found);
    if (before !== undefined || known.size >= mostForms) return before ?? '';
    // The longest value comes first: the others are parts of it.
    const holding = secrets
      .filter(({ value }) => redactorOf([value])(found) !== found)
      .toSorted((a, b) => b.value.length - a.value.length);
    const [first = '', ...others] = new Set(holding.map(({ source }) => source));
    const text = others.length === 0 ? first : `${first} and ${others.length} more`;
    known.set(found, text);
    return text;
  };
}

function hashOf(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}
