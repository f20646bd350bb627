import type { AuditEntry } from '@signalbox/protocol';
import { serverTime } from '../../model/clock.ts';
import { useResource } from '../../model/resource.ts';
import { clockTime, dayOf } from '../../parts/numbers.ts';
import { Table } from '../../parts/table.tsx';
import { Line, Name } from '../../parts/text.tsx';

const hour = 3_600_000;
const lookBackMs = 24 * hour;

/** Shows changes, refusals and losses of the last day. */
export function AuditPart() {
  const since = Math.floor(serverTime() / hour) * hour - lookBackMs;
  const { data, error } = useResource<{ entries: AuditEntry[]; more: boolean }>(
    'audit',
    { since, limit: 1000 },
    { follows: false },
  );
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  return (
    <Table
      label="Changes, refusals and losses of the last day"
      rows={data.entries.toReversed()}
      keyOf={(entry) => JSON.stringify(entry)}
      headingOf={({ at }) => dayOf(at)}
      empty="Nothing was changed or refused in the last day."
      columns={[
        { title: 'When', width: '6rem', cell: ({ at }) => clockTime(at) },
        { title: 'What', width: '13rem', cell: ({ code }) => code.replaceAll('_', ' ') },
        { title: 'Who', width: '18%', cell: ({ agent }) => <Name>{agent ?? '–'}</Name> },
        {
          title: 'Detail',
          cell: ({ detail, host }) => (
            <Line>{`${detail ?? '–'}${host === undefined ? '' : ` (host ${host})`}`}</Line>
          ),
        },
      ]}
    />
  );
}
