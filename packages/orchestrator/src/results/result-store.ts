import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@signalbox/client';
import { type McpResult, messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf, figure } from '@signalbox/protocol/internal';
import { defaultResultLimits, type ResultLimits, SharedRoom, type Shortage } from '@signalbox/serving';
import type { CallKey } from '@signalbox/store/journal';
import { keptFileParts } from './kept-file.ts';
import { KeptResult } from './kept-result.ts';
import { previewOf } from './preview.ts';
import { documentsOf } from './result-documents.ts';
import { marksOf } from './text-marks.ts';

/** The options of {@link ResultStore.open}. */
export interface ResultStoreOptions {
  /** A folder that nothing else uses. It is made when the first result is kept (0700). */
  directory: string;
  /** Replaces some of the defaults, which are in `resultLimits` of the protocol. */
  limits?: Partial<ResultLimits>;
  /** The time between two deletions of old results, in milliseconds; default a minute. */
  pruneEveryMs?: number;
  /** Epoch milliseconds. */
  now?: () => number;
  /** Monotonic milliseconds. */
  monotonic?: () => number;
  newId?: () => string;
  /** Returns the free bytes on the disk of a folder. */
  freeBytes?: (folder: string) => Promise<number>;
  log?: Log;
}

/** The call whose result is kept. */
export interface KeptCall extends CallKey {
  role: string;
  tool: string;
  /** The minting token that issued the token of the agent. */
  minter?: string | undefined;
  /** Set if the answer to a read of a resource is kept. */
  resource?: { server: string; uri: string } | undefined;
}

/** The reply that the caller of a call got whose result is kept. */
export interface KeptPreview {
  id: string;
  call: KeptCall;
  preview: McpResult;
}

/** The facts that the store knows of a kept result without opening it. */
interface Entry extends KeptCall {
  id: string;
  bytes: number;
  expiresAt: number;
}

/** The counts of kept results, for operators. */
export interface KeptSummary {
  results: number;
  /** The bytes of their files. */
  bytes: number;
  /** The most results that may be kept for all agents together. */
  maxResults: number;
  maxBytes: number;
  /** The reason why a file could not be written in the last minutes; absent if one was written since. */
  problem?: string;
}

/** The id and the preview of a kept result, or the reason why it is not kept. */
export type Keeping = { id: string; preview: McpResult } | { notKept: string };

/** The longest time for which the answer to a read is kept, in milliseconds: its reader takes it at once, and can read it again. */
export const keptAnswerMs = 10 * 60_000;
const suffix = '.result';
const unfinished = '.new';
const clockFile = 'open-ms';
/** The bytes that stay free on the disk, for the messages of the broker. */
const leastFreeBytes = 256 * 1024 * 1024;
/** The time for which a failed write is reported, in milliseconds. */
const problemMs = 10 * 60_000;
const noSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Keeps large results of tool calls, each in a file, until their time is over. Nothing is deleted earlier: a result that does not fit is
 * not kept. Only one process may use the folder at a time. Incomplete files of a process that died are deleted when the store is opened.
 */
export class ResultStore implements AsyncDisposable {
  readonly #directory: string;
  readonly #limits: ResultLimits;
  readonly #room: SharedRoom<'results' | 'bytes'>;
  /** The room that all agents of one minting token share. */
  readonly #minterRoom: SharedRoom<'results' | 'bytes'>;
  readonly #now: () => number;
  readonly #newId: () => string;
  readonly #freeBytes: (folder: string) => Promise<number>;
  readonly #log: Log;
  readonly #byId = new Map<string, Entry>();
  readonly #byCall = new Map<string, Entry>();
  /** The results that are being written, by their calls. */
  readonly #keeping = new Map<string, Promise<Keeping>>();
  /**
   * Returns the time for which the store was open, in all processes together, in milliseconds. So a step of the clock deletes nothing
   * early.
   */
  readonly #openMs: () => number;
  #openBefore: number;
  readonly #pruning: NodeJS.Timeout;
  #isMade: boolean;
  #problem: { reason: string; at: number } | undefined;

  private constructor(options: ResultStoreOptions, isMade: boolean, openMs: number) {
    const { directory, now = Date.now, monotonic = () => performance.now(), log = () => {} } = options;
    this.#directory = directory;
    this.#limits = { ...defaultResultLimits, ...options.limits };
    const { perAgent, perMinter, results, bytesPerAgent, bytesPerMinter, bytes } = this.#limits;
    this.#room = new SharedRoom({
      results: { each: perAgent, all: results },
      bytes: { each: bytesPerAgent, all: bytes },
    });
    const all = Number.POSITIVE_INFINITY;
    this.#minterRoom = new SharedRoom({
      results: { each: perMinter, all },
      bytes: { each: bytesPerMinter, all },
    });
    this.#freeBytes = options.freeBytes ?? freeBytesOf;
    this.#now = now;
    this.#newId = options.newId ?? newResultId;
    this.#log = log;
    this.#isMade = isMade;
    this.#openBefore = openMs;
    const openedAt = monotonic();
    this.#openMs = () => Math.floor(this.#openBefore + monotonic() - openedAt);
    this.#pruning = setInterval(() => void this.prune(), options.pruneEveryMs ?? 60_000).unref();
  }

  /** Opens the store with what earlier processes have kept. Rejects with `bad_data_directory` if the folder cannot be read. */
  static async open(options: ResultStoreOptions): Promise<ResultStore> {
    const { directory } = options;
    let names: string[] | undefined;
    try {
      names = await readdir(directory);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT') throw unreadable(directory, thrown);
    }
    const store = new ResultStore(options, names !== undefined, await readOpenMs(directory));
    for (const name of names ?? []) await store.#take(name);
    return store;
  }

  /**
   * Keeps the result of a call. When this resolves with a preview, the result is on disk. If the result of the call is kept already, it
   * gets the same preview again. Never rejects.
   */
  keep(call: KeptCall, result: McpResult): Promise<Keeping> {
    const key = textOf(call);
    let keeping = this.#keeping.get(key);
    if (!keeping) {
      keeping = this.#keep(call, result).finally(() => this.#keeping.delete(key));
      this.#keeping.set(key, keeping);
    }
    return keeping;
  }

  async #keep(call: KeptCall, result: McpResult): Promise<Keeping> {
    const id = this.#newId();
    let bytes = 0;
    try {
      const earlier = await this.previewOf(call);
      // An agent may use an id again for another call.
      if (earlier?.call.tool === call.tool) return { id: earlier.id, preview: earlier.preview };
      const { text, json, blocks, kinds } = documentsOf(result, id);
      const { lines, marks } = marksOf(text);
      const ageMs = call.resource ? Math.min(keptAnswerMs, this.#limits.ageMs) : this.#limits.ageMs;
      const keptAt = this.#openMs();
      const expiresAt = keptAt + ageMs;
      const until = this.#now() + ageMs;
      const facts = { id, tool: call.tool, text, lines, jsonBytes: json.length, kinds, until };
      const preview = previewOf(result, facts);
      const { agent, requestId, role, tool, minter, resource } = call;
      const parts = keptFileParts(
        {
          ...{ id, agent, requestId, role, tool, minter, resource, keptAt, expiresAt },
          text: { bytes: text.length, lines, marks },
          json: { bytes: json.length, ...marksOf(json) },
          ...{ blocks, preview },
        },
        { text, json },
      );
      const needed = parts.reduce((total, part) => total + part.length, 0);
      const shortage = this.#takeRoom(call, needed);
      if (shortage) return { notKept: shortage };
      bytes = needed;
      await this.#write(id, parts);
      this.#add({ ...{ id, agent, requestId, role, tool, minter, resource, bytes, expiresAt } });
      this.#problem = undefined;
      return { id, preview };
    } catch (thrown) {
      if (bytes > 0) this.#giveBack(call, bytes);
      // If the folder could not be synced, the file already has its final name.
      for (const end of [unfinished, suffix])
        await rm(this.#fileOf(id, end), { force: true }).catch(() => {});
      this.#log({ event: 'result_not_kept', reason: messageOf(thrown) });
      const isFull = thrown instanceof NoSpace || noSpace.has(errnoOf(thrown) ?? '');
      const reason = isFull ? 'the disk is full, or nearly so' : 'its file could not be written';
      this.#problem = { reason, at: this.#openMs() };
      return { notKept: reason };
    }
  }

  /** Returns the call whose result has this id; `undefined` if none is kept. */
  callOf(id: string): KeptCall | undefined {
    const entry = this.#byId.get(id);
    return entry && entry.expiresAt > this.#openMs() ? entry : undefined;
  }

  /** Reads the reply that the caller of a call got. Returns `undefined` if its result is not kept. Never rejects. */
  previewOf(key: CallKey): Promise<KeptPreview | undefined> | undefined {
    const entry = this.#byCall.get(textOf(key));
    return entry && this.#readPreview(entry);
  }

  async #readPreview(entry: Entry): Promise<KeptPreview | undefined> {
    try {
      await using kept = await this.open(entry.id);
      return kept && { id: entry.id, call: entry, preview: kept.header.preview };
    } catch (thrown) {
      this.#log({ event: 'kept_result_unreadable', reason: messageOf(thrown) });
      return undefined;
    }
  }

  /** Opens a result for reading; `undefined` if none with this id is kept. Rejects if it cannot be read. */
  async open(id: string): Promise<KeptResult | undefined> {
    if (!this.callOf(id)) return undefined;
    try {
      return await KeptResult.open(this.#fileOf(id, suffix));
    } catch (thrown) {
      if (errnoOf(thrown) === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  /** Counts the kept results. */
  summary(): KeptSummary {
    const problem = this.#problem;
    return {
      results: this.#room.held('results'),
      bytes: this.#room.held('bytes'),
      maxResults: this.#limits.results,
      maxBytes: this.#limits.bytes,
      ...(problem && this.#openMs() - problem.at < problemMs && { problem: problem.reason }),
    };
  }

  /** Deletes the results whose time is over, and notes how long the store was open. Never rejects. */
  async prune(): Promise<void> {
    if (!this.#isMade) return;
    const now = this.#openMs();
    for (const entry of [...this.#byId.values()]) {
      if (entry.expiresAt > now) continue;
      try {
        await rm(this.#fileOf(entry.id, suffix), { force: true });
        // A simultaneous deletion may have been faster.
        if (!this.#byId.delete(entry.id)) continue;
        if (this.#byCall.get(textOf(entry)) === entry) this.#byCall.delete(textOf(entry));
        this.#giveBack(entry, entry.bytes);
      } catch (thrown) {
        this.#log({ event: 'result_not_deleted', reason: messageOf(thrown) });
      }
    }
    await this.#saveOpenMs();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pruning);
    if (this.#isMade) await this.#saveOpenMs();
  }

  async #write(id: string, parts: readonly Buffer[]): Promise<void> {
    // Somebody may have deleted the folder meanwhile.
    const made = await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (made !== undefined) await syncFolder(join(this.#directory, '..'));
    this.#isMade = true;
    const bytes = parts.reduce((total, part) => total + part.length, 0);
    const free = await this.#freeBytes(this.#directory);
    if (free - bytes < leastFreeBytes) throw new NoSpace(free, bytes);
    const handle = await open(this.#fileOf(id, unfinished), 'wx', 0o600);
    try {
      for (const part of parts) await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(this.#fileOf(id, unfinished), this.#fileOf(id, suffix));
    await syncFolder(this.#directory);
  }

  /** Adds a file of an earlier process. */
  async #take(name: string): Promise<void> {
    const file = join(this.#directory, name);
    if (name.endsWith(unfinished)) return await rm(file, { force: true });
    if (!name.endsWith(suffix)) return;
    try {
      await using kept = await KeptResult.open(file);
      const header = kept?.header;
      if (!header || name !== `${header.id}${suffix}`) {
        this.#log({ event: 'kept_result_damaged', file });
        return await rm(file, { force: true });
      }
      const { id, agent, requestId, role, tool, minter, resource, keptAt, expiresAt } = header;
      const { bytes } = kept;
      // If the process died, the saved time is up to a minute old, and it may be lost.
      this.#openBefore = Math.max(this.#openBefore, keptAt);
      this.#room.hold(agent, { results: 1, bytes });
      if (minter !== undefined) this.#minterRoom.hold(minter, { results: 1, bytes });
      this.#add({ id, agent, requestId, role, tool, minter, resource, expiresAt, bytes });
    } catch (thrown) {
      this.#log({ event: 'kept_result_unreadable', file, reason: messageOf(thrown) });
    }
  }

  /** Takes room for a file, or returns the reason why there is none. */
  #takeRoom({ agent, minter }: KeptCall, bytes: number): string | undefined {
    const amounts = { results: 1, bytes };
    const ofMinter = minter === undefined ? undefined : this.#minterRoom.take(minter, amounts);
    if (ofMinter) return shortageText(ofMinter, 'this agent and those with tokens of the same issuer');
    const ofAgent = this.#room.take(agent, amounts);
    if (ofAgent && minter !== undefined) this.#minterRoom.giveBack(minter, amounts);
    return ofAgent && shortageText(ofAgent, 'this agent');
  }

  #giveBack({ agent, minter }: KeptCall, bytes: number): void {
    this.#room.giveBack(agent, { results: 1, bytes });
    if (minter !== undefined) this.#minterRoom.giveBack(minter, { results: 1, bytes });
  }

  #add(entry: Entry): void {
    this.#byId.set(entry.id, entry);
    this.#byCall.set(textOf(entry), entry);
  }

  async #saveOpenMs(): Promise<void> {
    try {
      const file = join(this.#directory, clockFile);
      await writeFile(`${file}${unfinished}`, String(this.#openMs()), { mode: 0o600 });
      await rename(`${file}${unfinished}`, file);
    } catch (thrown) {
      this.#log({ event: 'result_time_not_saved', reason: messageOf(thrown) });
    }
  }

  #fileOf(id: string, end: string): string {
    return join(this.#directory, `${id}${end}`);
  }
}

/** Reads the time for which the store was open before, in milliseconds. Without it, results are kept longer, never shorter. */
async function readOpenMs(directory: string): Promise<number> {
  try {
    const ms = Number(await readFile(join(directory, clockFile), 'utf8'));
    return Number.isSafeInteger(ms) && ms > 0 ? ms : 0;
  } catch {
    return 0;
  }
}

/** Makes the error of a folder that can't be read. Without its content, calls whose results are kept would be made again. */
function unreadable(directory: string, cause: unknown): SignalboxError {
  const message = `the folder of large results ${directory} cannot be read: ${messageOf(cause)}`;
  const hint =
    'Make it a folder that the user of the orchestrator may read and write, or move it away: then the results in it are lost.';
  return new SignalboxError('bad_data_directory', message, { cause, details: { hint } });
}

/** Thrown when there is too little room on the disk. */
class NoSpace extends Error {
  constructor(free: number, needed: number) {
    super(
      `the disk has ${free} bytes left, of which ${leastFreeBytes} stay free; the result needs ${needed}`,
    );
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function shortageText({ unit, of, limit, isFinal }: Shortage<'results' | 'bytes'>, whose: string): string {
  const what = unit === 'bytes' ? `${figure(limit)} bytes` : `${limit} results`;
  if (isFinal) return `it is larger than the ${what} that may be kept`;
  return of === 'each'
    ? `${what} are kept for ${whose} at most, and older ones are not over yet`
    : `of the ${what} that are kept for all agents, the rest is for others`;
}

function textOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}

/** Makes the id of a kept result, 22 characters that nobody can guess. */
function newResultId(): string {
  return randomBytes(16).toString('base64url');
}
