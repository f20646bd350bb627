import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import type Database from 'better-sqlite3';
import type { Counts } from './counts.ts';

type Effects = Pick<Counts, 'commits' | 'syncs' | 'writes' | 'bytes'>;

/** Counts commits, syncs and writes from now on. Writes to `except` do not count. */
export function countEffects(except: Socket) {
  let effects: Effects = none();
  countCommits(() => effects.commits++);
  countSyncs(() => effects.syncs++);
  countWrites((socket, bytes) => {
    if (socket === except) return;
    effects.writes++;
    effects.bytes += bytes;
  });
  return {
    reset: (): void => {
      effects = none();
    },
    counts: (): Effects => effects,
  };
}

function none(): Effects {
  return { commits: 0, syncs: 0, writes: 0, bytes: 0 };
}

/** A commit is the end of a transaction, or a statement outside of one that changes something. */
function countCommits(onCommit: () => void): void {
  const Sqlite = createRequire(import.meta.url)('better-sqlite3') as typeof Database;
  const db = new Sqlite(':memory:');
  const prototype = Object.getPrototypeOf(db.prepare('COMMIT')) as Database.Statement;
  db.close();
  const { run } = prototype;
  prototype.run = function (this: Database.Statement, ...values) {
    const wasInTransaction = this.database.inTransaction;
    const result = run.apply(this, values);
    if (!this.database.inTransaction && (wasInTransaction || !this.readonly)) onCommit();
    return result;
  };
}

/** A sync in another thread is done at once instead, and answered in the next turn: how long the disk takes must not decide anything. */
function countSyncs(onSync: () => void): void {
  const { fsyncSync, fdatasyncSync } = fs;
  const atOnce = (sync: (handle: number) => void) => (handle: number) => {
    onSync();
    sync(handle);
  };
  const later = (sync: (handle: number) => void) => (handle: number, done: (error: unknown) => void) => {
    let failure: unknown = null;
    try {
      sync(handle);
    } catch (thrown) {
      failure = thrown;
    }
    setImmediate(done, failure);
  };
  const counted = { fsyncSync: atOnce(fsyncSync), fdatasyncSync: atOnce(fdatasyncSync) };
  Object.assign(fs, counted, { fsync: later(counted.fsyncSync), fdatasync: later(counted.fdatasyncSync) });
  syncBuiltinESMExports();
}

/** The methods by which a stream writes, which the types of Node leave out for sockets. */
interface Writing {
  _write(data: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void;
  _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void;
}

function countWrites(onWrite: (socket: Socket, bytes: number) => void): void {
  const prototype = Socket.prototype as unknown as Writing;
  const { _write, _writev } = prototype;
  prototype._write = function (this: Socket & Writing, data, encoding, done) {
    onWrite(this, Buffer.byteLength(data, encoding));
    _write.call(this, data, encoding, done);
  };
  prototype._writev = function (this: Socket & Writing, chunks, done) {
    onWrite(
      this,
      chunks.reduce((sum, { chunk, encoding }) => sum + Buffer.byteLength(chunk, encoding), 0),
    );
    _writev.call(this, chunks, done);
  };
}
