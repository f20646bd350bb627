import type { Chart } from '@signalbox/client/operator';
import type { Missing } from '@signalbox/daemon/dashboard';
import { useResource } from '../../model/resource.ts';

/** Reads the calls of each server or tool in the last so many minutes. Returns the line of one by its name. */
export function useRowLines(of: 'server_rows' | 'tool_rows', minutes: number) {
  const { data } = useResource<{ charts: Chart[] | Missing }>('charts', { of, minutes }, { follows: false });
  const lines = data === undefined || 'missing' in data.charts ? [] : (data.charts[0]?.lines ?? []);
  const byName = new Map(lines.map(({ name, values }) => [name, values]));
  return (name: string) => <RowLine values={byName.get(name) ?? []} />;
}

/** A small line of calls beside their number, from nothing to the most. */
function RowLine({ values }: { values: readonly (number | null)[] }) {
  const most = Math.max(...values.map((value) => value ?? 0));
  if (values.length < 2 || most <= 0) return null;
  const points = values.map(
    (value, at) => `${(at * 60) / (values.length - 1)},${15 - (14 * (value ?? 0)) / most}`,
  );
  return (
    <svg class="row-line" viewBox="0 0 60 16" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
