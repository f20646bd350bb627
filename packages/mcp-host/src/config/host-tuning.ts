/** The times that a process gets to end by itself, in milliseconds: after its input ended, and after SIGTERM. */
export interface CloseGrace {
  inputEndMs: number;
  terminateMs: number;
}

/** The bounds of the supervision of servers. Times are in milliseconds. */
export interface HostTuning extends CloseGrace {
  /** The longest time that a server may take to start, shake hands and list its tools. */
  startMs: number;
  /** The most processes that start at a time; the rest wait. */
  concurrentStarts: number;
  /** The longest time for which a start keeps others waiting. A process that has not answered by then mostly waits itself, or hangs. */
  startTurnMs: number;
  /** The longest time that the first `inventory()` waits for servers that are still starting. */
  firstInventoryMs: number;
  /** The uptime after which the next restart is quick again. */
  sustainedUptimeMs: number;
  /** The time that processes which a server left behind get to end after SIGTERM. */
  detachedMs: number;
}

/** The default bounds. A first start may have to download its server (`npx`); the inventory does not wait for that. */
export const defaultTuning: HostTuning = {
  startMs: 60_000,
  concurrentStarts: 8,
  startTurnMs: 2_000,
  firstInventoryMs: 20_000,
  sustainedUptimeMs: 10_000,
  inputEndMs: 500,
  terminateMs: 2_000,
  detachedMs: 5_000,
};
