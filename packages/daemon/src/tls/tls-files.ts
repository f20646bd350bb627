import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type FileWatch, watchFiles } from '@signalbox/mcp-host/yaml-files';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import {
  type CertificateLife,
  certificateLife,
  endsSoon,
  lifeProblem,
  pairProblem,
  type TlsPair,
} from '@signalbox/serving/tls';
import { exposedKey } from './key-file.ts';

/** The time between two checks of the certificate's end, in milliseconds. */
const checkMs = 24 * 60 * 60 * 1000;
/** The most bytes of one of the files. */
const maxBytes = 1024 * 1024;

/** The options of {@link TlsFiles}. */
export interface TlsFilesOptions {
  /** The absolute path of the certificate, in PEM, with those of the authorities between it and the root. */
  cert: string;
  /** The absolute path of its private key, in PEM. */
  key: string;
  /** Called with a pair that was changed and is good. */
  onChange: (pair: TlsPair) => void;
  log: (event: { event: string; level: 'info' | 'warn' | 'error'; message: string }) => void;
  /** Returns the time in epoch milliseconds. */
  now?: () => number;
}

/**
 * The certificate and the key of a server. They are read again when one of the files changes. A pair that is not good changes nothing:
 * the one before it stays in force, and the log says why.
 */
export class TlsFiles implements AsyncDisposable {
  readonly #options: TlsFilesOptions;
  readonly #now: () => number;
  #pair: TlsPair;
  #life: CertificateLife;
  #watch: FileWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  #refused = '';

  private constructor(options: TlsFilesOptions, pair: TlsPair) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#pair = pair;
    this.#life = certificateLife(pair);
  }

  /**
   * Reads the files and watches them until it is disposed. Rejects with `SignalboxError` `bad_tls` if they can't be used. A certificate
   * that has expired is only warned about here: a server that did not start would be away for its clients on the same machine, too.
   */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    const files = new TlsFiles(options, await readPair(options));
    files.#warnOfEnd();
    files.#timer = setInterval(() => files.#warnOfEnd(), checkMs).unref();
    files.#watch = await watchFiles([options.cert, options.key], {
      onChange: () => void files.#readAgain(false),
      onError: (error) =>
        files.#say(
          'tls_unwatched',
          'warn',
          `the certificate ${options.cert} can't be watched; SIGHUP reads it again: ${messageOf(error)}`,
        ),
    });
    return files;
  }

  /** The pair that is in force. */
  get pair(): TlsPair {
    return this.#pair;
  }

  /** Reads the files again, and logs the outcome even if nothing changed. */
  reload(): Promise<void> {
    return this.#readAgain(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#watch?.[Symbol.asyncDispose]();
    await this.#reading;
  }

  #readAgain(isAsked: boolean): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read(isAsked));
    return this.#reading;
  }

  async #read(isAsked: boolean): Promise<void> {
    const { cert } = this.#options;
    try {
      const pair = await readPair(this.#options);
      const isSame = pair.cert === this.#pair.cert && pair.key === this.#pair.key;
      if (!isSame) this.#replace(pair);
      else if (isAsked) this.#say('tls_unchanged', 'info', `the certificate ${cert} has not changed`);
      this.#refused = '';
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#refused || isAsked) {
        this.#say(
          'tls_refused',
          'error',
          `${problem}; the certificate and the key from before stay in force`,
        );
      }
      this.#refused = problem;
    }
  }

  /** Puts a pair in force. Throws if its certificate is not good now. */
  #replace(pair: TlsPair): void {
    const { cert, onChange } = this.#options;
    const life = certificateLife(pair);
    const problem = lifeProblem(life, this.#now());
    if (problem !== undefined) throw badTls(`the new certificate ${cert} ${problem}`);
    onChange(pair);
    this.#pair = pair;
    this.#life = life;
    this.#say(
      'tls_reloaded',
      'info',
      `the certificate ${cert} is in force for new connections, ${endText(life)}`,
    );
    this.#warnOfEnd();
  }

  #warnOfEnd(): void {
    const { cert } = this.#options;
    const problem = lifeProblem(this.#life, this.#now());
    const renew = 'renew it: the files are read again when they change';
    if (problem !== undefined) {
      this.#say(
        'tls_certificate_bad',
        'error',
        `the certificate ${cert} ${problem}, so that clients refuse it; ${renew}`,
      );
    } else if (endsSoon(this.#life, this.#now())) {
      this.#say(
        'tls_certificate_ends',
        'warn',
        `the certificate ${cert} is good ${endText(this.#life)} only; ${renew}`,
      );
    }
  }

  #say(event: string, level: 'info' | 'warn' | 'error', message: string): void {
    this.#options.log({ event, level, message });
  }
}

function endText({ ends }: CertificateLife): string {
  return `until ${new Date(ends).toISOString()}`;
}

/** Reads a pair that a server can use. Rejects with `SignalboxError` `bad_tls`, with a hint, if it can't be used or is not private. */
export async function readPair({ cert, key }: Pick<TlsFilesOptions, 'cert' | 'key'>): Promise<TlsPair> {
  const pair = { cert: await readText(cert, 'certificate'), key: await readText(key, 'key') };
  const exposed = exposedKey(await stat(key), process.getuid?.() ?? 0);
  if (exposed !== undefined) {
    throw badTls(
      `the key ${key} is not private: ${exposed}; anybody who has it can pretend to be this server and collect its clients' tokens`,
      `make it private with chmod 600 ${key}, and get a new key and certificate if somebody may have read it`,
    );
  }
  const problem = pairProblem(pair);
  if (problem === undefined) return pair;
  throw badTls(`the certificate ${cert} and the key ${key} can't be used: ${problem}`);
}

/** Only a regular file can be read again. Opening a pipe would wait for somebody to write. */
async function readText(path: string, what: string): Promise<string> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile()) throw new Error(`${path} is no regular file`);
    if (facts.size > maxBytes) throw new Error(`${path} is larger than 1 MiB`);
    return await file.readFile('utf8');
  } catch (error) {
    throw badTls(`the file of the ${what} can't be read: ${messageOf(error)}`);
  }
}

function badTls(message: string, hint?: string): SignalboxError {
  return new SignalboxError('bad_tls', message, { details: { ...(hint !== undefined && { hint }) } });
}
