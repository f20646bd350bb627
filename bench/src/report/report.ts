import { cpus, totalmem } from 'node:os';
import type { Measurement } from '../measure.ts';
import type { Peer } from '../peers/peer.ts';

/** Medians, figure by figure, and each round behind them. */
export interface Row extends Measurement {
  rounds: Measurement[];
}

export interface MessageRow extends Row {
  workload: string;
  peer: string;
  receiptMeans: Peer['receiptMeans'];
}

export interface CallRow extends Row {
  name: string;
  title: string;
  part: 'compared' | 'layer';
  inFlight: number;
}

export interface PeerFacts {
  name: string;
  title: string;
  receiptMeans: Peer['receiptMeans'];
  how: string;
  version: string;
}

/** Everything that one run of the benchmarks found; JSON. */
export interface Report {
  date: string;
  machine: string;
  node: string;
  /** Load averages of one minute, before and after. */
  load: { before: number; after: number };
  rounds: number;
  secondsPerRun: number;
  peers: PeerFacts[];
  /** Who or what was not measured, and why. */
  skipped: { name: string; reason: string }[];
  messages: MessageRow[];
  calls: CallRow[];
}

export function describeMachine(): string {
  const [first] = cpus();
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
}
