import type { ListedToken } from '@signalbox/client/operator';
import { now } from '../../model/clock.ts';
import { act } from '../../model/notices.ts';
import { useResource } from '../../model/resource.ts';
import { route, setParams } from '../../model/route.ts';
import { canAct } from '../../model/sign-in.ts';
import { Age } from '../../parts/age.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { Drawer, Facts } from '../../parts/drawer.tsx';
import { counted, duration, timeOf } from '../../parts/numbers.ts';
import { Table } from '../../parts/table.tsx';
import { Name, Text } from '../../parts/text.tsx';
import { IssueToken } from './issue-token.tsx';

/** Shows the tokens: their owners, and the end of their validity. */
export function TokensPart() {
  const { data, error } = useResource<{ tokens: ListedToken[]; roles: string[] }>(
    'tokens',
    {},
    { follows: false },
  );
  const { token: id, issue } = route.value.params;
  if (!data) return <p class="empty">{error ?? 'Reading …'}</p>;
  const chosen = data.tokens.find((token) => token.id === id);
  return (
    <>
      {canAct.value && (
        <div class="bar">
          <span>{counted(data.tokens.length, 'token')}</span>
          <button type="button" class="button" onClick={() => setParams({ issue: 'new', token: undefined })}>
            Issue a token
          </button>
        </div>
      )}
      <div class="split">
        <Table
          label="Tokens"
          rows={data.tokens}
          keyOf={(token) => token.id}
          selected={id}
          onSelect={(token) => setParams({ token: token.id, issue: undefined })}
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
        {issue !== undefined && canAct.value ? (
          <IssueToken roles={rolesOf(data)} onClose={() => setParams({ issue: undefined })} />
        ) : (
          chosen && <TokenDetails of={chosen} />
        )}
      </div>
    </>
  );
}

/** Lists the roles of agents: those of the configuration, and others that tokens have. */
function rolesOf({ tokens, roles }: { tokens: readonly ListedToken[]; roles: readonly string[] }): string[] {
  const held = tokens.filter((token) => purpose(token) === 'an agent' && token.role !== 'orchestrator');
  return [...new Set([...roles, ...held.map(({ role }) => role)])];
}

/** Returns the purpose of a token, in words. */
function purpose({ permissions, parent_id, sign_in, role }: ListedToken): string {
  if (sign_in) return 'a browser';
  if (permissions.includes('mint')) return 'issuing tokens';
  if (permissions.includes('approver')) return 'decisions';
  if (permissions.length > 0) return 'a person';
  return parent_id === undefined || role === 'orchestrator' ? 'an agent' : 'a worker';
}

function TokenDetails({ of }: { of: ListedToken }) {
  const { id, agent, role, roles, created_at, expires_at, parent_id } = of;
  return (
    <Drawer title={agent} onClose={() => setParams({ token: undefined })}>
      <Facts
        of={[
          ['Role', <Text key="role">{roles?.join(', ') ?? role}</Text>],
          ['For', purpose(of)],
          ['Decides on calls of', of.approves && <Text key="approves">{of.approves.join(', ')}</Text>],
          ['Damaged', of.damaged && 'its row on the disk: it lets nobody in'],
          ['Issued', timeOf(created_at)],
          ['Expires', expires_at === undefined ? 'never' : timeOf(expires_at)],
          ['Id', <Text key="id">{id}</Text>],
          [
            'Ends with',
            parent_id === undefined ? 'no other token' : <Text key="by">{`the token ${parent_id}`}</Text>,
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
