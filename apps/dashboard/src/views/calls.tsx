import type { ListedCall } from '@signalbox/client/operator';
import type { Missing } from '@signalbox/daemon/dashboard';
import type { CallRecord, CallStatus, CancelCallReply } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useState } from 'preact/hooks';
import { now } from '../model/clock.ts';
import { act } from '../model/notices.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { canAct } from '../model/sign-in.ts';
import { Age } from '../parts/age.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Drawer, Facts } from '../parts/drawer.tsx';
import { bytes, counted, duration, timeOf } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import { Block, Name, Text } from '../parts/text.tsx';
import { ThreadLink } from '../parts/thread-link.tsx';
import { Filter, MissingNote, View } from '../parts/view.tsx';
import { Outcome } from './outcome.tsx';

/** Tool calls that wait, run or have ended: those that have not ended first, then the newest. */
export function CallsView() {
  const resource = useResource<{ calls: ListedCall[] | Missing; known_since?: number }>('calls');
  const { filter = '', outcome = '', agent, id } = route.value.params;
  const calls = resource.data?.calls ?? [];
  const all = Array.isArray(calls) ? calls : [];
  const { known_since: since = 0 } = resource.data ?? {};
  const wanted = filter.toLowerCase();
  const rows = all
    .filter(
      (call) =>
        (outcome === '' || endOf(call) === outcome) &&
        [
          call.agent,
          call.role,
          call.tool,
          toolLabel(call),
          call.server ?? '',
          call.request_id,
          call.thread ?? '',
        ].some((text) => text.toLowerCase().includes(wanted)),
    )
    .toReversed();
  rows.sort((a, b) => Number(a.state === 'finished') - Number(b.state === 'finished'));
  const chosen = all.find((call) => call.agent === agent && call.request_id === id);
  const ends = [...new Set(all.map(endOf))].sort();
  return (
    <View title="Calls" summary={Array.isArray(calls) ? <Summary of={all} /> : 'unknown'} resource={resource}>
      <div class="filters">
        <Filter
          label="Agent, tool, server, id or thread"
          value={filter}
          onChange={(text) => setParams({ filter: text })}
        />
        <label class="filter">
          <span>State or outcome</span>
          <select value={outcome} onChange={(event) => setParams({ outcome: event.currentTarget.value })}>
            <option value="">all</option>
            {[...new Set([...ends, ...(outcome === '' ? [] : [outcome])])].map((end) => (
              <option key={end} value={end}>
                {end.replaceAll('_', ' ')}
              </option>
            ))}
          </select>
        </label>
      </div>
      {Array.isArray(calls) ? (
        <div class="split">
          <Table
            label="Calls"
            rows={rows}
            keyOf={keyOf}
            selected={chosen && keyOf(chosen)}
            onSelect={(call) => setParams({ agent: call.agent, id: call.request_id })}
            isMarked={(call) => call.outcome === 'outcome_unknown'}
            empty={all.length === 0 ? `No tool was called since ${timeOf(since)}.` : 'No call matches.'}
            columns={[
              {
                title: 'Outcome',
                width: '14rem',
                cell: (call) => (
                  <>
                    <Outcome of={endOf(call)} />
                    {call.count !== undefined && ` ${call.count} times`}
                  </>
                ),
              },
              { title: 'Tool', cell: (call) => <Name>{toolLabel(call)}</Name> },
              { title: 'Agent', width: '20%', cell: (call) => <Name>{call.agent}</Name> },
              {
                title: 'Server',
                width: '12%',
                isOptional: true,
                cell: (call) => <Name>{call.server ?? '–'}</Name>,
              },
              { title: 'Progress', width: '8rem', isOptional: true, cell: (call) => <Progress of={call} /> },
              { title: 'Took', width: '5.5rem', isNumber: true, isOptional: true, cell: took },
              {
                title: 'Size',
                width: '6rem',
                isNumber: true,
                isOptional: true,
                cell: ({ reply_bytes, request_bytes }) => sizeOf(reply_bytes ?? request_bytes),
              },
              {
                title: 'Came',
                width: '5rem',
                isNumber: true,
                cell: (call) => <Age at={call.received_at} />,
              },
            ]}
          />
          {chosen && <Details key={keyOf(chosen)} of={chosen} />}
        </div>
      ) : (
        <MissingNote message={calls.missing.message} />
      )}
    </View>
  );
}

function Summary({ of }: { of: readonly CallRecord[] }) {
  const running = of.filter(({ state }) => state === 'running').length;
  const waiting = of.filter(({ state }) => state !== 'running' && state !== 'finished').length;
  const unknown = of.filter(({ outcome }) => outcome === 'outcome_unknown').length;
  return (
    <>
      {running} running, {waiting} waiting
      {unknown > 0 && (
        <>
          {', '}
          <a class="alarm" href={hrefOf('calls', { outcome: 'outcome_unknown' })}>
            {counted(unknown, 'call')} may have run
          </a>
        </>
      )}
    </>
  );
}

/** Shows the progress of a call: its place in the queue, or the progress that its tool reported. */
function Progress({ of: { state, position, progress } }: { of: CallRecord }) {
  if (state === 'queued' && position !== undefined)
    return <>{position === 1 ? 'next in line' : `${position}. in line`}</>;
  if (state !== 'running') return <>–</>;
  if (progress === undefined) return <>–</>;
  const { progress: done, total } = progress;
  if (total === undefined || total <= 0) return <>{done.toLocaleString('en')}</>;
  const percent = Math.round((100 * done) / total);
  return (
    <span class="progress">
      <progress max={total} value={done} aria-label={`${percent} %`} /> {percent} %
    </span>
  );
}

function Details({ of }: { of: CallRecord }) {
  const { agent, role, thread, server, state, approval, hold, was_held, outcome, request_id } = of;
  const { received_at, started_at, finished_at, request_bytes, reply_bytes } = of;
  const isOver = state === 'finished';
  return (
    <Drawer title={toolLabel(of)} onClose={() => setParams({ agent: undefined, id: undefined })}>
      {outcome === 'outcome_unknown' && (
        <p class="warning">
          This call may have run, and nobody knows. Find out whether it took effect before anybody calls it
          again.
        </p>
      )}
      <Facts
        of={[
          ['Outcome', <Outcome key="outcome" of={endOf(of)} />],
          ['Agent', <Text key="agent">{`${agent} (${role})`}</Text>],
          ['Server', server === undefined ? undefined : <Text key="server">{server}</Text>],
          ['Progress', isOver ? undefined : <Progress key="progress" of={of} />],
          ['Held', hold === undefined ? undefined : <Text key="hold">{hold}</Text>],
          ['Was held', was_held && <Text key="was">{`for ${duration(was_held.ms)}: ${was_held.hold}`}</Text>],
          ['Approval', approval === undefined ? undefined : <Text key="approval">{approval}</Text>],
          ['Came', timeOf(received_at)],
          ['Waited', started_at === undefined ? undefined : duration(started_at - received_at)],
          [isOver ? 'Ran' : 'Runs for', started_at === undefined ? undefined : took(of)],
          ['Ended', finished_at === undefined ? undefined : timeOf(finished_at)],
          ['Request', sizeOf(request_bytes)],
          ['Reply', isOver && reply_bytes !== undefined ? bytes(reply_bytes) : undefined],
          ['Id', <Text key="id">{request_id}</Text>],
          ['Thread', thread === undefined ? undefined : <ThreadLink key="thread" to={thread} />],
        ]}
      />
      {isOver && <Result of={of} />}
      <div class="actions">
        <a class="button" href={hrefOf('timeline', { id: request_id })}>
          Timeline
        </a>
        <a class="button" href={hrefOf('agents', { agent })}>
          Agent
        </a>
        <a class="button" href={hrefOf('tools', { role, tool: toolLabel(of) })}>
          Explain
        </a>
      </div>
      {!isOver && canAct.value && <Cancel of={of} />}
    </Drawer>
  );
}

/** Shows the reply of a call, if it is kept and the person may see it. */
function Result({ of: { agent, request_id: id, reply_kept } }: { of: CallRecord }) {
  if (!canAct.value) return <p class="quiet">Its result is shown to operators only.</p>;
  if (reply_kept === false) return <p class="quiet">Its result is no longer kept.</p>;
  return <KeptResult agent={agent} id={id} />;
}

function KeptResult({ agent, id }: { agent: string; id: string }) {
  const { data, error } = useResource<CallStatus>('calls/show', { agent, id }, { follows: false });
  const reply = data?.state === 'finished' ? data.reply : undefined;
  const text = data ? (reply === undefined ? 'It is no longer kept.' : replyText(reply)) : 'Reading …';
  return (
    <>
      <h3>Result</h3>
      <Block label="Result">{error ?? text}</Block>
    </>
  );
}

/** Returns the text of a reply if it has nothing else, and the whole reply as JSON otherwise. */
function replyText(reply: NonNullable<Extract<CallStatus, { state: 'finished' }>['reply']>): string {
  if ('error' in reply) {
    const { message, hint } = reply.error;
    return hint === undefined ? message : `${message}\n${hint}`;
  }
  return JSON.stringify('result' in reply ? reply.result : reply, null, 2);
}

/** Cancels a call. The page says before and after whether its tool may have run. */
function Cancel({ of }: { of: CallRecord }) {
  const { agent, request_id: id, state } = of;
  const tool = toolLabel(of);
  const [reason, setReason] = useState('');
  const isRunning = state === 'running';
  const cancel = (): Promise<unknown> =>
    act<CancelCallReply>(
      'calls/cancel',
      { agent, id, ...(reason.trim() !== '' && { reason: reason.trim() }) },
      (answer) => ({ href: hrefOf('timeline', { id }), ...endText(tool, answer) }),
    );
  return (
    <div class="note">
      <label>
        <span>Reason, which the agent is told</span>
        <input
          value={reason}
          maxLength={500}
          autocomplete="off"
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <ConfirmButton
        label="Cancel call"
        keepLabel="Let it go on"
        question={isRunning ? 'It runs: it may take effect all the same.' : 'It has not run, and will not.'}
        isDangerous
        onConfirm={cancel}
      />
    </div>
  );
}

function endText(tool: string, { cancelled, outcome, may_have_run }: CancelCallReply) {
  const bad = { tone: 'bad' as const };
  if (!cancelled)
    return { ...bad, text: `${tool} had ended before: ${(outcome ?? '').replaceAll('_', ' ')}` };
  if (outcome === undefined)
    return { ...bad, text: `${tool} was told to stop, and has not ended. It may have run.` };
  return may_have_run
    ? { ...bad, text: `${tool} is cancelled. It may have run: find out whether it took effect.` }
    : { text: `${tool} is cancelled. It has not run.` };
}

function keyOf({ agent, request_id }: CallRecord): string {
  return `${agent} ${request_id}`;
}

function endOf({ outcome, state }: CallRecord): string {
  return outcome ?? state;
}

function took({ started_at, finished_at }: CallRecord): string {
  return started_at === undefined ? '–' : duration((finished_at ?? now.value) - started_at);
}

function sizeOf(count: number | undefined) {
  return count === undefined ? <span class="unknown">unknown</span> : bytes(count);
}
