import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { parse } from 'yaml';
import { parseValuePath, valueAt } from '../templates/value-path.ts';

/** The places from which secrets are read. File names are relative to `directory`. */
export interface SecretSources {
  env: Readonly<Record<string, string | undefined>>;
  directory: string;
}

/**
 * Reads the secret behind `env:VARIABLE`, `file:PATH` or `file:PATH#FIELD` (a field of JSON or YAML), again each time. The reference must
 * come from a capability file. Throws `SignalboxError` `bad_secret`, which names the reference.
 */
export function readSecret(reference: string, { env, directory }: SecretSources): string {
  const value = reference.startsWith('env:')
    ? env[reference.slice('env:'.length)]
    : readFileSecret(reference, directory);
  if (value === undefined) throw badSecret(reference, 'the environment variable is not set');
  const secret = value.replace(/\r?\n$/, '');
  if (secret === '') throw badSecret(reference, 'it is empty');
  if (/[\r\n\0]/.test(secret)) throw badSecret(reference, 'it has more than one line');
  return secret;
}

function readFileSecret(reference: string, directory: string): string {
  const [path = '', field] = reference.slice('file:'.length).split(/#(.*)/s);
  let text: string;
  try {
    text = readFileSync(resolve(directory, path), 'utf8');
  } catch (error) {
    throw badSecret(reference, `the file cannot be read (${errnoOf(error) ?? 'unreadable'})`);
  }
  if (field === undefined) return text;
  const found = valueAt(parsed(text), parseValuePath(field) ?? [field]);
  if (typeof found !== 'string' && typeof found !== 'number') {
    throw badSecret(reference, 'the file has no such field');
  }
  return String(found);
}

function parsed(text: string): unknown {
  try {
    return parse(text, { logLevel: 'error' });
  } catch {
    return undefined;
  }
}

function badSecret(reference: string, why: string): SignalboxError {
  return new SignalboxError('bad_secret', `${reference}: ${why}`);
}
