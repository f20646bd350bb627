import type { MetricInfo } from '@signalbox/serving/monitoring';

/**
 * Every metric of a broker. A test compares the guide's table and the alerts with these names. Labels are roles, kinds, codes and names of
 * the configuration, never an agent, an inbox or an id.
 */
export const brokerMetrics = {
  ready: {
    name: 'signalbox_ready',
    help: 'Whether the broker can store messages: 1 or 0, as /readyz says.',
  },
  info: { name: 'signalbox_info', help: 'Always 1; the label holds the version.', labels: ['version'] },
  started: {
    name: 'signalbox_start_time_seconds',
    help: 'When this process started, in seconds since 1970.',
  },
  connections: {
    name: 'signalbox_connections',
    help: 'Connections that have said hello, by role.',
    labels: ['role'],
  },
  strangers: {
    name: 'signalbox_unauthenticated_connections',
    help: 'Connections that have not said hello, those of this scrape included.',
  },
  connectionLimit: {
    name: 'signalbox_connections_limit',
    help: 'The most connections at a time (broker.limits.connections.total).',
  },
  leases: { name: 'signalbox_leases', help: 'Inboxes that a consumer holds.' },
  waiting: {
    name: 'signalbox_pending_messages',
    help: 'Messages that are stored and not settled, by the role of their recipient. A group of the configuration is named by its address.',
    labels: ['role'],
  },
  waitingBytes: {
    name: 'signalbox_pending_bytes',
    help: 'Bytes of the bodies of these messages, by the role of their recipient.',
    labels: ['role'],
  },
  oldest: {
    name: 'signalbox_oldest_pending_age_seconds',
    help: 'Age of the oldest message that is not settled, by the role of its recipient. A role for which nothing waits has no value.',
    labels: ['role'],
  },
  scheduled: {
    name: 'signalbox_scheduled_messages',
    help: 'Messages that are stored and not due. They are not among the pending ones.',
  },
  late: {
    name: 'signalbox_scheduled_late_seconds',
    help: 'Time from the moment when a scheduled message was due until it was in its inbox.',
  },
  holds: {
    name: 'signalbox_holds',
    help: 'Holds that stand, by what they are on.',
    labels: ['on'],
  },
  deadLetters: { name: 'signalbox_dead_letters', help: 'Dead letters that are kept.' },
  stored: {
    name: 'signalbox_messages_stored_total',
    help: 'Messages of agents that were stored, by kind.',
    labels: ['kind'],
  },
  pushed: {
    name: 'signalbox_messages_delivered_total',
    help: 'Messages that were pushed to a consumer, by kind. One that is pushed again counts again.',
    labels: ['kind'],
  },
  redelivered: {
    name: 'signalbox_messages_redelivered_total',
    help: 'Messages that were pushed again after a failed attempt, by kind.',
    labels: ['kind'],
  },
  settled: {
    name: 'signalbox_messages_settled_total',
    help: 'Messages that were acked, expired, cancelled or made dead letters, by kind and outcome.',
    labels: ['kind', 'outcome'],
  },
  died: {
    name: 'signalbox_messages_dead_total',
    help: 'Messages that became dead letters, by reason.',
    labels: ['reason'],
  },
  refusals: {
    name: 'signalbox_refusals_total',
    help: 'Frames and connections that were refused, by the code of the error.',
    labels: ['code'],
  },
  deliveries: {
    name: 'signalbox_webhook_deliveries_total',
    help: 'Deliveries to the webhooks of the configuration, by what became of them: stored, repeated, or the code of the refusal.',
    labels: ['webhook', 'result'],
  },
  commits: { name: 'signalbox_store_commit_seconds', help: 'Time to write a commit to the store.' },
  syncs: { name: 'signalbox_store_sync_seconds', help: 'Time to sync what was written to the disk.' },
  storeBytes: {
    name: 'signalbox_store_bytes',
    help: 'Bytes of all that is stored, settled messages and dead letters included.',
  },
  storeLimit: {
    name: 'signalbox_store_limit_bytes',
    help: 'The most bytes that may be stored (broker.limits.store.bytes).',
  },
  diskBytes: {
    name: 'signalbox_store_disk_bytes',
    help: 'Bytes of the databases in the data directory, with their logs.',
  },
  loopDelay: {
    name: 'signalbox_event_loop_delay_seconds',
    help: 'How late a timer fired, measured ten times a second.',
  },
  reportAge: {
    name: 'signalbox_orchestrator_report_age_seconds',
    help: 'Age of the last report of a connected orchestrator. Without a connected orchestrator there is no value.',
    labels: ['orchestrator'],
  },
  memory: { name: 'signalbox_resident_memory_bytes', help: 'Memory of the process.' },
} as const satisfies Record<string, MetricInfo>;
