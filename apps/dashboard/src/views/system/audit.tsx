import type { AuditEntry } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { serverTime } from '../../model/clock.ts';
import { useResource } from '../../model/resource.ts';
import { route, setParams } from '../../model/route.ts';
import { clockTime, counted, dayOf } from '../../parts/numbers.ts';
import { Table } from '../../parts/table.tsx';
import { Line, Name } from '../../parts/text.tsx';

const hour = 3_600_000;
const lookBackMs = 24 * hour;
const most = 1000;

const kinds = [
  ['', 'all'],
  ['change', 'changes'],
  ['refusal', 'refusals'],
  ['loss', 'losses'],
] as const;

/** Shows what was changed, refused and lost in the last day. */
export function AuditPart() {
  const { kind = '' } = route.value.params;
  const since = Math.floor(serverTime() / hour) * hour - lookBackMs;
  const { data, error } = useResource<{ entries: AuditEntry[]; more: boolean }>(
    'audit',
    { since, limit: most, kind },
    { follows: false },
  );
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  const { entries, more } = data;
  return (
    <>
      <div class="bar">
        <label class="filter">
          <span>Kind</span>
          <select value={kind} onChange={(event) => setParams({ kind: event.currentTarget.value })}>
            {kinds.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <span class="quiet">
          {more ? `the newest ${most} rows` : counted(entries.length, 'row')} of the last day
        </span>
      </div>
      <Table
        label="Audit log"
        rows={entries.toReversed()}
        keyOf={(entry) => JSON.stringify(entry)}
        headingOf={({ at }) => dayOf(at)}
        empty="There is nothing of the kind."
        columns={[
          { title: 'When', width: '7rem', cell: ({ at }) => clockTime(at) },
          { title: 'What', width: '11rem', cell: ({ code }) => <Line>{code.replaceAll('_', ' ')}</Line> },
          { title: 'Who', width: '16%', cell: ({ agent }) => <Name>{agent ?? '–'}</Name> },
          { title: 'About', width: '20%', cell: (entry) => <Name>{aboutOf(entry)}</Name> },
          {
            title: 'Detail',
            cell: ({ detail, host, count }) => (
              <Line>{`${count > 1 ? `${count} times: ` : ''}${detail || '–'}${host === undefined ? '' : ` (host ${host})`}`}</Line>
            ),
          },
        ]}
      />
    </>
  );
}

/** Returns the name of the tool, the agent, the server or the field that an entry is about. */
function aboutOf({ name, server }: AuditEntry): string {
  return name === undefined ? '–' : toolLabel({ tool: name, server });
}
