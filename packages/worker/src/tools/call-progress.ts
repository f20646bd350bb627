import type { ToolProgress } from '../executor/tool-call.ts';

/** How much a heartbeat adds to the progress: less than the steps of servers, so that it stays below real progress. */
const heartbeatStep = 1e-6;

/**
 * Sends the progress of one call to a client that asked for it: what the server reports, and a heartbeat whenever nothing was
 * sent for `heartbeatMs`. The number always grows, as MCP demands. After `end` nothing is sent.
 */
export interface CallProgress {
  report(progress: ToolProgress): void;
  /** The call waits for an approval now, or, with `undefined`, goes on: the heartbeats say so. */
  awaits(approval: string | undefined): void;
  /** Resolves one turn of the event loop after the last notification, so that the result is not sent together with it. */
  end(): Promise<void>;
}

/** Begins to send the progress of a call; the first heartbeat comes after `heartbeatMs`. */
export function startCallProgress(heartbeatMs: number, send: (progress: ToolProgress) => void): CallProgress {
  const startedAt = performance.now();
  let last: number | undefined;
  let total: number | undefined;
  let waiting: string | undefined;
  let ended = false;
  const notify = (progress: ToolProgress) => {
    last = last === undefined ? progress.progress : Math.max(progress.progress, last + heartbeatStep);
    timer.refresh();
    send({ ...progress, progress: last });
  };
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    notify({
      progress: last ?? 0,
      ...(total !== undefined && { total }),
      message: waiting === undefined ? `still running after ${seconds} s` : `${waiting}, after ${seconds} s`,
    });
  }, heartbeatMs);
  return {
    report(progress) {
      if (ended) return;
      total = progress.total;
      notify(progress);
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
