import type { Status } from '@signalbox/client/operator';
import type { ServerReport, ToolChangeReport } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { canAct } from '../model/sign-in.ts';
import { useRowLines } from '../parts/charts/row-lines.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { bytes, counted, duration, timeOf } from '../parts/numbers.ts';
import { StateMark, type Tone } from '../parts/state-mark.tsx';
import { Table } from '../parts/table.tsx';
import { Block, Line, Name, Text } from '../parts/text.tsx';
import { View } from '../parts/view.tsx';
import { isOverTime, OverTimeTabs, OverTimeView } from './over-time.tsx';

const tones: Readonly<Record<ServerReport['state'], Tone>> = {
  ready: 'good',
  starting: 'busy',
  idle: 'quiet',
  stopped: 'quiet',
  disabled: 'quiet',
  not_offered: 'quiet',
  backing_off: 'bad',
  away: 'bad',
  ejected: 'bad',
  refused: 'bad',
  needs_auth: 'bad',
};

/** Shows the MCP servers. */
export function ServersView() {
  const resource = useResource<Status>('status');
  const lineOf = useRowLines('server_rows', 60);
  const { server } = route.value.params;
  const { orchestrator } = resource.data ?? {};
  const servers = orchestrator?.servers ?? [];
  const chosen = servers.find(({ name }) => name === server);
  const ready = servers.filter(({ state }) => state === 'ready').length;
  const isKnown = orchestrator?.state === 'ready';
  if (isOverTime()) return <OverTimeView title="Servers" of="servers" />;
  return (
    <View
      title="Servers"
      summary={isKnown ? `${ready} of ${servers.length} ready` : 'unknown'}
      resource={resource}
    >
      <OverTimeTabs />
      {orchestrator && !isKnown && (
        <p class="stale">
          {orchestrator.state === 'not_connected'
            ? `The orchestrator '${orchestrator.name}' is not connected: its servers are unknown.`
            : `The orchestrator '${orchestrator.name}' does not answer: ${orchestrator.reason}`}
        </p>
      )}
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
                width: '9rem',
                isNumber: true,
                isOptional: true,
                cell: ({ name, calls }) => (
                  <>
                    {lineOf(name)}
                    {calls.toLocaleString('en')}
                  </>
                ),
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
              {
                title: 'Memory',
                width: '6rem',
                isNumber: true,
                isOptional: true,
                cell: memory,
              },
              { title: 'Last error', cell: ({ last_error }) => <Line>{last_error ?? '–'}</Line> },
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
  const { name, transport, host, share, instances, uptime_ms, circuit, p50_ms, p95_ms, restarts, pids } = of;
  const command = (what: string) => () =>
    act(`servers/${what}`, { server: name }, () => ({ text: `${name}: ${what} is done` }));
  const isStopped = of.state === 'stopped';
  return (
    <Drawer title={name} onClose={() => setParams({ server: undefined })}>
      <Why of={of} />
      <Facts
        of={[
          ['State', <State key="state" of={of} />],
          ['Circuit', circuit.replace('_', ' ')],
          ['Transport', host === undefined ? `${transport}, shared by ${share}` : `on host ${host}`],
          ['Instances', `${instances}${pids.length > 0 ? `, pids ${pids.join(', ')}` : ''}`],
          ['Up for', uptime_ms === undefined ? undefined : duration(uptime_ms)],
          ['Restarts', String(restarts)],
          ['Memory', pids.length === 0 ? undefined : memory(of)],
          [
            'Calls',
            `${of.calls.toLocaleString('en')} so far, ${of.in_flight} running, ${of.waiting} waiting`,
          ],
          ['Failed in a row', of.consecutive_failures === 0 ? undefined : String(of.consecutive_failures)],
          [
            'Cache',
            of.cache_entries + of.cache_hits === 0
              ? undefined
              : `${of.cache_entries} answers kept, ${of.cache_hits} given from there`,
          ],
          [
            'Questions',
            of.questions && `${of.questions.asked} asked of callers, ${of.questions.refused} refused`,
          ],
          ['Sign-in', of.auth?.replace('_', ' ')],
          [
            'Times',
            p50_ms === undefined || p95_ms === undefined
              ? undefined
              : `p50 ${duration(p50_ms)}, p95 ${duration(p95_ms)}`,
          ],
          [
            'Last error',
            of.last_error === undefined || isFailing(of) ? undefined : (
              <Text key="error">{of.last_error}</Text>
            ),
          ],
        ]}
      />
      <a href={hrefOf('servers', { server: name, part: 'over-time' })}>Calls and times over time</a>
      {of.tool_problems.length > 0 && (
        <>
          <h3>{counted(of.tool_problems.length, 'tool')} left out or changed</h3>
          <Block label="Tools left out or changed">
            {of.tool_problems.map(({ tool, message }) => `${tool ?? ''}: ${message}`).join('\n')}
          </Block>
        </>
      )}
      {of.tool_changes.length > 0 && (
        <>
          <h3>{counted(of.tool_changes.length, 'definition')} changed while the orchestrator ran</h3>
          <ul class="changes">
            {of.tool_changes.map((change) => (
              <Change key={change.tool} of={change} />
            ))}
          </ul>
        </>
      )}
      {of.stderr_tail !== '' && !isFailing(of) && (
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

/** True if a server does not work, or gets no calls. */
function isFailing({ state, circuit }: ServerReport): boolean {
  return tones[state] === 'bad' || circuit !== 'closed';
}

/** Says first why a server fails, and what helps. */
function Why({ of }: { of: ServerReport }) {
  const { last_error, start_failure, consecutive_failures: inRow } = of;
  if (!isFailing(of)) return null;
  return (
    <section class="warning" aria-label="Why">
      <p>
        <Text>
          {last_error ??
            (inRow > 0 ? `${counted(inRow, 'call')} failed in a row.` : 'Its last error is unknown.')}
        </Text>
      </p>
      {start_failure?.advice?.map((text) => (
        <p key={text}>
          <Text>{text}</Text>
        </p>
      ))}
      {of.stderr_tail !== '' && <Block label="Standard error">{of.stderr_tail}</Block>}
    </section>
  );
}

/** Shows the memory of the processes of a server, if it has some on this machine. */
function memory({ memory_bytes: count, pids }: ServerReport) {
  if (pids.length === 0) return '–';
  return count === undefined ? <span class="unknown">unknown</span> : bytes(count);
}

/** Shows the changes in the definition of a tool, and its hash before and now. */
function Change({ of: { tool, at, what, fields = [], before, after } }: { of: ToolChangeReport }) {
  return (
    <li>
      <Name>{toolLabel({ tool })}</Name> <StateMark tone="soon">{what}</StateMark>
      <div class="quiet">
        {timeOf(at)}
        {fields.length > 0 && (
          <>
            , in <Text>{fields.join(', ')}</Text>
          </>
        )}
        , hash {(before ?? 'none').slice(0, 8)} → {(after ?? 'none').slice(0, 8)}
      </div>
    </li>
  );
}
