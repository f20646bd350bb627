import type { Tracing } from '@signalbox/serving/tracing';
import type { DefinitionPins } from '@signalbox/store/journal';
import type { HostTuning } from '../config/host-tuning.ts';
import type { HttpServerConfig } from '../config/server-config.ts';
import type { HostEvent } from '../host-event.ts';
import type { WaitingCalls } from '../questions/waiting-calls.ts';
import type { ConnectRemote } from '../remote/remote-connection.ts';
import type { Authorizer } from '../server-auth/index.ts';
import type { ListReadings } from './list-readings.ts';
import type { ProcessSlots } from './processes/process-slots.ts';
import type { ServerEvent } from './server-events.ts';

/** Runs starts of processes a few at a time. */
interface StartQueue {
  /** Resolves with the result of `start`, whose turn comes before that of starts with a lower priority. Rejects if `start` does, or if `signal` aborts earlier. */
  add<T>(start: () => Promise<T>, options: { signal: AbortSignal; priority: number }): Promise<T>;
}

/** The dependencies of all hosted servers, which the host provides. */
export interface ServerDeps {
  tuning: HostTuning;
  /** Monotonic milliseconds. */
  now: () => number;
  random: () => number;
  log: (event: HostEvent) => void;
  tracing: Tracing | undefined;
  fetch: typeof fetch;
  /** The queue in which processes wait for one another, so that many servers don't all start in one moment. */
  starts: StartQueue;
  slots: ProcessSlots;
  /** The calls that wait for answers of their callers. */
  waiting: WaitingCalls;
  /** Counts the changed lists that are being read. */
  readings: ListReadings;
  /**
   * Called when a process of the server was started, with the mark in its environment. Returns the function to call when it is gone, which
   * resolves when what it left behind has ended.
   */
  onProcess: (server: string, pid: number, mark: string | undefined) => () => Promise<void>;
  /** Resolves when what gone processes left behind has ended. */
  processesCleared: () => Promise<void>;
  /** Returns the folder for the files of a server; `undefined` if the host has no state directory. */
  dataFolderOf: (server: string) => string | undefined;
  /** Returns the access to a server that has `auth`. */
  authorizerFor: ((name: string, config: HttpServerConfig) => Authorizer | undefined) | undefined;
  /** Finds the servers that orchestrators with labels host. */
  connectRemote: ConnectRemote | undefined;
  /** Keeps the pins of servers with `definitions: pin`. */
  pins: DefinitionPins | undefined;
  /** Called when the tools or problems of a server may have changed. */
  onChanged: () => void;
  /** Called with each change of the server that its operator should find later. */
  tell: (event: ServerEvent) => void;
}
