import type { AgentSummary } from '@signalbox/client/operator';
import type { Missing } from '@signalbox/daemon/dashboard';
import type { BudgetUse, CallRecord } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { visibleLine } from '@signalbox/protocol/visible-text';
import { useState } from 'preact/hooks';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { canAct } from '../model/sign-in.ts';
import { Age, Ago } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { counted, duration } from '../parts/numbers.ts';
import { StateMark, type Tone } from '../parts/state-mark.tsx';
import { Table } from '../parts/table.tsx';
import { Block, Name, Text } from '../parts/text.tsx';
import { Filter, MissingNote, View } from '../parts/view.tsx';
import { AgentHold } from './holds/agent-hold.tsx';
import { Outcome } from './outcome.tsx';
import { isOverTime, OverTimeTabs, OverTimeView } from './over-time.tsx';

interface Answer {
  agents: AgentSummary[];
  more: boolean;
  calls: CallRecord[] | Missing;
  budgets?: BudgetUse[];
}

const states: Readonly<Record<AgentSummary['state'], { tone: Tone; word: string }>> = {
  working: { tone: 'busy', word: 'working' },
  idle: { tone: 'good', word: 'idle' },
  connected: { tone: 'good', word: 'connected' },
  tools_lost: { tone: 'bad', word: 'tools lost' },
  failing: { tone: 'bad', word: 'failing' },
  failed: { tone: 'bad', word: 'failed' },
  offline: { tone: 'quiet', word: 'offline' },
  group: { tone: 'quiet', word: 'group' },
};

/** The brokers through which an agent is connected, where several share the store. */
const brokerColumn = {
  title: 'Broker',
  width: '8rem',
  isOptional: true,
  cell: ({ brokers }: AgentSummary) => <Name>{brokers.join(', ') || '–'}</Name>,
};

/** All agents that are connected, and those with mail. */
export function AgentsView() {
  const resource = useResource<Answer>('agents');
  const { agent, filter = '' } = route.value.params;
  const all = resource.data?.agents ?? [];
  const calls = resource.data?.calls ?? [];
  const running = Map.groupBy(Array.isArray(calls) ? calls : [], (call) => call.agent);
  const wanted = filter.toLowerCase();
  const stateOf = (one: AgentSummary) => shownState(one, running.get(one.agent) ?? []);
  const rows = all.filter((one) =>
    [one.agent, ...one.roles, stateOf(one).word].some((text) => text.toLowerCase().includes(wanted)),
  );
  const connected = all.filter(({ connected_at }) => connected_at !== undefined);
  const working = connected.filter((one) => stateOf(one).tone === 'busy').length;
  const chosen = all.find((one) => one.agent === agent);
  if (isOverTime()) return <OverTimeView title="Agents" of="agents" />;
  return (
    <View
      title="Agents"
      summary={
        resource.data &&
        `${counted(connected.length, 'agent')} connected, ${working} working${resource.data.more ? '; more have mail' : ''}`
      }
      resource={resource}
    >
      <OverTimeTabs />
      <div class="filters">
        <Filter label="Name, role or state" value={filter} onChange={(text) => setParams({ filter: text })} />
      </div>
      {!Array.isArray(calls) && <MissingNote message={calls.missing.message} />}
      <div class="split">
        <Table
          label="Agents"
          rows={rows}
          keyOf={(one) => one.agent}
          selected={agent}
          onSelect={(one) => setParams({ agent: one.agent })}
          empty={all.length === 0 ? 'No agent is connected, and no mail waits.' : 'No agent matches.'}
          columns={[
            { title: 'Agent', width: '22%', cell: (one) => <Name>{one.agent}</Name> },
            {
              title: 'State',
              width: '12.5rem',
              cell: (one) => <State of={one} calls={running.get(one.agent) ?? []} />,
            },
            {
              title: 'Role',
              width: '8rem',
              isOptional: true,
              cell: (one) => <Name>{one.roles.join(', ') || '–'}</Name>,
            },
            ...(all.some(({ brokers }) => brokers.length > 0) ? [brokerColumn] : []),
            { title: 'Mail', width: '8rem', isNumber: true, cell: (one) => <Mail of={one} /> },
            {
              title: 'For',
              width: '5rem',
              isNumber: true,
              isOptional: true,
              cell: (one) => (one.connected_at === undefined ? '–' : <Age at={one.connected_at} />),
            },
            {
              title: 'Restarts',
              width: '5rem',
              isNumber: true,
              isOptional: true,
              cell: ({ restarts }) => restarts ?? '–',
            },
            { title: 'Now', cell: (one) => <Doing of={one} calls={running.get(one.agent) ?? []} /> },
          ]}
        />
        {chosen && (
          <Details
            of={chosen}
            calls={running.get(chosen.agent) ?? []}
            budgets={resource.data?.budgets ?? []}
          />
        )}
      </div>
    </View>
  );
}

/** Returns the state of an agent: what it announces, and what its calls that have not ended tell. */
function shownState(
  { state, running, on_hold }: AgentSummary,
  calls: readonly CallRecord[],
): { tone: Tone; word: string } {
  const { tone, word } = states[state];
  if (on_hold !== undefined) return { tone: 'soon', word: running > 0 ? `held, ${word}` : 'held' };
  const atWork = Math.max(running, calls.filter((call) => call.state === 'running').length);
  if (state !== 'working' && state !== 'idle' && state !== 'connected') return { tone, word };
  if (calls.length > 0 && calls.every((call) => call.state !== 'running'))
    return { tone: 'soon', word: calls.some(asksPerson) ? 'waits for a person' : 'waiting' };
  if (atWork === 0) return { tone, word };
  return { tone: 'busy', word: atWork > 1 ? `working ${atWork}` : 'working' };
}

function State({ of, calls }: { of: AgentSummary; calls: readonly CallRecord[] }) {
  const { tone, word } = shownState(of, calls);
  return <StateMark tone={tone}>{word}</StateMark>;
}

function asksPerson({ state }: CallRecord): boolean {
  return state === 'awaiting_approval';
}

function Mail({ of: { mail, oldest_at } }: { of: AgentSummary }) {
  if (!mail) return <span class="unknown">unknown</span>;
  if (mail.unread === 0) return <>–</>;
  return (
    <>
      {mail.unread.toLocaleString('en')}
      {oldest_at !== undefined && (
        <span class="beside">
          <Age at={oldest_at} />
        </span>
      )}
    </>
  );
}

function Doing({
  of: { last_output, turns = [] },
  calls,
}: {
  of: AgentSummary;
  calls: readonly CallRecord[];
}) {
  const [call] = calls;
  const used = turns.flatMap((turn) => turn.calls ?? []);
  if (call)
    return (
      <span class="name">
        <span class="quiet">
          for <Age at={call.started_at ?? call.received_at} />:{' '}
        </span>
        <Text>{toolLabel(call)}</Text>
        {calls.length > 1 && ` and ${calls.length - 1} more`}
      </span>
    );
  if (used[0])
    return (
      <span class="name">
        <Text>{used[0].title}</Text>
        {used.length > 1 && ` and ${used.length - 1} more`}
      </span>
    );
  const [turn] = turns;
  if (turn)
    return (
      <span class="name">
        <span class="quiet">
          for <Age at={turn.since} />:{' '}
        </span>
        <Text>{`${turn.kind} of ${turn.from}`}</Text>
        {turns.length > 1 && ` and ${turns.length - 1} more`}
      </span>
    );
  if (!last_output) return <>–</>;
  return (
    <span class="name" title={visibleLine(last_output.text)}>
      {last_output.at !== undefined && (
        <span class="quiet">
          <Ago at={last_output.at} />:{' '}
        </span>
      )}
      <Text>{last_output.text}</Text>
    </span>
  );
}

/** Returns the counts of an inbox as a text. For an inbox at another broker, `held` is unknown. */
function mailText({ unread, held }: NonNullable<AgentSummary['mail']>): string {
  return held === undefined ? `${unread} unread` : `${unread} unread, ${held} handed out`;
}

/** Says how much of a budget is used, and what is left. */
function budgetText({ used, calls, window_ms, wait_ms }: BudgetUse): string {
  const left =
    wait_ms > 0 ? `the next in ${duration(wait_ms)}` : `${(calls - used).toLocaleString('en')} left`;
  return `${used.toLocaleString('en')} of ${counted(calls, 'call')} in ${duration(window_ms)} used, ${left}`;
}

function Details({
  of,
  calls,
  budgets,
}: {
  of: AgentSummary;
  calls: readonly CallRecord[];
  budgets: readonly BudgetUse[];
}) {
  const { agent, roles, clients, brokers, connected_at, mail, oldest_at, last_output, announced } = of;
  const { turns = [] } = of;
  const own = budgets.find((one) => one.agent === agent);
  const shared = budgets.find((one) => one.agent === undefined && roles.includes(one.role));
  const output = last_output?.text ?? (announced.length > 0 ? JSON.stringify(announced, null, 2) : undefined);
  return (
    <Drawer title={agent} onClose={() => setParams({ agent: undefined })}>
      <Facts
        of={[
          ['State', <State key="state" of={of} calls={calls} />],
          ['Role', <Text key="roles">{roles.join(', ') || 'none'}</Text>],
          ['Connected', connected_at === undefined ? 'no' : <Age key="age" at={connected_at} />],
          ['Runs', clients.length === 0 ? undefined : <Text key="clients">{clients.join(', ')}</Text>],
          ['Broker', brokers.length === 0 ? undefined : <Text key="brokers">{brokers.join(', ')}</Text>],
          ['Mail', mail ? mailText(mail) : 'unknown'],
          ['Restarts', of.restarts ?? undefined],
          ['Budget', own && budgetText(own)],
          ['Budget of its role', shared && budgetText(shared)],
          ['Oldest mail', oldest_at === undefined ? undefined : <Age key="oldest" at={oldest_at} />],
        ]}
      />
      {turns.length > 0 && (
        <>
          <h3>Turns that run</h3>
          <ul class="links">
            {turns.map((turn) => (
              <li key={`${turn.from} ${turn.id}`}>
                <a
                  href={hrefOf(
                    'timeline',
                    turn.thread === undefined ? { text: turn.id } : { thread: turn.thread },
                  )}
                >
                  <Text>{turn.kind}</Text> of <Text>{turn.from}</Text>
                </a>{' '}
                <Age at={turn.since} />
                {canAct.value && (
                  <ConfirmButton
                    label="Stop"
                    question={`Stop this turn of ${agent}? Its messages become dead letters.`}
                    isDangerous
                    onConfirm={() =>
                      act('turns/stop', { agent, id: turn.id, sender: turn.from }, () => ({
                        text: `The turn of ${agent} is stopped, and its messages are dead letters`,
                        href: hrefOf('dead', {}),
                      }))
                    }
                  />
                )}
                {turn.calls?.map(({ title, status }) => (
                  <div class="quiet" key={title}>
                    <Text>{title}</Text>: <Text>{status}</Text>
                  </div>
                ))}
              </li>
            ))}
          </ul>
        </>
      )}
      {calls.length > 0 && (
        <>
          <h3>Calls that wait or run</h3>
          <ul class="links">
            {calls.map((call) => (
              <li key={call.request_id}>
                <a href={hrefOf('calls', { agent, id: call.request_id })}>
                  <Text>{toolLabel(call)}</Text>
                </a>{' '}
                <Outcome of={call.state} /> <Age at={call.started_at ?? call.received_at} />
              </li>
            ))}
          </ul>
        </>
      )}
      {output !== undefined && (
        <>
          <h3>
            {last_output ? 'Last output' : 'What it announces'}
            {last_output?.at !== undefined && (
              <span class="beside">
                <Ago at={last_output.at} />
              </span>
            )}
          </h3>
          <Block label="Last output">{output}</Block>
        </>
      )}
      <div class="actions">
        <a class="button" href={hrefOf('timeline', { agent })}>
          Timeline
        </a>
        <a class="button" href={hrefOf('dead', { inbox: agent })}>
          Dead letters
        </a>
      </div>
      {of.state !== 'group' && <AgentHold of={of} />}
      {canAct.value && <Note to={agent} />}
      {canAct.value && of.state !== 'group' && (
        <div class="actions">
          <ConfirmButton
            label="Revoke its tokens"
            question={`End every connection of ${agent}, for good?`}
            isDangerous
            onConfirm={() =>
              act<{ ids: string[] }>('agents/revoke', { agent }, ({ ids }) => ({
                text: `${counted(ids.length, 'token')} of ${agent} revoked`,
              }))
            }
          />
        </div>
      )}
    </Drawer>
  );
}

/** Sends a note to an agent. */
function Note({ to }: { to: string }) {
  const [text, setText] = useState('');
  const send = (): Promise<unknown> =>
    act<{ id: string }>('messages/send', { to, text }, ({ id }) => {
      setText('');
      return { text: `The note for ${to} is on disk`, href: hrefOf('timeline', { text: id }) };
    });
  return (
    <div class="note">
      <label>
        <span>Send a note</span>
        <textarea rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {text.trim() !== '' && <ConfirmButton label="Send" onConfirm={send} />}
    </div>
  );
}
