import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { errnoOf } from '@signalbox/protocol/internal';
import type { Log } from '../log.ts';
import { FrequentEvent } from './frequent-event.ts';

/**
 * Notices when the process can open no more files or sockets. The system then silently closes new connections, and databases may fail. Room
 * is made at the cost of strangers.
 */
export class DescriptorWatch {
  readonly #makeRoom: () => void;
  readonly #exhausted: FrequentEvent;

  /** `makeRoom` closes connections that can be spared. */
  constructor(makeRoom: () => void, deps: { log: Log; monotonic: () => number }) {
    this.#makeRoom = makeRoom;
    this.#exhausted = new FrequentEvent(
      'descriptors_exhausted',
      'this process can open no more files or connections; connections that had not said hello were closed; raise the limit of the system (ulimit -n, LimitNOFILE), or lower broker.limits.connections.total',
      deps,
    );
  }

  /** Makes room if no file can be opened. Call it now and then. */
  check(): void {
    try {
      closeSync(openSync(devNull, 'r'));
    } catch (error) {
      this.refused(error);
    }
    this.#exhausted.report();
  }

  /** Makes room if this error means that no descriptors are left. */
  refused(error: unknown): void {
    const errno = errnoOf(error);
    if (errno !== 'EMFILE' && errno !== 'ENFILE') return;
    this.#exhausted.happened();
    this.#makeRoom();
  }
}
