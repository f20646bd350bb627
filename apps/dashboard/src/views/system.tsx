import type { Status } from '@signalbox/client/operator';
import { now } from '../model/clock.ts';
import { useRates } from '../model/rates.ts';
import { useResource } from '../model/resource.ts';
import { route, setParams } from '../model/route.ts';
import { canAct } from '../model/sign-in.ts';
import { Age } from '../parts/age.tsx';
import { Charts, TimeTabs } from '../parts/charts/charts.tsx';
import { Facts } from '../parts/drawer.tsx';
import { bytes, counted, duration, perSecond, shortTime } from '../parts/numbers.ts';
import { Tabs } from '../parts/tabs.tsx';
import { View } from '../parts/view.tsx';
import { AuditPart } from './system/audit.tsx';
import { BackupPart } from './system/backup.tsx';
import { SchedulesPart, WebhooksPart } from './system/senders.tsx';
import { TokensPart } from './system/tokens.tsx';

const parts = [
  { name: 'tokens', title: 'Tokens', show: () => <TokensPart />, isForOperators: false },
  { name: 'over-time', title: 'Over time', show: () => <OverTime />, isForOperators: false },
  { name: 'audit', title: 'Audit log', show: () => <AuditPart />, isForOperators: false },
  { name: 'backup', title: 'Backup', show: () => <BackupPart />, isForOperators: true },
  { name: 'schedules', title: 'Schedules', show: () => <SchedulesPart />, isForOperators: false },
  { name: 'webhooks', title: 'Webhooks', show: () => <WebhooksPart />, isForOperators: false },
] as const;

/** Shows the broker itself in parts: its space and rates, tokens, the audit log, backups, schedules and webhooks. */
export function SystemView() {
  const resource = useResource<Status>('status');
  const { broker } = resource.data ?? {};
  const visible = parts.filter(({ isForOperators }) => canAct.value || !isForOperators);
  const part = visible.find(({ name }) => name === route.value.params.part) ?? visible[0]!;
  return (
    <View
      title="System"
      summary={broker && `version ${broker.version}, up for ${duration(now.value - broker.started_at)}`}
      resource={resource}
    >
      {resource.data && <Figures of={resource.data} at={resource.at} />}
      <Tabs
        label="Parts of the system"
        parts={Object.fromEntries(visible.map(({ name, title }) => [name, title]))}
        chosen={part.name}
        onChoose={(name) => setParams({ part: name })}
      />
      {part.show()}
    </View>
  );
}

function OverTime() {
  return (
    <>
      <TimeTabs />
      <Charts of={{ of: 'system' }} />
    </>
  );
}

type Broker = Status['broker'];

function Figures({ of: { broker, hold }, at }: { of: Status; at: number }) {
  const { stored, delivered, settled, commits, syncs } = broker.activity;
  const counts = { stored, delivered, settled };
  const rates = useRates({ at, counts });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a narrow screen it scrolls, and must be reached by keyboard.
    <section class="cards" aria-label="Figures" tabIndex={0}>
      <Space of={broker} />
      <Facts
        of={[
          ['Stored', <Rate key="stored" of={rates?.stored} />],
          ['Delivered', <Rate key="delivered" of={rates?.delivered} />],
          ['Settled', <Rate key="settled" of={rates?.settled} />],
          ['Commits', latency(commits)],
          ['Syncs to disk', latency(syncs)],
          ['Receipts mean', broker.receipt_means],
          ['Connections', broker.connections.toLocaleString('en')],
          ['Inboxes held', broker.leases.toLocaleString('en')],
          ['Waiting', counted(broker.pending, 'message')],
          [
            'The oldest',
            broker.oldest_pending_at === undefined ? (
              'none waits'
            ) : (
              <Age key="oldest" at={broker.oldest_pending_at} />
            ),
          ],
          ['For later', counted(broker.scheduled, 'message')],
          ['Clock', hold && !hold.at_start ? `leapt by ${duration(hold.to - hold.from)}` : 'trusted'],
        ]}
      />
    </section>
  );
}

function Rate({ of }: { of: number | undefined }) {
  return <>{of === undefined ? 'counting …' : perSecond(of)}</>;
}

/** Shows the median and the 95th percentile since the broker started. */
function latency({ p50_ms, p95_ms }: Broker['activity']['commits']) {
  if (p50_ms === undefined || p95_ms === undefined) return 'none so far';
  return (
    <span title="Since the broker started: half of them were quicker, and 19 of 20.">
      {shortTime(p50_ms)}, p95 {shortTime(p95_ms)}
    </span>
  );
}

function Space({ of: { used_bytes, max_bytes, disk_bytes, free_bytes } }: { of: Broker }) {
  const share = used_bytes / max_bytes;
  return (
    <div class="space">
      <div class="space-head">
        <b>{bytes(used_bytes)}</b> of {bytes(max_bytes)} used
      </div>
      <meter
        min={0}
        max={1}
        high={0.9}
        optimum={0}
        value={share}
        aria-label={`${Math.round(share * 100)} % of the store is used`}
      />
      <div class="quiet">
        {bytes(disk_bytes)} on disk, {bytes(free_bytes)} free there
      </div>
    </div>
  );
}
