import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@signalbox/protocol';
import type { HostEvent } from '../../host-event.ts';
import {
  type ProcessIdentity,
  type ProcessRecord,
  readRecords,
  writeRecords,
} from './process-records-file.ts';
import { startOfProcess } from './process-start-time.ts';

const pollMs = 25;

/**
 * Records the processes that this host has started in a file, so that the next host ends those that outlived it.
 * Problems with the file are logged and keep no server from starting.
 */
export class ProcessRecords {
  readonly #path: string;
  readonly #log: (event: HostEvent) => void;
  readonly #self: ProcessIdentity;
  #records: ProcessRecord[] = [];

  constructor(directory: string, log: (event: HostEvent) => void) {
    this.#path = join(directory, 'servers.json');
    this.#log = log;
    this.#self = { pid: process.pid, start: startOfProcess(process.pid) ?? 'unknown' };
  }

  /** Ends the processes that an earlier host left running: SIGTERM to the group, SIGKILL after `terminateMs`. */
  async reap(terminateMs: number): Promise<void> {
    const found = this.#read();
    const orphans = found.filter(({ owner }) => !isRunning(owner));
    this.#records.push(...found.filter((record) => !orphans.includes(record)));
    await Promise.all(orphans.filter(isRunning).map((orphan) => this.#end(orphan, terminateMs)));
    if (orphans.length > 0) this.#write();
  }

  /** Records a process of a server. Returns the function to call when it is gone. */
  add(server: string, pid: number): () => void {
    const start = startOfProcess(pid);
    if (start === undefined) return () => {};
    const record: ProcessRecord = { pid, start, server, owner: this.#self };
    this.#records.push(record);
    this.#write();
    return () => {
      this.#records = this.#records.filter((other) => other !== record);
      this.#write();
    };
  }

  #read(): ProcessRecord[] {
    try {
      return readRecords(this.#path);
    } catch (error) {
      const hint = 'if the host was killed before, look for server processes that are still running';
      this.#log({ event: 'process_records_unreadable', reason: messageOf(error), hint });
      return [];
    }
  }

  #write(): void {
    try {
      writeRecords(this.#path, this.#records);
    } catch (error) {
      this.#log({ event: 'process_records_unwritable', reason: messageOf(error) });
    }
  }

  async #end(orphan: ProcessRecord, terminateMs: number): Promise<void> {
    signalGroup(orphan.pid, 'SIGTERM');
    const gone = await goneWithin(orphan, terminateMs);
    // Even if it has exited, one of its children may run. No other process gets the id while the group has members.
    signalGroup(orphan.pid, 'SIGKILL');
    if (!gone) await goneWithin(orphan, terminateMs);
    const { server, pid } = orphan;
    this.#log({ event: 'server_reaped', server, pid, signal: gone ? 'SIGTERM' : 'SIGKILL' });
  }
}

function isRunning({ pid, start }: ProcessIdentity): boolean {
  return startOfProcess(pid) === start;
}

async function goneWithin(one: ProcessIdentity, ms: number): Promise<boolean> {
  for (let waitedMs = 0; isRunning(one); waitedMs += pollMs) {
    if (waitedMs >= ms) return false;
    await delay(pollMs);
  }
  return true;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: no process of the group is left.
  }
}
