import type { FairnessRow } from '../fleet/fleet-report.ts';
import type { Cost, Ladder } from '../growth/growth-report.ts';
import { ownNames } from '../peers/signalbox.ts';
import type {
  AsksReport,
  Benchmarks,
  CallRow,
  CallsReport,
  MessageRow,
  MessagesReport,
  PeerFacts,
} from './benchmarks.ts';
import { table } from './table.ts';

/** A target and the figure that was measured. */
export interface TargetRow {
  what: string;
  /** `≥ 1.3×`. */
  target: string;
  figure: string;
  isMet: boolean;
  /** The part of the target by which the figure misses it or exceeds it: 0.5 is 50 %. */
  by: number;
  /** Shared by targets that ask the same of things of one kind. */
  kind: string;
}

/** Returns all targets for which the sections have figures. */
export function targetsOf({ messages, calls, asks, growth, fleet }: Benchmarks): TargetRow[] {
  return [
    ...(messages ? ofMessages(messages) : []),
    ...(calls ? ofCalls(calls) : []),
    ...(asks ? ofAsks(asks) : []),
    ...(growth?.ladders.flatMap(ofLadder) ?? []),
    ...(fleet ? [...ofFairness('calls', fleet.calls), ...ofFairness('messages', fleet.messages)] : []),
    ...(fleet ? ofRecovery(fleet.recovery.filter(({ victim }) => victim === 'broker')) : []),
  ];
}

/** Returns a table with a row for each kind: the targets that are missed, or the one that is met most narrowly. */
export function targetTable(targets: readonly TargetRow[]): string {
  const shown = [...Map.groupBy(targets, ({ kind }) => kind).values()].flatMap((alike) => {
    const missed = alike.filter(({ isMet }) => !isMet);
    return missed.length > 0 ? missed : alike.toSorted((a, b) => a.by - b.by).slice(0, 1);
  });
  const rows = shown.map(({ what, target, figure, isMet, by }) => {
    const missed = `**${by >= 0.095 ? Math.round(by * 100) : (by * 100).toFixed(1)} %**`;
    return [what, target, figure, isMet ? '' : missed];
  });
  return table(['what', 'target', 'figure', 'missed by'], rows, 4);
}

/** Compares a figure with a bound in the same unit. */
function judged(
  what: string,
  isWanted: '≥' | '≤',
  bound: number,
  figure: number,
  unit: { sign: string; digits: number },
  { alsoTold = '', kind = what }: { alsoTold?: string; kind?: string } = {},
): TargetRow {
  const { sign, digits } = unit;
  return {
    what,
    target: `${isWanted} ${bound.toLocaleString('en')}${sign}`,
    figure: `${figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}${sign}${alsoTold}`,
    isMet: isWanted === '≥' ? figure >= bound : figure <= bound,
    by: Math.abs(figure / bound - 1),
    kind,
  };
}

const times = { sign: '×', digits: 2 };

function ofMessages({ peers, rows }: MessagesReport): TargetRow[] {
  const find = (workload: string, peer: string): MessageRow | undefined =>
    rows.find((row) => row.workload === workload && row.peer === peer);
  const against = (peer: string, workload: string, of: 'perSecond' | 'p50Ms', bound: number): TargetRow[] => {
    const [ours, theirs] = [find(workload, 'full'), find(workload, peer)];
    const title = peers.find(({ name }) => name === peer)?.title;
    if (!ours || !theirs || !title) return [];
    const isRate = of === 'perSecond';
    const what = isRate ? `request, 64: per s against ${title}` : `request, 1: p50 against ${title}`;
    return [judged(what, isRate ? '≥' : '≤', bound, ours[of] / theirs[of], times)];
  };
  const enqueue = (what: string, isMeant: (peer: PeerFacts) => boolean): TargetRow[] => {
    const ours = find('enqueue/64/300B', 'full');
    const best = peers
      .filter((peer) => !ownNames.includes(peer.name) && !peer.earlierOf && isMeant(peer))
      .map(({ name, title }) => ({ title, perSecond: find('enqueue/64/300B', name)?.perSecond ?? 0 }))
      .sort((a, b) => b.perSecond - a.perSecond)[0];
    if (!ours || !best || best.perSecond === 0) return [];
    const rate = `enqueue, 64: per s against the best peer${what} (${best.title})`;
    return [judged(rate, '≥', 1, ours.perSecond / best.perSecond, times)];
  };
  return [
    ...against('redis-everysec', 'request/64/300B', 'perSecond', 1.3),
    ...against('redis-always', 'request/64/300B', 'perSecond', 2),
    ...against('redis-everysec-dedupe', 'request/64/300B', 'perSecond', 2),
    ...against('redis-always-dedupe', 'request/64/300B', 'perSecond', 2),
    ...against('redis-always', 'request/1/300B', 'p50Ms', 0.6),
    ...against('nats', 'request/1/300B', 'p50Ms', 1.2),
    ...enqueue('', () => true),
    ...enqueue(' with the same promise', ({ promisesSame }) => promisesSame === true),
  ];
}

function ofCalls({ rows }: CallsReport): TargetRow[] {
  const find = (name: string, isMany: boolean): CallRow | undefined =>
    rows.find((row) => row.name === name && row.inFlight > 1 === isMany);
  const p50 = (name: string): number => find(name, false)?.p50Ms ?? Number.NaN;
  const rate = (name: string): number => find(name, true)?.perSecond ?? Number.NaN;
  const at = (name: string): string => `${find(name, true)?.inFlight}`;
  const milliseconds = { sign: ' ms', digits: 2 };
  const targets: [what: string, wanted: '≥' | '≤', bound: number, figure: number, unit?: typeof times][] = [
    ['over stdio, 1: p50 against the naive proxy', '≤', 3, p50('signalbox') / p50('naive')],
    [
      `over stdio, ${at('signalbox')}: per s against the naive proxy`,
      '≥',
      0.8,
      rate('signalbox') / rate('naive'),
    ],
    [
      'not safe to repeat, 1: p50 against one that is safe',
      '≤',
      1.4,
      p50('signalbox-journaled') / p50('signalbox'),
    ],
    ['through a shim, 1: added to the p50', '≤', 0.1, p50('signalbox-shim') - p50('signalbox'), milliseconds],
    ['over HTTP, 1: p50 against the naive proxy', '≤', 2.5, p50('signalbox-http') / p50('naive-http')],
    ['over HTTP, 1: p50 against mcp-proxy', '≤', 1, p50('signalbox-http') / p50('mcp-proxy')],
    [
      `over HTTP, ${at('signalbox-http')}: per s against the naive proxy`,
      '≥',
      1,
      rate('signalbox-http') / rate('naive-http'),
    ],
  ];
  return targets
    .map(([what, wanted, bound, figure, unit = times]) => judged(`call ${what}`, wanted, bound, figure, unit))
    .filter(({ by }) => Number.isFinite(by));
}

function ofAsks({ rows }: AsksReport): TargetRow[] {
  const p50 = (name: string): number =>
    rows.find((row) => row.name === name && row.inFlight === 1)?.p50Ms ?? Number.NaN;
  return [judged('ask over A2A, 1: p50 against the library', '≤', 3, p50('a2a') / p50('library'), times)];
}

/** Returns the worst size of each cost, at which the figure is highest above its bound. */
function ofLadder({ name, sizes, costs }: Ladder): TargetRow[] {
  return costs.flatMap((cost) => {
    const worst = sizes
      .map(({ label }, i) => ({ label, ...boundOf(cost, i) }))
      .filter(({ figure, bound }) => Number.isFinite(figure / bound))
      .sort((a, b) => b.figure / b.bound - a.figure / a.bound)[0];
    if (!worst) return [];
    const { label, figure, bound, unit } = worst;
    return [
      judged(`${name}: ${cost.name}`, '≤', bound, figure, unit, {
        alsoTold: ` at ${label}`,
        kind: `${name} ≤ ${bound} ${unit.sign}`,
      }),
    ];
  });
}

function boundOf({ values, target, unit }: Cost, i: number) {
  const value = values[i] ?? Number.NaN;
  if (!target) return { figure: value, bound: Number.NaN, unit: times };
  if ('timesSmallest' in target) {
    return { figure: value / (values[0] ?? Number.NaN), bound: target.timesSmallest, unit: times };
  }
  return { figure: value, bound: target.atMost[i] ?? Number.NaN, unit: { sign: ` ${unit}`, digits: 1 } };
}

function ofFairness(what: string, rows: readonly FairnessRow[]): TargetRow[] {
  return rows.flatMap(({ condition, shares }) =>
    shares
      ? [
          judged(
            `${what}, ${condition}: least share of a modest worker`,
            '≥',
            80,
            shares.min * 100,
            percent,
            { kind: 'shares' },
          ),
        ]
      : [],
  );
}

const percent = { sign: ' %', digits: 0 };

/** Returns the target for recovery. A worker that did not come back in time counts as the worst possible figure. */
function ofRecovery(rows: readonly { kills: readonly { workersMs: readonly (number | null)[] }[] }[]) {
  const waited = rows
    .flatMap(({ kills }) => kills.flatMap(({ workersMs }) => workersMs))
    .map((ms) => ms ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => a - b);
  if (waited.length === 0) return [];
  const p99 = waited[Math.min(waited.length - 1, Math.floor(waited.length * 0.99))]!;
  return [
    judged('kill -9 of the broker until all workers call again, p99', '≤', 1500, p99, {
      sign: ' ms',
      digits: 0,
    }),
  ];
}
