import { isDeepStrictEqual } from 'node:util';
import { isExactNumber, parseJson } from '@signalbox/protocol';
import { credentialsIn, withoutCredentials } from './credential-shapes.ts';
import { withTexts } from './json-texts.ts';
import { shortestSecret } from './redact.ts';
import { isSecretName } from './secret-name.ts';
import { secretsOfHeader, secretsOfUrls, withoutUrlSecrets } from './secrets.ts';

/**
 * Says of a value which part of it is a secret: all of it (`true`), nothing (`false`), or the parts that came from a variable or a file.
 */
export type SecretMark = boolean | readonly string[];

/** The reason why a value is a secret. */
export type SecretReason = 'marked' | 'reference' | 'name' | 'form';

/** The secrets in a value. Without a reason there are none. `isMarked` is true if its owner has decided whether it is one. */
export interface JudgedValue {
  reason: SecretReason | undefined;
  secrets: string[];
  isMarked: boolean;
}

/**
 * Decides which parts of a value are secrets. This is the rule of the whole product: a secret is what its owner marked so, what came from a
 * variable or a file, what has a name that means a secret, what has the form of a credential, and the user part of a URL. Nothing is a
 * secret that its owner marked as none.
 */
export function judgeValue(
  value: { text: string; hasSecretName: boolean; isHeader?: boolean },
  mark?: SecretMark,
): JudgedValue {
  if (mark === false) return { reason: undefined, secrets: [], isMarked: true };
  const { text, hasSecretName, isHeader = false } = value;
  const references = typeof mark === 'object' ? mark : [];
  const formed = [text, ...references].flatMap(secretsByForm);
  const whole = isHeader ? secretsOfHeader(text) : [text];
  const secrets = [...(mark === true || hasSecretName ? whole : []), ...references, ...formed];
  const isMarked = mark === true;
  const byItself = hasSecretName ? 'name' : formed.length > 0 ? 'form' : undefined;
  const reason = isMarked ? 'marked' : references.length > 0 ? 'reference' : byItself;
  return { reason, secrets, isMarked };
}

/** Lists the parts of a text that are secrets by their form: credentials of well-known issuers, and user parts of URLs. */
export function secretsByForm(text: string): string[] {
  return [...credentialsIn(text), ...secretsOfUrls(text)];
}

/** Removes the parts of a text that are secrets by their form. */
export function withoutSecretForms(text: string): string {
  return withoutUrlSecrets(withoutCredentials(text));
}

/**
 * Returns JSON data without secrets: without the values of fields whose names mean a secret, also inside lists and objects in them, and
 * without the parts of texts that are secrets by their form.
 */
export function withoutSecrets(value: unknown): unknown {
  return withTexts(withoutNamedSecrets(value, false), withoutSecretForms);
}

/**
 * Returns the body of a message without secrets: JSON as {@link withoutSecrets} does, also in a text of it, and any other text without what
 * has their form.
 */
export function bodyWithoutSecrets(body: string): string {
  try {
    return JSON.stringify(withTexts(withoutSecrets(parseJson(body)), textWithoutSecrets));
  } catch {
    return withoutSecretForms(body);
  }
}

/** Returns a text that is JSON without secrets, and any other text as it is. */
function textWithoutSecrets(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    const value = parseJson(text);
    const clean = withoutSecrets(value);
    return isDeepStrictEqual(value, clean) ? text : JSON.stringify(clean);
  } catch {
    return text;
  }
}

/** The characters of an excerpt that are shown: a credential that begins in them and is cut behind them has its form still. */
const excerptLength = 200;

/** Returns the beginning of a text of which at most 500 characters are given, without secrets. */
export function shownExcerpt(text: string): string {
  return textWithoutSecrets(withoutSecretForms(text)).slice(0, excerptLength);
}

function withoutNamedSecrets(value: unknown, isSecret: boolean): unknown {
  if (typeof value === 'string') return isSecret ? '[redacted]' : value;
  if (typeof value === 'number')
    return isSecret && String(value).length >= shortestSecret ? '[redacted]' : value;
  if (isExactNumber(value)) return isSecret ? '[redacted]' : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNamedSecrets(item, isSecret));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      withoutNamedSecrets(inner, isSecret || isSecretName(name)),
    ]),
  );
}
