import type { Status } from '@signalbox/operator';
import type { ServerReport } from '@signalbox/protocol';
import { useState } from 'preact/hooks';
import { ApiFailure, read } from '../api/request.ts';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { route, setParams } from '../model/route.ts';
import { canAct } from '../model/session.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { counted, duration } from '../parts/numbers.ts';
import { StateMark, type Tone } from '../parts/state-mark.tsx';
import { Table } from '../parts/table.tsx';
import { Block, Name, Text } from '../parts/text.tsx';
import { View } from '../parts/view.tsx';

const tones: Readonly<Record<ServerReport['state'], Tone>> = {
  ready: 'good',
  starting: 'busy',
  idle: 'quiet',
  stopped: 'quiet',
  disabled: 'quiet',
  backing_off: 'bad',
  ejected: 'bad',
  refused: 'bad',
  needs_auth: 'bad',
};

/** The MCP servers, and who may call what. */
export function ServersView() {
  const resource = useResource<Status>('status');
  const { server } = route.value.params;
  const { orchestrator } = resource.data ?? {};
  const servers = orchestrator?.servers ?? [];
  const chosen = servers.find(({ name }) => name === server);
  const ready = servers.filter(({ state }) => state === 'ready').length;
  const isKnown = orchestrator?.state === 'ready';
  return (
    <View
      title="Servers and access"
      summary={isKnown ? `${ready} of ${servers.length} ready` : 'unknown'}
      resource={resource}
    >
      {orchestrator && !isKnown && (
        <p class="stale">
          {orchestrator.state === 'not_connected'
            ? `The orchestrator '${orchestrator.name}' is not connected: its servers are unknown.`
            : `The orchestrator '${orchestrator.name}' does not answer: ${orchestrator.reason}`}
        </p>
      )}
      {isKnown && <Explain />}
      <div class="split">
        {isKnown && (
          <Table
            label="MCP servers"
            rows={servers}
            keyOf={({ name }) => name}
            selected={server}
            onSelect={({ name }) => setParams({ server: name })}
            empty="No MCP server is configured."
            columns={[
              { title: 'Server', width: '20%', cell: ({ name }) => <Name>{name}</Name> },
              { title: 'State', width: '9rem', cell: (one) => <State of={one} /> },
              { title: 'Tools', width: '4.5rem', isNumber: true, cell: ({ tool_count }) => tool_count },
              {
                title: 'Running',
                width: '5.5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ in_flight, waiting }) => (waiting === 0 ? in_flight : `${in_flight} + ${waiting}`),
              },
              {
                title: 'Calls',
                width: '5.5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ calls }) => calls.toLocaleString('en'),
              },
              {
                title: 'p95',
                width: '5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ p95_ms }) => (p95_ms === undefined ? '–' : duration(p95_ms)),
              },
              {
                title: 'Restarts',
                width: '5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ restarts }) => restarts,
              },
              { title: 'Last error', cell: ({ last_error }) => <Name>{last_error ?? '–'}</Name> },
            ]}
          />
        )}
        {chosen && <Details of={chosen} />}
      </div>
    </View>
  );
}

function State({ of: { state, circuit } }: { of: ServerReport }) {
  if (state === 'ready' && circuit !== 'closed')
    return <StateMark tone="bad">{`circuit ${circuit.replace('_', ' ')}`}</StateMark>;
  return <StateMark tone={tones[state]}>{state.replaceAll('_', ' ')}</StateMark>;
}

function Details({ of }: { of: ServerReport }) {
  const { name, transport, share, instances, uptime_ms, circuit, p50_ms, p95_ms, restarts, pids } = of;
  const command = (what: string) => () =>
    act(`servers/${what}`, { server: name }, () => ({ text: `${name}: ${what} is done` }));
  const isStopped = of.state === 'stopped';
  return (
    <Drawer title={name} onClose={() => setParams({ server: undefined })}>
      <Facts
        of={[
          ['State', <State key="state" of={of} />],
          ['Circuit', circuit.replace('_', ' ')],
          ['Transport', `${transport}, shared by ${share}`],
          ['Instances', `${instances}${pids.length > 0 ? `, pids ${pids.join(', ')}` : ''}`],
          ['Up for', uptime_ms === undefined ? undefined : duration(uptime_ms)],
          ['Restarts', String(restarts)],
          [
            'Times',
            p50_ms === undefined || p95_ms === undefined
              ? 'unknown'
              : `p50 ${duration(p50_ms)}, p95 ${duration(p95_ms)}`,
          ],
          ['Last error', of.last_error === undefined ? undefined : <Text key="error">{of.last_error}</Text>],
          ...(of.start_failure?.advice ?? []).map(
            (text) => ['Advice', <Text key={text}>{text}</Text>] as const,
          ),
        ]}
      />
      {of.tool_problems.length > 0 && (
        <>
          <h3>{counted(of.tool_problems.length, 'tool')} left out or changed</h3>
          <Block label="Tools left out or changed">
            {of.tool_problems.map(({ tool, message }) => `${tool ?? ''}: ${message}`).join('\n')}
          </Block>
        </>
      )}
      {of.stderr_tail !== '' && (
        <>
          <h3>Standard error</h3>
          <Block label="Standard error">{of.stderr_tail}</Block>
        </>
      )}
      {canAct.value && (
        <div class="actions">
          <ConfirmButton label="Reload" onConfirm={command('reload')} />
          {isStopped ? (
            <ConfirmButton label="Start" onConfirm={command('start')} />
          ) : (
            <ConfirmButton
              label="Stop"
              question={`Stop ${name} until it is started?`}
              isDangerous
              onConfirm={command('stop')}
            />
          )}
        </div>
      )}
    </Drawer>
  );
}

/** Asks whether a role may call a tool, and by which rule. */
function Explain() {
  const [role, setRole] = useState('');
  const [tool, setTool] = useState('');
  const [answer, setAnswer] = useState<string>();
  const ask = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const told = await read<Record<string, unknown>>('explain', { role, tool });
      setAnswer(JSON.stringify(told, null, 2));
    } catch (error) {
      setAnswer(error instanceof ApiFailure ? error.message : String(error));
    }
  };
  return (
    <form class="filters" onSubmit={(event) => void ask(event)}>
      <label class="filter">
        <span>May the role</span>
        <input value={role} required onInput={(event) => setRole(event.currentTarget.value)} />
      </label>
      <label class="filter">
        <span>call the tool</span>
        <input value={tool} required onInput={(event) => setTool(event.currentTarget.value)} />
      </label>
      <button type="submit" class="button">
        Explain
      </button>
      {answer !== undefined && <Block label="Explanation">{answer}</Block>}
    </form>
  );
}
