import type { Implementation } from '@modelcontextprotocol/client';
import type { Authorizer } from '@signalbox/server-auth';
import type PQueue from 'p-queue';
import type { HostTuning } from '../config/host-tuning.ts';
import type { HostEvent } from '../host/host-api.ts';
import type { ToolList } from '../inventory/tool-list.ts';

/** What the host gives every server. */
export interface ServerDeps {
  clientInfo: Implementation;
  tuning: HostTuning;
  /** Monotonic milliseconds. */
  now: () => number;
  random: () => number;
  /** Where starts wait for one another, so that many servers don't all start in one moment. */
  starts: PQueue;
  log: (event: HostEvent) => void;
  /** A process of the server was started. Returns what to call when it is gone. */
  onProcess: (server: string, pid: number) => () => void;
}

/** What one instance of a server is given besides. */
export interface InstanceDeps extends ServerDeps {
  authorizer: Authorizer | undefined;
  onReady: () => void;
  /** The server listed its tools. */
  onList: (list: ToolList) => void;
  /** State or {@link SupervisedSession.problem} may read differently now. */
  onChanged: () => void;
}
