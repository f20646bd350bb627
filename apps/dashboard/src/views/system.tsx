import type { ListedToken, Status, WebhookReport } from '@signalbox/operator';
import type { AuditEntry } from '@signalbox/protocol';
import { now, serverTime } from '../model/clock.ts';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { route, setParams } from '../model/route.ts';
import { canAct } from '../model/session.ts';
import { Age } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { bytes, counted, duration, timeOf } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import { Name, Text } from '../parts/text.tsx';
import { View } from '../parts/view.tsx';

const auditMs = 24 * 3_600_000;
const parts = { tokens: 'Tokens', audit: 'Audit log', webhooks: 'Webhooks' } as const;

/** The broker itself, and who may do what with it. */
export function SystemView() {
  const resource = useResource<Status>('status');
  const { broker, hold } = resource.data ?? {};
  const part = (route.value.params.part ?? 'tokens') as keyof typeof parts;
  return (
    <View title="System" summary={broker && `version ${broker.version}`} resource={resource}>
      {broker && (
        <div class="cards">
          <Space of={broker} />
          <Facts
            of={[
              ['Running for', duration(now.value - broker.started_at)],
              ['Receipts mean', broker.receipt_means],
              ['Connections', broker.connections.toLocaleString('en')],
              ['Inboxes held', broker.leases.toLocaleString('en')],
              ['Waiting', counted(broker.pending, 'message')],
              [
                'The oldest',
                broker.oldest_pending_at === undefined ? (
                  'none waits'
                ) : (
                  <Age key="oldest" at={broker.oldest_pending_at} />
                ),
              ],
              ['Clock', hold && !hold.at_start ? `leapt by ${duration(hold.to - hold.from)}` : 'believed'],
            ]}
          />
        </div>
      )}
      <nav class="tabs" aria-label="Parts of the system">
        {Object.entries(parts).map(([name, title]) => (
          <button
            key={name}
            type="button"
            aria-pressed={part === name}
            onClick={() => setParams({ part: name })}
          >
            {title}
          </button>
        ))}
      </nav>
      {part === 'tokens' && <Tokens />}
      {part === 'audit' && <Audit />}
      {part === 'webhooks' && <Webhooks />}
    </View>
  );
}

function Space({ of: { used_bytes, max_bytes, free_bytes } }: { of: Status['broker'] }) {
  const share = used_bytes / max_bytes;
  return (
    <div class="space">
      <div class="space-head">
        <b>{bytes(used_bytes)}</b> of {bytes(max_bytes)} used
      </div>
      <meter
        min={0}
        max={1}
        high={0.9}
        optimum={0}
        value={share}
        aria-label={`${Math.round(share * 100)} % of the store is used`}
      />
      <div class="quiet">{bytes(free_bytes)} free on the disk</div>
    </div>
  );
}

function Tokens() {
  const { data, error } = useResource<{ tokens: ListedToken[] }>('tokens', {}, { follows: false });
  const { token: id } = route.value.params;
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  const chosen = data.tokens.find((token) => token.id === id);
  return (
    <div class="split">
      <Table
        label="Tokens"
        rows={data.tokens}
        keyOf={(token) => token.id}
        selected={id}
        onSelect={(token) => setParams({ token: token.id })}
        empty="There are no tokens."
        columns={[
          { title: 'Agent', cell: ({ agent }) => <Name>{agent}</Name> },
          { title: 'Role', width: '11rem', cell: ({ role }) => <Name>{role}</Name> },
          { title: 'For', width: '9rem', isOptional: true, cell: purpose },
          {
            title: 'Issued',
            width: '6rem',
            isNumber: true,
            isOptional: true,
            cell: ({ created_at }) => <Age at={created_at} />,
          },
          { title: 'Expires', width: '8rem', isNumber: true, cell: expiry },
        ]}
      />
      {chosen && <TokenDetails of={chosen} />}
    </div>
  );
}

/** Says what a token is for. A token of an operator that another one issued is a session of this page. */
function purpose({ permissions, parent_id, role }: ListedToken): string {
  if (permissions.includes('mint')) return 'issuing tokens';
  if (parent_id === undefined) return role === 'operator' || role === 'observer' ? 'a person' : 'an agent';
  return permissions.length > 0 ? 'a browser' : 'a worker';
}

function TokenDetails({ of }: { of: ListedToken }) {
  const { id, agent, role, roles, created_at, expires_at, parent_id } = of;
  return (
    <Drawer title={agent} onClose={() => setParams({ token: undefined })}>
      <Facts
        of={[
          ['Role', <Text key="role">{roles?.join(', ') ?? role}</Text>],
          ['For', purpose(of)],
          ['Issued', timeOf(created_at)],
          ['Expires', expires_at === undefined ? 'never' : timeOf(expires_at)],
          ['Id', <Text key="id">{id}</Text>],
          [
            'Issued by',
            parent_id === undefined ? 'an operator' : <Text key="by">{`the token ${parent_id}`}</Text>,
          ],
        ]}
      />
      {canAct.value && (
        <div class="actions">
          <ConfirmButton
            label="Revoke"
            question="End its connections, and those of tokens that it issued, for good?"
            isDangerous
            onConfirm={() => act('tokens/revoke', { id }, () => ({ text: `A token of ${agent} is revoked` }))}
          />
        </div>
      )}
    </Drawer>
  );
}

function expiry({ expires_at }: ListedToken) {
  if (expires_at === undefined) return 'never';
  return expires_at > now.value ? `in ${duration(expires_at - now.value)}` : 'expired';
}

function Audit() {
  const since = Math.floor(serverTime() / 3_600_000) * 3_600_000 - auditMs;
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
      empty="Nothing was changed or refused in the last day."
      columns={[
        { title: 'When', width: '11rem', cell: ({ at }) => timeOf(at) },
        { title: 'What', width: '13rem', cell: ({ code }) => code.replaceAll('_', ' ') },
        { title: 'Who', width: '18%', cell: ({ agent }) => <Name>{agent ?? '–'}</Name> },
        { title: 'Detail', cell: ({ detail }) => <Name>{detail ?? '–'}</Name> },
      ]}
    />
  );
}

function Webhooks() {
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
