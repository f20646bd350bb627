import type { Missing } from '@signalbox/dashboard';
import type { CallRecord } from '@signalbox/protocol';
import { now } from '../model/clock.ts';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { Age } from '../parts/age.tsx';
import { duration } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import { Name } from '../parts/text.tsx';
import { Filter, MissingNote, View } from '../parts/view.tsx';
import { Outcome } from './outcome.tsx';

/** Tool calls that wait, run or have ended, the newest first. */
export function CallsView() {
  const resource = useResource<{ calls: CallRecord[] | Missing }>('calls');
  const { filter = '', outcome = '' } = route.value.params;
  const calls = resource.data?.calls ?? [];
  const all = Array.isArray(calls) ? calls : [];
  const wanted = filter.toLowerCase();
  const rows = all
    .filter(
      (call) =>
        (outcome === '' || endOf(call) === outcome) &&
        [call.agent, call.role, call.tool, call.server ?? ''].some((text) =>
          text.toLowerCase().includes(wanted),
        ),
    )
    .toReversed();
  // Those that have not ended stand first.
  rows.sort((a, b) => Number(a.state === 'finished') - Number(b.state === 'finished'));
  const running = all.filter(({ state }) => state === 'running').length;
  const queued = all.filter(({ state }) => state === 'queued').length;
  const ends = [...new Set(all.map(endOf))].sort();
  return (
    <View
      title="Calls"
      summary={Array.isArray(calls) ? `${running} running, ${queued} waiting` : 'unknown'}
      resource={resource}
    >
      <div class="filters">
        <Filter
          label="Agent, tool or server"
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
        <Table
          label="Calls"
          rows={rows}
          keyOf={(call) => call.request_id}
          onSelect={(call) => {
            location.hash = hrefOf('timeline', { id: call.request_id });
          }}
          empty={all.length === 0 ? 'No tool was called.' : 'No call matches.'}
          columns={[
            { title: 'Outcome', width: '11rem', cell: (call) => <Outcome of={endOf(call)} /> },
            { title: 'Tool', cell: (call) => <Name>{call.tool}</Name> },
            { title: 'Agent', width: '20%', cell: (call) => <Name>{call.agent}</Name> },
            {
              title: 'Server',
              width: '14%',
              isOptional: true,
              cell: (call) => <Name>{call.server ?? '–'}</Name>,
            },
            { title: 'Took', width: '5.5rem', isNumber: true, isOptional: true, cell: took },
            {
              title: 'Began',
              width: '5.5rem',
              isNumber: true,
              cell: (call) => <Age at={call.received_at} />,
            },
          ]}
        />
      ) : (
        <MissingNote message={calls.missing.message} />
      )}
    </View>
  );
}

function endOf({ outcome, state }: CallRecord): string {
  return outcome ?? state;
}

function took({ started_at, finished_at }: CallRecord): string {
  return started_at === undefined ? '–' : duration((finished_at ?? now.value) - started_at);
}
