import type { ScheduleReport, WebhookReport } from '@signalbox/client/operator';
import { now } from '../../model/clock.ts';
import { useResource } from '../../model/resource.ts';
import { Age } from '../../parts/age.tsx';
import { duration, timeOf } from '../../parts/numbers.ts';
import { Table } from '../../parts/table.tsx';
import { Line, Name, Text } from '../../parts/text.tsx';

/** Shows the messages that the broker sends at regular times. */
export function SchedulesPart() {
  const { data, error } = useResource<{ schedules: ScheduleReport[] }>('schedules');
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  return (
    <Table
      label="Schedules"
      rows={data.schedules}
      keyOf={({ name }) => name}
      empty="No schedule is configured."
      columns={[
        { title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
        { title: 'Sends', cell: ({ kind, to }) => <Text>{`${kind} to ${to}`}</Text> },
        { title: 'When', isOptional: true, cell: (one) => <Text>{rhythm(one)}</Text> },
        { title: 'Next', width: '7rem', isNumber: true, cell: ({ next_at }) => next(next_at) },
        {
          title: 'Last',
          width: '7rem',
          isNumber: true,
          cell: ({ last_at }) => (last_at === undefined ? '–' : <Age at={last_at} />),
        },
        {
          title: 'Last refusal',
          isOptional: true,
          cell: ({ last_refusal }) => <Line>{last_refusal ?? '–'}</Line>,
        },
      ]}
    />
  );
}

function rhythm({ cron, time_zone = 'UTC', every_ms }: ScheduleReport): string {
  if (cron !== undefined) return `${cron} (${time_zone})`;
  return every_ms === undefined ? 'unknown' : `every ${duration(every_ms)}`;
}

function next(at: number | undefined) {
  if (at === undefined) return 'never';
  return <span title={timeOf(at)}>{at > now.value ? `in ${duration(at - now.value)}` : 'now'}</span>;
}

/** Shows the webhooks by which services send messages. */
export function WebhooksPart() {
  const { data, error } = useResource<{ hooks: WebhookReport[] }>('webhooks');
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  return (
    <Table
      label="Webhooks"
      rows={data.hooks}
      keyOf={({ name }) => name}
      empty="No webhook is configured."
      columns={[
        { title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
        { title: 'Sends', cell: ({ kind, to }) => <Text>{`${kind} to ${to}`}</Text> },
        { title: 'Stored', width: '5rem', isNumber: true, cell: ({ stored }) => stored },
        {
          title: 'Repeated',
          width: '5.5rem',
          isNumber: true,
          isOptional: true,
          cell: ({ repeated }) => repeated,
        },
        { title: 'Refused', width: '5rem', isNumber: true, cell: ({ refused }) => refused },
        {
          title: 'Last delivery',
          width: '7rem',
          isNumber: true,
          cell: ({ delivered_at }) => (delivered_at === undefined ? '–' : <Age at={delivered_at} />),
        },
      ]}
    />
  );
}
