import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { writeWholeNow } from '@signalbox/serving/whole-files';
import * as z from 'zod';
import type { HostEvent } from '../../host-event.ts';
import type { DetachedProcesses } from './detached-processes.ts';
import {
  endsWithin,
  isRunning,
  type ProcessIdentity,
  startOfChild,
  startOfProcess,
} from './process-start-time.ts';

/**
 * Ends what the processes of servers leave behind. It records the processes that this host has started in a file, if there is a
 * directory for it, so that the next host ends those that outlived it. Problems with the file are logged and keep no server from
 * starting.
 */
export class ProcessRecords {
  readonly #path: string | undefined;
  readonly #detached: DetachedProcesses;
  readonly #log: (event: HostEvent) => void;
  readonly #self: ProcessIdentity;
  readonly #clearings = new Set<Promise<void>>();
  #records: ProcessRecord[] = [];

  constructor(directory: string | undefined, detached: DetachedProcesses, log: (event: HostEvent) => void) {
    this.#path = directory === undefined ? undefined : join(directory, 'servers.json');
    this.#detached = detached;
    this.#log = log;
    this.#self = { pid: process.pid, start: startOfProcess(process.pid) ?? 'unknown' };
  }

  /**
   * Ends the processes that an earlier host left running: SIGTERM to the group, SIGKILL after `terminateMs`. Then it ends what they left
   * behind.
   */
  async reap(terminateMs: number): Promise<void> {
    const found = this.#read();
    const orphans = found.filter(({ owner }) => !isRunning(owner));
    this.#records.push(...found.filter((record) => !orphans.includes(record)));
    await Promise.all(
      orphans.map(async (orphan) => {
        if (isRunning(orphan)) await this.#end(orphan, terminateMs);
        await this.#endDetached(orphan);
      }),
    );
    if (orphans.length > 0) this.#write();
  }

  /**
   * Records a process of a server, and the mark in its environment. Returns the function to call when it is gone, which resolves when
   * what it left behind has ended.
   */
  add(server: string, pid: number, mark: string | undefined): () => Promise<void> {
    const start = startOfChild(pid);
    if (start === undefined) return () => Promise.resolve();
    const record: ProcessRecord = { pid, start, server, mark, owner: this.#self };
    this.#records.push(record);
    this.#write();
    return () => {
      const clearing = this.#clear(record).finally(() => this.#clearings.delete(clearing));
      this.#clearings.add(clearing);
      return clearing;
    };
  }

  /** Resolves when all that is being ended has ended. */
  async cleared(): Promise<void> {
    await Promise.all(this.#clearings);
  }

  /** The record stays until all has ended: if this host is killed before, the next one goes on. */
  async #clear(record: ProcessRecord): Promise<void> {
    await this.#endDetached(record);
    this.#records = this.#records.filter((other) => other !== record);
    this.#write();
  }

  async #endDetached({ server, mark, start }: ProcessRecord): Promise<void> {
    if (mark !== undefined) await this.#detached.endThoseOf({ server, mark, start });
  }

  #read(): ProcessRecord[] {
    if (this.#path === undefined) return [];
    try {
      return readRecords(this.#path);
    } catch (error) {
      const hint = 'if the host was killed before, look for server processes that are still running';
      this.#log({ event: 'process_records_unreadable', reason: messageOf(error), hint });
      return [];
    }
  }

  #write(): void {
    if (this.#path === undefined) return;
    try {
      writeRecords(this.#path, this.#records);
    } catch (error) {
      this.#log({ event: 'process_records_unwritable', reason: messageOf(error) });
    }
  }

  async #end(orphan: ProcessRecord, terminateMs: number): Promise<void> {
    signalGroup(orphan.pid, 'SIGTERM');
    const gone = await endsWithin(orphan, terminateMs);
    // Even if it has exited, one of its children may run. No other process gets the id while the group has members.
    signalGroup(orphan.pid, 'SIGKILL');
    if (!gone) await endsWithin(orphan, terminateMs);
    const { server, pid } = orphan;
    this.#log({ event: 'server_reaped', server, pid, signal: gone ? 'SIGTERM' : 'SIGKILL' });
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: no process of the group is left.
  }
}

const processSchema = z.object({ pid: z.int().min(2), start: z.string().min(1) });

const recordSchema = processSchema.extend({
  server: z.string(),
  mark: z.uuid().optional(),
  owner: processSchema,
});

const fileSchema = z.object({ servers: z.array(recordSchema) });

/** A process of a server, the mark in its environment if it has one, and the host that started it. */
type ProcessRecord = z.infer<typeof recordSchema>;

/**
 * Reads the records; none if there is no file. Throws `SignalboxError` `bad_process_records` for a file that can't be
 * read.
 */
function readRecords(path: string): ProcessRecord[] {
  try {
    return fileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).servers;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    const why = error instanceof z.ZodError || error instanceof SyntaxError ? 'is damaged' : 'cannot be read';
    throw new SignalboxError('bad_process_records', `${path} ${why}`, { cause: error });
  }
}

/**
 * Replaces the whole file, which only its owner may read, before it returns: a process that is not recorded would outlive a host that is
 * killed.
 */
function writeRecords(path: string, servers: readonly ProcessRecord[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeWholeNow(path, `${JSON.stringify({ servers }, undefined, 2)}\n`);
}
