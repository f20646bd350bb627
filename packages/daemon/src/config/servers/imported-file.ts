import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { JsonSkim, type KeptPart, maxCopied, type SkimProblem } from '../document/json-skim.ts';
import { clientFormats } from './formats/client-formats.ts';

/** An import statement would read every export of `node:crypto`, and one of them loads all of Web Crypto. */
const { createHash } = process.getBuiltinModule('node:crypto');

/** The part of another client's file that is about servers, or why there is none. */
export type ImportedText =
  | {
      /** The text without what holds no servers. Its lines are those of the file. */
      text: string;
      /** A hash of the text that does not depend on its lines. */
      state: string;
    }
  | {
      /** Why it can't be read. */
      problem: string;
      line: number;
      isGone: boolean;
      /** The reason, in place of a hash. */
      state: string;
    };

/** The keys that lead to each object of a file that holds servers. */
export type Pointers = readonly (readonly string[])[];

/** Largest file that is read, in bytes. Some clients let theirs grow without end. */
const maxBytes = 32 * 1024 * 1024;
const tooLarge = 'is larger than 32 MiB';
const pieceBytes = 64 * 1024;
/** Opening a pipe would wait for somebody who writes to it. */
const openFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a file of another client. */
export function readImportedFile(file: string, pointers: Pointers): ImportedText {
  let handle: number | undefined;
  try {
    checkFile(statSync(file));
    handle = openSync(file, openFlags);
    checkFile(fstatSync(handle));
    const reading = new Reading(file, pointers);
    const piece = Buffer.allocUnsafe(pieceBytes);
    let length = 0;
    do length = readSync(handle, piece);
    while (reading.take(piece.subarray(0, length)));
    return reading.end();
  } catch (error) {
    return unreadable(error);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Reads a file of another client like {@link readImportedFile}, in short steps between which the process does its other work. */
export async function readImportedFileInSteps(file: string, pointers: Pointers): Promise<ImportedText> {
  let handle: FileHandle | undefined;
  try {
    checkFile(await stat(file));
    handle = await open(file, openFlags);
    checkFile(await handle.stat());
    const reading = new Reading(file, pointers);
    const piece = Buffer.allocUnsafe(pieceBytes);
    let length = 0;
    do length = (await handle.read(piece)).bytesRead;
    while (reading.take(piece.subarray(0, length)));
    return reading.end();
  } catch (error) {
    return unreadable(error);
  } finally {
    await handle?.close();
  }
}

/** A reason for which a file is not read. */
class Refusal extends Error {
  readonly line: number;

  constructor(message: string, line = 1) {
    super(message);
    this.line = line;
  }
}

/** The bytes of one file, as they are read. */
class Reading {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #skim: JsonSkim | WholeText;
  #bytes = 0;

  constructor(file: string, pointers: Pointers) {
    const partOf = wholeFiles.has(basename(file)) ? () => 'all' as const : partFor(pointers);
    this.#skim = file.endsWith('.toml') ? new WholeText() : new JsonSkim(partOf);
  }

  /** Takes the next bytes. Returns false if no more are needed. */
  take(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length;
    if (this.#bytes > maxBytes) throw new Refusal(tooLarge);
    return this.#skim.push(this.#decoder.decode(bytes, { stream: true })) && bytes.length > 0;
  }

  end(): ImportedText {
    const end = this.#skim.end();
    if ('problem' in end) throw new Refusal(end.problem.message, end.problem.line);
    return { text: end.text, state: stateOf(end.text) };
  }
}

/** Keeps all of a text that is no JSON. */
class WholeText {
  #text = '';

  push(piece: string): boolean {
    this.#text += piece;
    if (this.#text.length > maxCopied) throw new Refusal('holds more than 1 MiB');
    return true;
  }

  /** A program that writes a file empties it first. */
  end(): { text: string } | { problem: SkimProblem } {
    const isEmpty = this.#text.trim() === '';
    return isEmpty ? { problem: { line: 1, message: 'is empty' } } : { text: this.#text };
  }
}

/** The members that a format reads. The name of one that no format reads may be like that of one. */
const readKeys = new Set(clientFormats.flatMap(({ section, alsoRead = [] }) => [section, ...alsoRead]));
const isRead = (key: string): boolean => readKeys.has(key) || /mcp|servers/i.test(key);

const wholeFiles = new Set(
  clientFormats.flatMap(({ switches }) => (switches?.isWhole ? [basename(switches.path)] : [])),
);

/** Says what is kept of a JSON file: the ways to the objects that hold servers, and what these say of servers. */
function partFor(pointers: Pointers): (path: readonly string[]) => KeptPart {
  return (path) => {
    const around = path.slice(0, -1);
    const isInPointed = pointers.some((keys) => keys.length === around.length && isPrefix(around, keys));
    if (isInPointed && isRead(path.at(-1)!)) return 'all';
    return pointers.some((keys) => isPrefix(path, keys)) ? 'some' : 'nothing';
  };
}

function isPrefix(part: readonly string[], whole: readonly string[]): boolean {
  return part.length <= whole.length && part.every((key, at) => key === whole[at]);
}

function stateOf(text: string): string {
  return createHash('sha256').update(text.replaceAll('\n', '')).digest('hex');
}

function checkFile(stats: Stats): void {
  if (stats.isFile()) {
    if (stats.size > maxBytes) throw new Refusal(tooLarge);
    return;
  }
  const kind = stats.isDirectory() ? 'a directory' : stats.isFIFO() ? 'a pipe' : 'a device or a socket';
  throw new Refusal(`is no file but ${kind}`);
}

/** Throws if a path leads to something else than a file. Reading that could take for ever. */
export function checkIsFile(path: string): void {
  checkFile(statSync(path));
}

function unreadable(cause: unknown): ImportedText {
  const code = errnoOf(cause);
  const isGone = code === 'ENOENT' || code === 'ENOTDIR';
  const problem = isGone ? 'there is no such file' : reasonOf(cause, code);
  return { problem, line: cause instanceof Refusal ? cause.line : 0, isGone, state: problem };
}

function reasonOf(cause: unknown, code: string | undefined): string {
  if (cause instanceof Refusal) return cause.message;
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is no UTF-8 text';
  if (code === 'ELOOP') return 'is a link that leads back to itself';
  return `cannot be read (${code ?? messageOf(cause)})`;
}
