import type { CallsReport } from './benchmarks.ts';

/** The part of a proxied call's median latency that one hop adds. */
export interface Hop {
  hop: string;
  addsMs: number;
  measuredAs: string;
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
    { hop: 'server, over stdio', addsMs: direct, measuredAs: 'the direct client' },
    {
      hop: 'MCP host',
      addsMs: host - direct,
      measuredAs: '`host.call` in the process of the host, less the direct client',
    },
    {
      hop: 'lane and orchestrator',
      addsMs: executor - host,
      measuredAs: '`McpProxyExecutor.execute`, less the host',
    },
    {
      hop: 'worker face',
      addsMs: whole - executor,
      measuredAs: '`signalbox worker mcp` called over stdio, less the executor',
    },
    { hop: '**whole call**', addsMs: whole, measuredAs: 'the row of Signalbox above' },
  ];
  return hops.every(({ addsMs }) => Number.isFinite(addsMs)) ? hops : [];
}
