/** The time that a process is given to end by itself, in milliseconds: after its input ended, and after SIGTERM. */
export interface CloseGrace {
  inputEndMs: number;
  terminateMs: number;
}

/** The bounds of the supervision of servers. Times are in milliseconds. */
export interface HostTuning extends CloseGrace {
  /** How long a server may take to start, shake hands and list its tools. */
  startMs: number;
  /** How many servers start at a time; the rest wait their turn. */
  concurrentStarts: number;
  /** How long `inventory()` waits at first for servers that are still starting. */
  firstInventoryMs: number;
  /** The uptime after which the next restart is quick again. */
  sustainedUptimeMs: number;
}

/** The default bounds. A first start may have to download its server (`npx`), which the inventory does not wait for. */
export const defaultTuning: HostTuning = {
  startMs: 60_000,
  concurrentStarts: 8,
  firstInventoryMs: 20_000,
  sustainedUptimeMs: 10_000,
  inputEndMs: 500,
  terminateMs: 2_000,
};
