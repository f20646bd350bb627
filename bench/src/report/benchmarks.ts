import { cpus, loadavg, totalmem } from 'node:os';
import type { BrokersReport } from '../brokers/brokers-report.ts';
import type { FleetReport } from '../fleet/fleet-report.ts';
import type { GrowthReport } from '../growth/growth-report.ts';
import type { Measurement } from '../measure.ts';
import type { Peer } from '../peers/peer.ts';
import type { StoresReport } from '../store-rates/stores-report.ts';

/** The date, the machine and the repetitions of a section's measurement. */
export interface Circumstances {
  date: string;
  machine: string;
  node: string;
  /** The load averages of one minute, before and after. */
  load: { before: number; after: number };
  rounds: number;
  secondsPerRun: number;
  /** A sentence with further facts that a reader needs to judge the figures. */
  remark?: string;
}

/** The median of each figure, and the rounds behind it. */
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
  over: 'stdio' | 'http';
  part: 'compared' | 'layer';
  /** 1, or as many as are tried at once over stdio or over HTTP. */
  inFlight: number;
  /** The processor time of one call in each process, in microseconds. */
  processorUs: Record<string, number>;
  /** The name of the way that this one is an earlier state of. */
  earlierOf?: string;
}

export interface PeerFacts {
  name: string;
  title: string;
  receiptMeans: Peer['receiptMeans'];
  /** See `Peer.promisesSame`. */
  promisesSame?: boolean;
  how: string;
  version: string;
  /** The name of the peer that this one is an earlier state of. */
  earlierOf?: string;
}

/** A peer or workload that was not measured, and the reason. */
export interface Skipped {
  name: string;
  reason: string;
}

export interface MessagesReport {
  peers: PeerFacts[];
  rows: MessageRow[];
  skipped: Skipped[];
}

export interface CallsReport {
  rows: CallRow[];
  skipped: Skipped[];
}

/** An ask by the library, or over A2A. */
export interface AskRow extends Row {
  name: 'library' | 'a2a';
  title: string;
  inFlight: number;
}

export interface AsksReport {
  rows: AskRow[];
}

/** The effect of one change, measured in one run beside the state before it. */
export interface Change {
  change: string;
  /** The commit of the state before the change. */
  before: string;
  rows: ChangeRow[];
}

export interface ChangeRow {
  /** `request/64/300B full` or `calls/64`. */
  workload: string;
  before: Measurement;
  after: Measurement;
  /** The quotient of operations per second, after by before, round by round: the median and the extremes. */
  ratio: { median: number; least: number; most: number };
}

/** A part of the benchmarks with the circumstances of its own run. */
export type Section<Report> = Circumstances & Report;

/** `docs/benchmarks.json`: the latest run of each section, and every change that was recorded. */
export interface Benchmarks {
  messages?: Section<MessagesReport>;
  calls?: Section<CallsReport>;
  asks?: Section<AsksReport>;
  growth?: Section<GrowthReport>;
  fleet?: Section<FleetReport>;
  /** Brokers on PostgreSQL, beside one on SQLite and queues written by hand. */
  postgres?: Section<MessagesReport>;
  /** The stores alone. */
  stores?: Section<StoresReport>;
  brokers?: Section<BrokersReport>;
  changes?: Section<Change>[];
}

/** Measures, and returns the report together with its circumstances. */
export async function underCircumstances<Report extends object>(
  { rounds, seconds }: { rounds: number; seconds: number },
  measure: () => Promise<Report>,
): Promise<Section<Report>> {
  const before = loadavg()[0]!;
  const report = await measure();
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    node: process.version,
    load: { before, after: loadavg()[0]! },
    rounds,
    secondsPerRun: seconds,
    ...report,
  };
}

export function describeMachine(): string {
  const [first] = cpus();
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
}
