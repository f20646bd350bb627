import type { Missing } from '@signalbox/daemon/dashboard';
import type { Approval } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useState } from 'preact/hooks';
import { read } from '../../api/request.ts';
import { failureText, notify } from '../../model/notices.ts';
import { useResource } from '../../model/resource.ts';
import { Age } from '../../parts/age.tsx';
import { StateMark, type Tone } from '../../parts/state-mark.tsx';
import { Table } from '../../parts/table.tsx';
import { Line, Name, Text } from '../../parts/text.tsx';
import { MissingNote } from '../../parts/view.tsx';

/** An answer to the read `approvals`. */
export interface ApprovalsPage {
  approvals: Approval[] | Missing;
  more: boolean;
  cursor?: string;
}

const pageSize = 200;

const tones: Readonly<Record<Approval['state'], Tone>> = {
  pending: 'busy',
  approved: 'good',
  denied: 'bad',
  expired: 'soon',
  cancelled: 'quiet',
  superseded: 'soon',
};

/** Shows the calls that were decided on, or ended without a decision, the newest first. */
export function Ended({
  selected,
  onSelect,
}: {
  selected: string | undefined;
  onSelect: (id: string) => void;
}) {
  const newest = useResource<ApprovalsPage>('approvals', { all: 'true', limit: pageSize });
  const [older, setOlder] = useState<ApprovalsPage>();
  const [isReading, setReading] = useState(false);
  const first = newest.data;
  if (!first) return <p class="empty">{newest.error ?? 'Reading …'}</p>;
  if (!Array.isArray(first.approvals)) return <MissingNote message={first.approvals.missing.message} />;
  const last = older ?? first;
  const further = Array.isArray(older?.approvals) ? older.approvals : [];
  // The newest page moves on while the older ones stay, so some calls are in both.
  const all = new Map([...further, ...first.approvals].map((one) => [one.id, one]));
  const rows = [...all.values()].filter(({ state }) => state !== 'pending');
  rows.sort((a, b) => (b.ended_at ?? 0) - (a.ended_at ?? 0));
  const readMore = async (): Promise<void> => {
    setReading(true);
    try {
      const page = await read<ApprovalsPage>('approvals', {
        all: 'true',
        limit: pageSize,
        cursor: last.cursor,
      });
      if (Array.isArray(page.approvals))
        setOlder({ ...page, approvals: [...all.values(), ...page.approvals] });
    } catch (error) {
      notify({ tone: 'bad', text: failureText(error) });
    } finally {
      setReading(false);
    }
  };
  return (
    <div class="stack">
      <Table
        label="Ended approvals"
        rows={rows}
        keyOf={({ id }) => id}
        selected={selected}
        onSelect={({ id }) => onSelect(id)}
        empty="No call that waited for a person has ended."
        columns={[
          {
            title: 'End',
            width: '9.5rem',
            cell: ({ state }) => <StateMark tone={tones[state]}>{state}</StateMark>,
          },
          { title: 'Tool', cell: (one) => <Name>{toolLabel(one)}</Name> },
          { title: 'Agent', width: '18%', cell: ({ agent }) => <Name>{agent}</Name> },
          { title: 'Decided by', width: '16%', cell: ({ by }) => (by ? <Name>{by.agent}</Name> : '–') },
          {
            title: 'Reason',
            isOptional: true,
            cell: ({ reason }) => (reason === undefined ? '–' : <Line>{reason}</Line>),
          },
          { title: 'Ended', width: '5rem', isNumber: true, cell: ({ ended_at }) => <Age at={ended_at} /> },
        ]}
      />
      {last.more && (
        <p class="bar">
          <Text>{`${rows.length} of the newest`}</Text>
          <button type="button" class="button" disabled={isReading} onClick={() => void readMore()}>
            {isReading ? '…' : 'Show older ones'}
          </button>
        </p>
      )}
    </div>
  );
}
