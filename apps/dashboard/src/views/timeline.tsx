import type { TimelineEntry, TimelineGroup } from '@signalbox/client/operator';
import type { FoundTimeline } from '@signalbox/daemon/dashboard';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { serverTime } from '../model/clock.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { Age } from '../parts/age.tsx';
import { Facts } from '../parts/drawer.tsx';
import { bytes, clockTime, counted, dayOf, duration, timeOf } from '../parts/numbers.ts';
import { QueryField } from '../parts/query-field.tsx';
import { Name, Text } from '../parts/text.tsx';
import { ThreadLink } from '../parts/thread-link.tsx';
import { MissingNote, View } from '../parts/view.tsx';
import { Outcome } from './outcome.tsx';

const hour = 3_600_000;
const spans: readonly (readonly [string, string, number])[] = [
  ['hour', 'Last hour', hour],
  ['day', 'Last day', 24 * hour],
  ['week', 'Last week', 7 * 24 * hour],
];

/** Shows one tree for each request: the message, its tool call, its answer. */
export function TimelineView() {
  const { id, thread, agent, tool, outcome, text, span = 'day' } = route.value.params;
  const lookBack = spans.find(([name]) => name === span)?.[2] ?? 24 * hour;
  // The time moves on in steps, so that a search is the same one for a minute.
  const since = Math.max(0, Math.floor(serverTime() / 60_000) * 60_000 - lookBack);
  const resource = useResource<FoundTimeline>('timeline', { since, id, thread, agent, tool, outcome, text });
  const { groups = [], cut = false, since: from = since, callsMissing } = resource.data ?? {};
  const chips = { id, thread, agent, tool, outcome };
  const isFiltered = Object.values({ ...chips, text }).some(Boolean);
  return (
    <View
      title="Timeline"
      summary={
        resource.data && (
          <>
            {counted(groups.length, 'request')} since {timeOf(from)}
            {cut && '; there are more'}
          </>
        )
      }
      resource={resource}
    >
      <div class="filters">
        <QueryField
          label="Any name, id or reason"
          keys={Object.keys(chips)}
          chips={chips}
          words={text ?? ''}
          onChange={({ chips: changed, words }) => setParams({ ...changed, text: words })}
        />
        <label class="filter">
          <span>Look back</span>
          <select value={span} onChange={(event) => setParams({ span: event.currentTarget.value })}>
            {spans.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {isFiltered && (
          <a class="button plain" href={hrefOf('timeline', { span })}>
            Clear
          </a>
        )}
      </div>
      {callsMissing && <MissingNote message={callsMissing.message} />}
      <div class="scroll">
        {groups.length === 0 && <p class="empty">{isFiltered ? 'Nothing matches.' : 'Nothing happened.'}</p>}
        <ol class="timeline">
          {groups.map((group, n) => (
            <Fragment key={group.correlation_id}>
              <Day of={group} before={groups[n - 1]} />
              <Group group={group} isOpen={id === group.correlation_id} />
            </Fragment>
          ))}
        </ol>
      </div>
    </View>
  );
}

/** Writes the day of a group, if the one before is of another day. */
function Day({ of, before }: { of: TimelineGroup; before: TimelineGroup | undefined }) {
  const [day, last] = [of, before].map((one) => one?.entries[0] && dayOf(one.entries[0].at));
  return day === last ? null : <li class="day">{day}</li>;
}

function Group({ group: { correlation_id, entries }, isOpen }: { group: TimelineGroup; isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const [first] = entries;
  const call = entries.find((entry) => entry.what === 'call');
  if (!first) return null;
  // The reply of a call may wait long after its end for somebody who reads it.
  const ended = lastTime(call ?? entries.at(-1)!);
  return (
    <li class={open ? 'open' : ''}>
      <button type="button" class="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="at" title={timeOf(first.at)}>
          {clockTime(first.at)}
        </span>
        <Way of={first} />
        <span class="kind">
          <Text>{call ? toolLabel(call) : first.what === 'message' ? first.kind : toolLabel(first)}</Text>
        </span>
        <span class="took">{ended === undefined ? <Age at={first.at} /> : duration(ended - first.at)}</span>
        <Outcome of={outcomeOf(entries)} />
      </button>
      {open && (
        <div class="tree">
          {entries.map((entry) => (
            <Entry key={keyOf(entry)} entry={entry} from={first.at} />
          ))}
          <p class="ids">
            <Name>{correlation_id}</Name>
          </p>
        </div>
      )}
    </li>
  );
}

function Way({ of }: { of: TimelineEntry }) {
  const [from, to] = waysOf(of);
  return (
    <span class="way">
      <Name>{from}</Name>
      <span class="arrow" aria-hidden="true">
        →
      </span>
      <span class="hidden">to</span>
      <Name>{to}</Name>
    </span>
  );
}

function keyOf(entry: TimelineEntry): string {
  if (entry.what === 'call') return `call ${entry.request_id}`;
  return entry.what === 'approval' ? `approval ${entry.id}` : `message ${entry.seq} ${entry.inbox}`;
}

/** Returns from whom to whom an entry goes: a decision goes from the person to the agent. */
function waysOf(of: TimelineEntry): [from: string, to: string] {
  if (of.what === 'call') return [of.agent, of.server ?? toolLabel(of)];
  if (of.what === 'approval') return [of.by?.agent ?? 'a person', of.agent];
  return [of.from_agent, of.inbox];
}

/** Returns the end of a group: that of its call, else that of its message. */
function outcomeOf(entries: readonly TimelineEntry[]): string {
  const call = entries.find((entry) => entry.what === 'call');
  if (call?.what === 'call') return call.outcome ?? call.state;
  return entries.map(endOf).find((one) => one !== 'acked' && one !== 'waiting') ?? endOf(entries[0]!);
}

function endOf(entry: TimelineEntry): string {
  if (entry.what === 'approval') return entry.state === 'pending' ? 'waiting' : entry.state;
  return entry.outcome ?? (entry.what === 'call' ? entry.state : 'waiting');
}

function lastTime(entry: TimelineEntry): number | undefined {
  if (entry.what === 'call') return entry.finished_at;
  return entry.what === 'approval' ? entry.ended_at : entry.settled_at;
}

const names = { call: 'tool call', approval: 'approval' } as const;

function Entry({ entry, from }: { entry: TimelineEntry; from: number }) {
  const head = (
    <>
      <span class="at">+{duration(entry.at - from)}</span>
      <strong>
        <Text>{entry.what === 'message' ? entry.kind : names[entry.what]}</Text>
      </strong>
      <Way of={entry} />
      <Outcome of={endOf(entry)} />
    </>
  );
  return (
    <div class={`entry ${entry.what}`}>
      <p class="entry-head">{head}</p>
      <Facts of={factsOf(entry)} />
    </div>
  );
}

function factsOf(entry: TimelineEntry) {
  if (entry.what === 'call') return callFacts(entry);
  return entry.what === 'approval' ? approvalFacts(entry) : messageFacts(entry);
}

function approvalFacts({
  tool,
  rule,
  by,
  reason,
  created_at,
  ended_at,
}: TimelineEntry & { what: 'approval' }) {
  return [
    ['Tool', <Text key="tool">{toolLabel({ tool })}</Text>],
    ['Rule', <Text key="rule">{rule}</Text>],
    ['Decided by', by && <Text key="by">{by.agent}</Text>],
    ['Reason', reason === undefined ? undefined : <Text key="reason">{reason}</Text>],
    ['Waited', ended_at === undefined ? <Age key="age" at={created_at} /> : duration(ended_at - created_at)],
  ] as const;
}

function callFacts(call: TimelineEntry & { what: 'call' }) {
  const { tool, server, role, hold, was_held, started_at, finished_at, received_at } = call;
  const waited = started_at === undefined ? undefined : duration(started_at - received_at);
  const ran =
    started_at === undefined || finished_at === undefined ? undefined : duration(finished_at - started_at);
  return [
    ['Tool', <Text key="tool">{toolLabel({ tool, server })}</Text>],
    ['Server', server === undefined ? undefined : <Text key="server">{server}</Text>],
    ['Role', <Text key="role">{role}</Text>],
    ['Held', hold === undefined ? undefined : <Text key="hold">{hold}</Text>],
    ['Was held', was_held && <Text key="was">{`for ${duration(was_held.ms)}: ${was_held.hold}`}</Text>],
    ['Waited', waited],
    ['Ran', ran],
  ] as const;
}

function messageFacts({
  id,
  size,
  thread,
  reason,
  settled_at,
  created_at,
}: TimelineEntry & { what: 'message' }) {
  return [
    ['Id', <Text key="id">{id}</Text>],
    ['Thread', thread === undefined || thread === id ? undefined : <ThreadLink key="thread" to={thread} />],
    ['Size', bytes(size)],
    ['Settled after', settled_at === undefined ? undefined : duration(settled_at - created_at)],
    ['Reason', reason === undefined ? undefined : <Text key="reason">{reason}</Text>],
  ] as const;
}
