import type { ToolProgress } from '../executor/tool-call.ts';

/** The amount that a heartbeat adds to the progress: less than the steps of servers, so that it stays below real progress. */
const heartbeatStep = 1e-6;

/**
 * Sends the progress of one call to a client that asked for it: the server's reports, and a heartbeat whenever nothing was sent for
 * `heartbeatMs`. The server's numbers are passed on unchanged, even equal ones. Only a number that is not above the last
 * heartbeat's is raised, because MCP demands growing numbers. After `end` nothing is sent.
 */
export interface CallProgress {
  report(progress: ToolProgress): void;
  /** Records whether the call waits for an approval (`undefined`: it continues); heartbeats tell the client. */
  awaits(approval: string | undefined): void;
  /** Resolves one turn of the event loop after the last notification, so that the result is not sent together with it. */
  end(): Promise<void>;
}

/** Begins to send the progress of a call; the first heartbeat comes after `heartbeatMs`. */
export function startCallProgress(heartbeatMs: number, send: (progress: ToolProgress) => void): CallProgress {
  const startedAt = performance.now();
  let last: number | undefined;
  /** The number of the last heartbeat; no later number may be lower. */
  let floor = Number.NEGATIVE_INFINITY;
  let total: number | undefined;
  let waiting: string | undefined;
  let ended = false;
  const notify = (progress: ToolProgress) => {
    last = progress.progress;
    timer.refresh();
    send(progress);
  };
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    floor = last === undefined ? 0 : last + heartbeatStep;
    notify({
      progress: floor,
      ...(total !== undefined && { total }),
      message: waiting === undefined ? `still running after ${seconds} s` : `${waiting}, after ${seconds} s`,
    });
  }, heartbeatMs);
  return {
    report(progress) {
      if (ended) return;
      total = progress.total;
      notify(progress.progress > floor ? progress : { ...progress, progress: (last ?? 0) + heartbeatStep });
    },
    awaits(approval) {
      waiting = approval === undefined ? undefined : `still waiting for approval ${approval} by a person`;
    },
    async end() {
      ended = true;
      clearInterval(timer);
      if (last !== undefined) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
