import type { CallsReport } from './benchmarks.ts';

/** The part of a proxied call's median latency that one hop adds. */
export interface Hop {
  hop: string;
  addsMs: number;
}

/**
 * Returns the hops of a call at 1 in flight, which enters further and further out. Each hop is the difference to the one inside it, so the
 * hops add up to the whole. Empty unless all of them were measured.
 */
export function hopsOf({ rows }: CallsReport): Hop[] {
  const p50 = (name: string): number =>
    rows.find((row) => row.name === name && row.inFlight === 1)?.p50Ms ?? Number.NaN;
  const [direct, host, executor, whole] = [p50('direct'), p50('host'), p50('executor'), p50('signalbox')];
  const hops = [
    { hop: 'server takes', addsMs: direct },
    { hop: 'MCP host', addsMs: host - direct },
    { hop: 'lane and the orchestrator', addsMs: executor - host },
    { hop: 'worker face', addsMs: whole - executor },
  ];
  return hops.every(({ addsMs }) => Number.isFinite(addsMs)) ? hops : [];
}
