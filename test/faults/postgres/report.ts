import { asTable } from '../table.ts';
import type { EventRecord, PostgresCampaignReport } from './campaign.ts';

/** Writes the report for people: recovery by kind of event, the results of the clients, and each broken promise. */
export function postgresCampaignText(report: PostgresCampaignReport): string {
  const { verdict, mail, fenced, faults, directory } = report;
  const summary = asTable([
    ['', 'count'],
    ['events', report.events.length],
    ['messages with a receipt', mail.sent + verdict.notes],
    ['  that came again', mail.again],
    ...Object.entries(mail.refusals).map(([code, n]) => [`  refused: ${code}`, n]),
    ['calls', verdict.calls],
    ['  results', verdict.results],
    ...Object.entries(verdict.typed).map(([code, n]) => [`  ${code}`, n]),
    ['brokers whose incarnation was over', fenced],
    ['broken promises', faults.length],
  ]);
  const kept = faults.length > 0 ? [`logs: ${directory}`] : [];
  return [eventTable(report.events), summary, ...faults, ...kept].join('\n\n');
}

function eventTable(events: readonly EventRecord[]): string {
  const groups = Map.groupBy(events, ({ kind, isAtDefaults }) =>
    isAtDefaults ? `${kind}, default lease` : kind,
  );
  const rows = [...groups]
    .sort()
    .map(([kind, group]) => [
      kind,
      group.length,
      ...columnsOf(group.map(({ recoveryMs }) => recoveryMs)),
      ...columnsOf(group.map(({ sinceLossMs }) => sinceLossMs)),
      group.reduce((sum, { faults }) => sum + faults.length, 0),
    ]);
  const times = ['median', 'p99', 'worst'];
  return asTable([
    [
      'event',
      'events',
      ...times.map((time) => `${time} (ms)`),
      ...times.map((time) => `since loss: ${time}`),
      'faults',
    ],
    ...rows,
  ]);
}

/** Writes the median, the 99th percentile and the worst of some times. */
function columnsOf(times: readonly (number | undefined)[]): string[] {
  const sorted = times.flatMap((ms) => (ms === undefined ? [] : [ms])).sort((a, b) => a - b);
  const at = (part: number): string => {
    const ms = sorted[Math.ceil(part * sorted.length) - 1];
    return ms === undefined ? '-' : String(Math.round(ms));
  };
  return [at(0.5), at(0.99), at(1)];
}
