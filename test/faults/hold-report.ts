import type { HoldReport } from './hold-campaign.ts';
import { asTable } from './table.ts';

/** Writes the report of a campaign of holds for people, with each broken promise and its ids. */
export function holdText({ rounds, kills, calls, notes, ...problems }: HoldReport): string {
  const lists = {
    'pushed to a held agent': problems.pushed,
    'started under a hold': problems.started,
    lost: problems.lost,
    'made twice, or ended twice': problems.doubled,
    'out of order': problems.disordered,
    'ended by itself': problems.crashes,
  };
  const summary = asTable([
    ['under holds', 'count'],
    ['holds placed and released', rounds],
    ['kills', kills],
    ['calls', calls],
    ['notes to a held agent', notes],
    ...Object.entries(lists).map(([what, ids]) => [what, ids.length]),
  ]);
  const broken = Object.entries(lists).filter(([, ids]) => ids.length > 0);
  return [summary, ...broken.map(([what, ids]) => `${what}: ${ids.join(' ')}`)].join('\n\n');
}
