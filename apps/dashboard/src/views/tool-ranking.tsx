import type { RankedTool, Ranking } from '@signalbox/client/operator';
import type { Missing } from '@signalbox/daemon/dashboard';
import { useResource } from '../model/resource.ts';
import { route, setParams } from '../model/route.ts';
import { Charts, chosenMinutes, TimeTabs } from '../parts/charts/charts.tsx';
import { useRowLines } from '../parts/charts/row-lines.tsx';
import { Drawer } from '../parts/drawer.tsx';
import { bytes, counted, shortTime } from '../parts/numbers.ts';
import { Table } from '../parts/table.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Name } from '../parts/text.tsx';
import { MissingNote, View } from '../parts/view.tsx';

const rankings: Readonly<Record<Ranking, string>> = {
  calls: 'By calls',
  errors: 'By errors',
  p95: 'By p95',
  bytes: 'By bytes of replies',
};

/** Tells whether the address asks for the ranking. */
export function isRanking(): boolean {
  return route.value.params.part === 'ranking';
}

/** Chooses between who may call tools, and how they do. */
export function ToolTabs() {
  return (
    <Tabs
      label="Access or ranking"
      parts={{ access: 'Roles and tools', ranking: 'Ranking' }}
      chosen={isRanking() ? 'ranking' : 'access'}
      onChoose={(name) => setParams({ part: name === 'ranking' ? name : undefined })}
    />
  );
}

/** Ranks the tools that were called, and shows how one did over time. */
export function ToolRanking() {
  const { by: wanted = '', ranked } = route.value.params;
  const by = wanted in rankings ? (wanted as Ranking) : 'calls';
  const minutes = chosenMinutes();
  const resource = useResource<{ ranking: { tools: RankedTool[] } | Missing }>(
    'tools/top',
    { by, minutes },
    { follows: false },
  );
  const lineOf = useRowLines('tool_rows', minutes);
  const found = resource.data?.ranking;
  const tools = found === undefined || 'missing' in found ? undefined : found.tools;
  const chosen = tools?.find(({ name }) => name === ranked);
  return (
    <View
      title="Tools"
      summary={tools ? `${counted(tools.length, 'tool')} called` : 'unknown'}
      resource={resource}
    >
      <ToolTabs />
      <div class="bar">
        <Tabs label="Rank" parts={rankings} chosen={by} onChoose={(next) => setParams({ by: next })} />
        <TimeTabs />
      </div>
      {found && 'missing' in found && <MissingNote message={found.missing.message} />}
      <div class="split">
        {tools && (
          <Table
            label="Ranking of tools"
            rows={tools}
            keyOf={({ name }) => name}
            selected={ranked}
            onSelect={({ name }) => setParams({ ranked: name })}
            empty="No tool was called in this time."
            columns={[
              { title: 'Tool', cell: ({ name }) => <Name>{name}</Name> },
              {
                title: 'Calls',
                width: '9rem',
                isNumber: true,
                cell: ({ name, calls }) => (
                  <>
                    {lineOf(name)}
                    {calls.toLocaleString('en')}
                  </>
                ),
              },
              {
                title: 'Errors',
                width: '5rem',
                isNumber: true,
                cell: ({ errors }) => (errors === 0 ? '–' : errors.toLocaleString('en')),
              },
              {
                title: 'p50',
                width: '5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ p50Ms }) => time(p50Ms),
              },
              { title: 'p95', width: '6rem', isNumber: true, cell: ({ p95Ms }) => time(p95Ms) },
              {
                title: 'p99',
                width: '5rem',
                isNumber: true,
                isOptional: true,
                cell: ({ p99Ms }) => time(p99Ms),
              },
              {
                title: 'Replies',
                width: '6rem',
                isNumber: true,
                isOptional: true,
                cell: (one) => bytes(one.bytes),
              },
            ]}
          />
        )}
        {chosen && (
          <Drawer title={chosen.name} onClose={() => setParams({ ranked: undefined })}>
            <Charts key={chosen.name} of={{ of: 'tool', server: chosen.server, tool: chosen.tool }} />
          </Drawer>
        )}
      </div>
    </View>
  );
}

function time(ms: number | undefined): string {
  return ms === undefined ? '–' : shortTime(ms);
}
