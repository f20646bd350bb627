import type { CampaignReport, Kill } from './campaign.ts';
import { doubledOf, lostOf } from './oracle.ts';
import { asTable } from './table.ts';

/** Returns true if every promise was kept. */
export function passed({ verdict, crashes, kills }: CampaignReport): boolean {
  const broken = [...lostOf(verdict), ...doubledOf(verdict), ...verdict.misreported, ...crashes];
  return broken.length === 0 && verdict.endedTwice === 0 && kills.length > 0;
}

/** Writes the report for people: kills by point, the results of the callers, and each broken promise with its ids. */
export function campaignText(report: CampaignReport): string {
  const { verdict, crashes } = report;
  const typed = Object.values(verdict.typed).reduce((sum, n) => sum + n, 0);
  const orphans = Object.values(verdict.orphans).reduce((sum, n) => sum + n, 0);
  const worst = Math.max(0, ...report.kills.map(({ recoveryMs }) => recoveryMs ?? 0));
  const summary = asTable([
    ['', 'count'],
    ['runs', report.runs],
    ['kills', report.kills.length],
    ['calls', verdict.calls],
    ['results', verdict.results],
    ['typed outcomes', typed],
    ...Object.entries(verdict.typed).map(([code, n]) => [`  ${code}`, n]),
    ['callers that died', orphans],
    ...Object.entries(verdict.orphans).map(([state, n]) => [`  status ${state}`, n]),
    ['notes with a receipt', verdict.notes],
    ['lost', lostOf(verdict).length],
    ['doubled', doubledOf(verdict).length],
    ['said not to have run, but ran', verdict.misreported.length],
    ['ended twice', verdict.endedTwice],
    ['processes that ended by themselves', crashes.length],
    ['worst recovery (ms)', Math.round(worst)],
  ]);
  return [killTable(report.kills), summary, ...problems(report)].join('\n\n');
}

function killTable(kills: readonly Kill[]): string {
  const groups = Map.groupBy(kills, ({ victim, point }) =>
    point === 'moment' ? `${victim} at a moment` : point,
  );
  const rows = [...groups].sort().map(([point, group]) => {
    const times = group
      .flatMap(({ recoveryMs }) => (recoveryMs === undefined ? [] : [recoveryMs]))
      .sort((a, b) => a - b);
    const median = times[Math.floor((times.length - 1) / 2)];
    const worst = times.at(-1);
    return [point, group.length, inMs(median), inMs(worst)];
  });
  return asTable([['killed at', 'kills', 'median recovery (ms)', 'worst (ms)'], ...rows]);
}

function inMs(ms: number | undefined): string {
  return ms === undefined ? '-' : String(Math.round(ms));
}

function problems({ verdict, crashes }: CampaignReport): string[] {
  const { silent, inventedResults, unrecorded, unsettled, lostNotes } = verdict;
  const lists = {
    'no end by the deadline': silent,
    'a result of what never ran': inventedResults,
    'a result without a record': unrecorded,
    'left waiting in the database': unsettled,
    'a receipt, but no note': lostNotes,
    'ran twice': verdict.doubledCalls,
    'stored twice': verdict.doubledNotes,
    'said not to have run, but ran': verdict.misreported,
    'ended by itself': crashes,
  };
  return Object.entries(lists).flatMap(([what, ids]) =>
    ids.length > 0 ? [`${what}: ${ids.join(' ')}`] : [],
  );
}
