import type { Missing } from '@signalbox/daemon/dashboard';
import type { MatrixReply } from '@signalbox/protocol';
import { useResource } from '../model/resource.ts';
import { hrefOf, route, setParams } from '../model/route.ts';
import { counted } from '../parts/numbers.ts';
import { StateMark, type Tone } from '../parts/state-mark.tsx';
import { Table } from '../parts/table.tsx';
import { Name, Text } from '../parts/text.tsx';
import { Filter, MissingNote, View } from '../parts/view.tsx';
import { Explain } from './explain.tsx';
import { isRanking, ToolRanking, ToolTabs } from './tool-ranking.tsx';

type Row = MatrixReply['tools'][number];

/** Shows which role may call which tool, and by which rule; or how tools did. */
export function ToolsView() {
  return isRanking() ? <ToolRanking /> : <Access />;
}

function Access() {
  const resource = useResource<{ matrix: MatrixReply | Missing }>('matrix');
  const found = resource.data?.matrix;
  const { text = '', role, tool } = route.value.params;
  const matrix = found === undefined || 'missing' in found ? undefined : found;
  const wanted = text.toLowerCase();
  const rows = (matrix?.tools ?? []).filter((one) => nameOf(one).toLowerCase().includes(wanted));
  return (
    <View
      title="Tools"
      summary={
        matrix ? (
          <>
            {counted(matrix.tools.length, 'tool')}; roles that are not listed may use{' '}
            {matrix.unlisted ? 'all' : 'none'}
          </>
        ) : (
          'unknown'
        )
      }
      resource={resource}
    >
      <ToolTabs />
      {found && 'missing' in found && <MissingNote message={found.missing.message} />}
      {matrix && (
        <Explain
          key={`${role} ${tool}`}
          role={role ?? ''}
          tool={tool ?? ''}
          roles={matrix.roles}
          tools={matrix.tools.map(nameOf)}
        />
      )}
      {matrix && (
        <div class="filters">
          <Filter label="Server or tool" value={text} onChange={(next) => setParams({ text: next })} />
        </div>
      )}
      {matrix && (
        <div class="split">
          <Table
            label="Roles and tools"
            rows={rows}
            keyOf={(one) => one.tool}
            empty={wanted === '' ? 'There are no tools.' : 'Nothing matches.'}
            columns={[
              { title: 'Tool', cell: (one) => <Name>{nameOf(one)}</Name> },
              ...matrix.roles.map((name) => ({
                title: name,
                width: `${Math.max(7, name.length * 0.7)}rem`,
                cell: (one: Row) => <Cell of={one} role={name} text={text} />,
              })),
            ]}
          />
        </div>
      )}
    </View>
  );
}

/** Returns the name of a tool as people write it: the server, and its own name there. */
function nameOf({ tool, server, own }: Row): string {
  return server === undefined ? tool : `${server}:${own}`;
}

function Cell({ of, role, text }: { of: Row; role: string; text: string }) {
  const [tone, word] = accessOf(of, role);
  return (
    <a href={hrefOf('tools', { role, tool: nameOf(of), text })} aria-label={`${role}: ${word}; explain`}>
      <StateMark tone={tone}>
        <Text>{word}</Text>
      </StateMark>
    </a>
  );
}

function accessOf({ may, asks, may_ask }: Row, role: string): readonly [Tone, string] {
  if (asks.includes(role)) return ['soon', 'asks'];
  if (may_ask.includes(role)) return ['soon', 'may ask'];
  return may.includes(role) ? ['good', 'yes'] : ['quiet', 'no'];
}
