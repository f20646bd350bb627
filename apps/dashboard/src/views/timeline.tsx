import type { FoundTimeline } from '@signalbox/dashboard';
import type { TimelineEntry, TimelineGroup } from '@signalbox/operator';
import { useState } from 'preact/hooks';
import { serverTime } from '../model/clock.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { Age } from '../parts/age.tsx';
import { Facts } from '../parts/drawer.tsx';
import { bytes, clockTime, counted, duration, timeOf } from '../parts/numbers.ts';
import { Name, Text } from '../parts/text.tsx';
import { Filter, MissingNote, View } from '../parts/view.tsx';
import { Outcome } from './outcome.tsx';

const hour = 3_600_000;
const spans: readonly (readonly [string, string, number])[] = [
  ['hour', 'Last hour', hour],
  ['day', 'Last day', 24 * hour],
  ['week', 'Last week', 7 * 24 * hour],
];

/** Shows one tree for each request: the message, its tool call, its answer. */
export function TimelineView() {
  const { id, agent, tool, outcome, text, span = 'day' } = route.value.params;
  const lookBack = spans.find(([name]) => name === span)?.[2] ?? 24 * hour;
  // The time moves on in steps, so that a search is the same one for a minute.
  const since = Math.max(0, Math.floor(serverTime() / 60_000) * 60_000 - lookBack);
  const resource = useResource<FoundTimeline>('timeline', { since, id, agent, tool, outcome, text });
  const { groups = [], cut = false, since: from = since, callsMissing } = resource.data ?? {};
  const fields = [
    ['text', 'Any text', text],
    ['id', 'Id of a request', id],
    ['agent', 'Agent', agent],
    ['tool', 'Tool', tool],
    ['outcome', 'Outcome or error', outcome],
  ] as const;
  const isFiltered = fields.some(([, , value]) => value);
  return (
    <View
      title="Timeline"
      summary={
        <>
          {counted(groups.length, 'request')} since {timeOf(from)}
          {cut && '; there are more'}
        </>
      }
      resource={resource}
    >
      <div class="filters many">
        {fields.map(([name, label, value = '']) => (
          <Filter key={name} label={label} value={value} onChange={(next) => setParams({ [name]: next })} />
        ))}
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
          {groups.map((group) => (
            <Group key={group.correlation_id} group={group} isOpen={id === group.correlation_id} />
          ))}
        </ol>
      </div>
    </View>
  );
}

function Group({ group: { correlation_id, entries }, isOpen }: { group: TimelineGroup; isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const [first] = entries;
  const call = entries.find((entry) => entry.what === 'call');
  if (!first) return null;
  const last = entries.at(-1)!;
  const ended = lastTime(last);
  return (
    <li class={open ? 'open' : ''}>
      <button type="button" class="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="at" title={timeOf(first.at)}>
          {clockTime(first.at)}
        </span>
        <Way of={first} />
        <span class="kind">
          <Text>{call ? call.tool : first.what === 'message' ? first.kind : first.tool}</Text>
        </span>
        <span class="took">{ended === undefined ? <Age at={first.at} /> : duration(ended - first.at)}</span>
        <Outcome of={outcomeOf(entries)} />
      </button>
      {open && (
        <div class="tree">
          {entries.map((entry) => (
            <Entry
              key={entry.what === 'call' ? `call ${entry.request_id}` : `message ${entry.seq} ${entry.inbox}`}
              entry={entry}
              from={first.at}
            />
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
  const [from, to] = of.what === 'call' ? [of.agent, of.server ?? of.tool] : [of.from_agent, of.inbox];
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

/** Returns the end of a group: that of its call, else that of its message. */
function outcomeOf(entries: readonly TimelineEntry[]): string {
  const call = entries.find((entry) => entry.what === 'call');
  if (call?.what === 'call') return call.outcome ?? call.state;
  return (
    entries.map((entry) => entry.outcome).find((one) => one && one !== 'acked') ??
    entries[0]!.outcome ??
    'waiting'
  );
}

function lastTime(entry: TimelineEntry): number | undefined {
  return entry.what === 'call' ? entry.finished_at : (entry.settled_at ?? undefined);
}

function Entry({ entry, from }: { entry: TimelineEntry; from: number }) {
  const head = (
    <>
      <span class="at">+{duration(entry.at - from)}</span>
      <strong>
        <Text>{entry.what === 'call' ? 'tool call' : entry.kind}</Text>
      </strong>
      <Way of={entry} />
      <Outcome of={entry.outcome ?? (entry.what === 'call' ? entry.state : 'waiting')} />
    </>
  );
  return (
    <div class={`entry ${entry.what}`}>
      <p class="entry-head">{head}</p>
      <Facts of={entry.what === 'call' ? callFacts(entry) : messageFacts(entry)} />
    </div>
  );
}

function callFacts(call: TimelineEntry & { what: 'call' }) {
  const { tool, server, role, started_at, finished_at, received_at } = call;
  const waited = started_at === undefined ? undefined : duration(started_at - received_at);
  const ran =
    started_at === undefined || finished_at === undefined ? undefined : duration(finished_at - started_at);
  return [
    ['Tool', <Text key="tool">{tool}</Text>],
    ['Server', server === undefined ? undefined : <Text key="server">{server}</Text>],
    ['Role', <Text key="role">{role}</Text>],
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
    ['Thread', thread === undefined || thread === id ? undefined : <Text key="thread">{thread}</Text>],
    ['Size', bytes(size)],
    ['Settled after', settled_at === undefined ? undefined : duration(settled_at - created_at)],
    ['Reason', reason === undefined ? undefined : <Text key="reason">{reason}</Text>],
  ] as const;
}
