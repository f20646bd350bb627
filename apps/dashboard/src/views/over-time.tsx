import type { ChartSubject } from '@signalbox/client/operator';
import { useMemo } from 'preact/hooks';
import { serverTime } from '../model/clock.ts';
import { route, setParams } from '../model/route.ts';
import { Charts, TimeTabs } from '../parts/charts/charts.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { View } from '../parts/view.tsx';

/** The part of an address that shows charts in place of a list. */
const part = 'over-time';

/** Tells whether the address asks for the charts of a view. */
export function isOverTime(): boolean {
  return route.value.params.part === part;
}

/** Chooses between what is now and what was. */
export function OverTimeTabs() {
  return (
    <Tabs
      label="Now or over time"
      parts={{ now: 'Now', [part]: 'Over time' }}
      chosen={isOverTime() ? part : 'now'}
      onChoose={(name) => setParams({ part: name === part ? part : undefined })}
    />
  );
}

/** A view as charts: of its subject, or of one server. */
export function OverTimeView({ title, of }: { title: string; of: 'agents' | 'servers' }) {
  const { server } = route.value.params;
  const subject: ChartSubject = of === 'servers' && server ? { of: 'server', server } : { of };
  // The charts read their figures themselves.
  const resource = useMemo(() => ({ data: true, error: undefined, at: serverTime() }), []);
  return (
    <View
      title={title}
      summary={server === undefined ? 'over time' : `${server} over time`}
      resource={resource}
    >
      <OverTimeTabs />
      <div class="bar">
        <TimeTabs />
        {server !== undefined && (
          <button type="button" class="button" onClick={() => setParams({ server: undefined })}>
            All servers
          </button>
        )}
      </div>
      <Charts key={JSON.stringify(subject)} of={subject} />
    </View>
  );
}
